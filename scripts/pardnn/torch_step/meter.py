"""Live tensor bytes while real operations run: what the framework itself holds, without workspace inside operations."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .operators import describe
from .values import flat_tensors


class LiveBytes(TorchDispatchMode):
    """Counts bytes of storages that operations made and that are still alive. ``live`` and ``peak`` are in bytes.

    A storage counts from the end of the operation that made it until its last owner is gone. ``known``: tensors that are there already.
    """

    def __init__(self, known: Iterable[torch.Tensor] = ()) -> None:
        super().__init__()
        self.live = 0
        self.peak = 0
        self._seen: dict[int, weakref.ref[Any]] = {}
        for tensor in known:
            self.add(tensor)

    def add(self, tensor: torch.Tensor) -> None:
        """Counts the storage of a tensor, once."""
        storage = tensor.untyped_storage()
        address, size = storage._cdata, storage.nbytes()
        if address in self._seen:
            return

        def gone(dead: Any) -> None:
            if self._seen.get(address) is dead:
                del self._seen[address]
                self.live -= size

        self._seen[address] = weakref.ref(storage, gone)
        self.live += size
        self.peak = max(self.peak, self.live)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not describe(func).unseen:
            for tensor in flat_tensors(result):
                if tensor is not None:
                    self.add(tensor)
        return result
