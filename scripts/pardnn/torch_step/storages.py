"""Which node holds what of each storage: followed by identity, without keeping any storage alive."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from .values import Ref, Spec

if TYPE_CHECKING:
    import torch


class Storage:
    """State of one storage while a step is recorded.

    ``root``: the node that made it. ``holders``: for each geometry the value that has the present content. ``writer``: the node that wrote
    last (-1: none since ``root``) and ``written`` the value through which it wrote. ``readers``: nodes that read the present content.
    ``residual``: it lives for the whole run. ``tag``: the parameter that it belongs to, for names. ``number`` tells storages apart for ever.
    """

    __slots__ = ("root", "nbytes", "holders", "writer", "written", "readers", "residual", "constant", "tag", "number", "alive")

    def __init__(self, root: int, nbytes: int, residual: bool = False, tag: str = "") -> None:
        self.root = root
        self.number = -1
        self.nbytes = nbytes
        self.holders: dict[Spec, Ref] = {}
        self.writer = -1
        self.written = Ref(root, 0)
        self.readers: list[int] = []
        self.residual = residual
        self.constant = False
        self.tag = tag
        self.alive: weakref.ref[object] | None = None

    def wrote(self, node: int, through: Ref) -> None:
        """``node`` wrote into the storage through value ``through``: all that was known of its content is old."""
        self.writer, self.written = node, through
        self.holders = {}
        self.readers = []


class Storages:
    """Storages by address; one that dies is forgotten at once, since its address may be given again."""

    def __init__(self) -> None:
        self._by_address: dict[int, Storage] = {}
        self._made = 0

    def __len__(self) -> int:
        return len(self._by_address)

    def of(self, tensor: torch.Tensor) -> Storage | None:
        return self._by_address.get(tensor.untyped_storage()._cdata)

    def add(self, tensor: torch.Tensor, storage: Storage) -> Storage:
        owner = tensor.untyped_storage()
        address = owner._cdata

        def forget(dead: object) -> None:
            known = self._by_address.get(address)
            if known is not None and known.alive is dead:
                del self._by_address[address]

        storage.number, self._made = self._made, self._made + 1
        storage.alive = weakref.ref(owner, forget)
        self._by_address[address] = storage
        return storage
