"""State that a step replaces instead of writing into it (``self.average = 0.9 * self.average + x``, ``p.data = new``).

The new tensor is the state of the next step, so at the end of the step its value is copied into the memory that the state has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from .errors import CaptureError
from .optimizers import rate_slots, state_slots
from .recorder import Recorder
from .state import attribute_tensors
from .values import spec_of


class Held:
    """What modules and optimizers hold when the recorded step begins: under each label the tensor, and another one over the same memory."""

    def __init__(self, modules: Mapping[str, torch.nn.Module], optimizers: Sequence[torch.optim.Optimizer]) -> None:
        self._modules, self._optimizers = modules, optimizers
        with torch.no_grad():
            self._before = {label: (tensor, tensor.detach()) for label, tensor in self._now().items()}

    def _now(self) -> dict[str, torch.Tensor]:
        found: dict[str, torch.Tensor] = {}
        for prefix, module in self._modules.items():
            named = (attribute_tensors(module).items(), module.named_parameters(remove_duplicate=False), module.named_buffers(remove_duplicate=False))
            found.update({".".join(p for p in (prefix, path) if p): tensor for group in named for path, tensor in group})
        for index, optimizer in enumerate(self._optimizers):
            found.update({f"optimizer {index}: '{key}' of parameter {number}": tensor for _, number, key, tensor in state_slots(optimizer)})
            found.update({f"optimizer {index}: '{key}' of group {number}": tensor for number, key, tensor in rate_slots(optimizer)})
        return found

    def write_back(self, recorder: Recorder) -> None:
        """Records a copy into the old memory for each residual that is another tensor now. Raises CaptureError where no copy can stand for it."""
        now = self._now()
        for label, (tensor, old) in self._before.items():
            new = now.get(label)
            if not recorder.tensors.is_residual(old) or (new is not None and _same(new, old)):
                continue
            self._check(label, tensor, old, new, recorder)
            assert new is not None
            with torch.no_grad():
                old.copy_(new.detach())

    @staticmethod
    def _check(label: str, tensor: torch.Tensor, old: torch.Tensor, new: torch.Tensor | None, recorder: Recorder) -> None:
        if new is None:
            raise CaptureError(f"{label}: the step takes it away; state has to be there from step to step")
        if new is not tensor and isinstance(tensor, torch.nn.Parameter):
            raise CaptureError(f"{label}: the step replaces the parameter by another; write into it (with torch.no_grad(): parameter.copy_(...))")
        if new.shape != old.shape or new.dtype != old.dtype:
            raise CaptureError(f"{label}: the step replaces it by {new.dtype}{list(new.shape)}, it was {old.dtype}{list(old.shape)}; "
                               "state keeps its shape and type from step to step")
        if recorder.tensors.is_residual(new):
            raise CaptureError(f"{label}: the step makes it the same memory as other state; copy the value (copy_ or clone)")


def _same(new: torch.Tensor, old: torch.Tensor) -> bool:
    return new.untyped_storage()._cdata == old.untyped_storage()._cdata and spec_of(new) == spec_of(old)
