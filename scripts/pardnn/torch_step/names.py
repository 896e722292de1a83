"""Names of nodes: the module that an operation belongs to, in the forward pass by hooks, in the backward pass by autograd's sequence numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

_ACCUMULATE = 2**63  # AccumulateGrad has the greatest number of all


class Names:
    """Counts operations per place. ``phase`` is what the step does now (``""``, ``opt`` or ``opt/clip``), ``part`` the micro-batch (``mb0``)."""

    def __init__(self, modules: Mapping[str, torch.nn.Module]) -> None:
        self.phase = ""
        self.part = ""
        self._paths: dict[int, str] = {}
        for prefix, root in modules.items():
            for path, module in root.named_modules():
                self._paths.setdefault(id(module), ".".join(p for p in (prefix, path) if p))
        self.variables: dict[int, str] = {}  # names of parameters by id
        self._stack: list[str] = []
        self._module_of: dict[int, str] = {}
        self._counts: dict[str, int] = {}

    @contextmanager
    def hooked(self) -> Iterator[None]:
        """While inside, calls of modules are followed."""
        from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

        def enter(module: Any, inputs: Any) -> None:
            self._stack.append(self._paths.get(id(module)) or (self._stack[-1] if self._stack else ""))

        def leave(module: Any, inputs: Any, output: Any) -> None:
            self._stack.pop()

        handles = (register_module_forward_pre_hook(enter), register_module_forward_hook(leave, always_call=True))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def name(self, short: str, tag: str, gradient: bool) -> str:
        """Name of an operation that runs now. ``tag``: the parameter that its operands belong to; ``gradient``: it reads a gradient."""
        place = self._place(tag, gradient)
        if self.part and not self.phase:
            place = f"grad/{self.part}.{place[5:]}" if place.startswith("grad/") else f"{self.part}.{place}"
        key = f"{place}.{short}" if place and not place.endswith(("/", ".")) else f"{place}{short}"
        count = self._counts.get(key, 0)
        self._counts[key] = count + 1
        return f"{key}_{count}"

    def _place(self, tag: str, gradient: bool) -> str:
        node = _autograd_node()
        if node is not None:
            if self._stack:
                return f"grad/{self._stack[-1]}"
            number = node._sequence_nr()
            if number < _ACCUMULATE:
                return f"grad/{self._module_of.get(number, '')}"
            return f"grad/{self.variables.get(id(getattr(node, 'variable', None)), tag)}"
        if self.phase == "opt":
            return f"opt/{tag}"
        if self.phase == "opt/clip" or (gradient and not self._stack):
            return "opt/clip"
        here = self._stack[-1] if self._stack else ""
        self._module_of.setdefault(_last_sequence_number(), here)
        return here


def _autograd_node() -> Any:
    import torch

    return torch._C._current_autograd_node()


def _last_sequence_number() -> int:
    import torch

    return torch._C._autograd._get_sequence_nr() - 1
