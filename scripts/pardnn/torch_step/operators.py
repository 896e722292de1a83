"""What is known of an ATen operation besides its arguments: what it writes, whether it draws random numbers, how it is named."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from .errors import ProgramError

# Operations that write into arguments although their schema does not say so: (running mean, running variance), if training (argument 5).
_SILENT_WRITES = {"aten::native_batch_norm": (3, 4), "aten::cudnn_batch_norm": (3, 4), "aten::miopen_batch_norm": (3, 4)}
_TRAINING = 5

# Their results are never data of the step: profiling marks and questions about a tensor.
_UNSEEN = frozenset({"prim", "profiler", "inductor", "debugprims"})


@dataclass(frozen=True)
class Operator:
    """``name`` is qualified (``aten::add_.Tensor``), ``kind`` is what a graph calls it (``aten::add_``), ``short`` goes into names.

    ``writes``: positions of arguments that are written, ``written_names`` the same for keyword-only ones. ``random``: draws from a generator.
    ``reshapes``: changes the geometry of its argument in place and no content.
    """

    name: str
    kind: str
    short: str
    writes: tuple[int, ...]
    written_names: tuple[str, ...]
    silent: tuple[int, ...]
    random: bool
    reshapes: bool
    unseen: bool
    arguments: tuple[str, ...]

    def written(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The arguments that this call writes (a list among them counts with all of its items), in order."""
        positions = self.writes + (self.silent if self.silent and self._trains(args) else ())
        found: list[Any] = [args[p] for p in positions if p < len(args)]
        names = self.written_names + tuple(self.arguments[p] for p in positions if p >= len(args))
        return found + [kwargs[n] for n in names if n in kwargs]

    def defined(self, args: tuple[Any, ...], kwargs: dict[str, Any], outputs: list[Any]) -> list[Any]:
        """The outputs, None for those that the call was told not to make (``output_mask``); fake tensors have them all the same."""
        if "output_mask" not in self.arguments:
            return outputs
        place = self.arguments.index("output_mask")
        mask = kwargs.get("output_mask", args[place] if place < len(args) else None)
        if mask is None or len(mask) != len(outputs):
            return outputs
        return [output if wanted else None for output, wanted in zip(outputs, mask)]

    @staticmethod
    def _trains(args: tuple[Any, ...]) -> bool:
        return len(args) > _TRAINING and bool(args[_TRAINING])


@cache
def describe(func: Any) -> Operator:
    """The operator of an overload (``torch.ops.aten.add_.Tensor``)."""
    import torch

    schema = func._schema
    kind = schema.name
    written = [(i, a) for i, a in enumerate(schema.arguments) if a.alias_info is not None and a.alias_info.is_write]
    reshapes = torch.Tag.inplace_view in func.tags
    return Operator(
        name=f"{kind}.{schema.overload_name or 'default'}", kind=kind, short=kind.split("::")[-1],
        writes=() if reshapes else tuple(i for i, a in written if not a.kwarg_only),
        written_names=() if reshapes else tuple(a.name for _, a in written if a.kwarg_only),
        silent=_SILENT_WRITES.get(kind, ()), random=torch.Tag.nondeterministic_seeded in func.tags,
        reshapes=reshapes, unseen=func.namespace in _UNSEEN, arguments=tuple(a.name for a in schema.arguments))


# What a program may not call: PyTorch's own operations on files, processes, networks and its inner state.
_CLOSED = frozenset({"c10d", "_c10d_functional", "_c10d_functional_autograd", "symm_mem", "inductor", "inductor_prims", "export", "profiler", "prim",
                     "debugprims", "debug_mode_ops", "_test", "static_runtime", "_dtensor", "onnx", "streams", "higher_order", "rngprims",
                     "_native", "sparse"})
_FILES = frozenset({"aten::from_file"})


def resolve(name: str) -> Any:
    """The overload of a qualified name. Raises ProgramError where this torch has none such, and for what is no computation on tensors.

    A program comes from a file: nothing else than a registered operator is ever called by its word. Operators of other libraries are found
    when those are imported.
    """
    import torch

    try:
        space, rest = name.split("::")
        packet, overload = rest.rsplit(".", 1)
        found = getattr(getattr(getattr(torch.ops, space), packet), overload)
    except (AttributeError, ValueError) as error:
        raise ProgramError(f"operation {name}: torch {torch.__version__} has none of this name "
                           "(a custom operation must be imported before the program is read)") from error
    if not isinstance(found, torch._ops.OpOverload) or found.namespace in _CLOSED or found._schema.name in _FILES or not _of_tensors(found._schema):
        raise ProgramError(f"operation {name}: is no computation on tensors, a program may not call it")
    return found


def _of_tensors(schema: Any) -> bool:
    return any("Tensor" in str(a.type) for a in (*schema.arguments, *schema.returns))
