"""Live bytes of the tensors that a rank holds: each storage counts once, from when it is taken to when nothing of it is held any more."""

from __future__ import annotations

import torch


class Meter:
    def __init__(self) -> None:
        self.live = 0
        self.peak = 0
        self._held: dict[int, list[int]] = {}

    def take(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        entry = self._held.get(storage._cdata)
        if entry is None:
            size = storage.nbytes()
            self._held[storage._cdata] = [1, size]
            self.live += size
            self.peak = max(self.peak, self.live)
        else:
            entry[0] += 1

    def drop(self, tensor: torch.Tensor) -> None:
        """Before the tensor goes."""
        address = tensor.untyped_storage()._cdata
        entry = self._held[address]
        entry[0] -= 1
        if not entry[0]:
            del self._held[address]
            self.live -= entry[1]

    def restart(self) -> None:
        """The peak is from now on."""
        self.peak = self.live
