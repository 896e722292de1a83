"""Which value of the recorded step each tensor has: by its storage and its geometry, with what the step finds besides its state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from .data import whole
from .errors import CaptureError, user_line
from .operators import describe
from .record import Record
from .storages import Storage, Storages
from .values import Ref, Spec, spec_of

if TYPE_CHECKING:
    from .names import Names

CONSTANT_LIMIT = 1 << 20  # bytes of a constant that a program may hold


class Tensors:
    """Ids of nodes are positions in ``records``. Tensors that live before the step are declared first; others are constants, or residuals to be given.

    By address of storages: ``originals`` names tensors that fake ones stand for now, ``attributes`` those that are plain attributes of modules,
    ``kept_gradients`` gradients that are there before the step. ``closures`` and ``found_gradients``: residuals that the step was seen to find.
    """

    def __init__(self, names: Names) -> None:
        self.records: list[Record] = []
        self.warnings: list[str] = []
        self.originals: dict[int, str] = {}
        self.attributes: dict[int, str] = {}
        self.kept_gradients: dict[int, str] = {}
        self.closures: list[tuple[str, Ref]] = []
        self.found_gradients: list[tuple[str, Ref]] = []
        self._names = names
        self._storages = Storages()
        self._specs: dict[Spec, Spec] = {}
        self._foreigners = 0

    def declare(self, tensor: torch.Tensor, name: str, what: str, *, residual: bool, tag: str = "") -> Ref:
        """A tensor that the step finds: a residual or an input. One whose storage is known already shares that node."""
        storage = self.storage(tensor)
        spec = self.intern(spec_of(tensor))
        if storage is None:
            record = self._append(Record(name, what))
            record.kind = 1 if residual else 0
            record.mem = tensor.untyped_storage().nbytes()
            node = len(self.records) - 1
            record.root = node if residual else -1
            storage = self._storages.add(tensor, Storage(node, record.mem, residual, tag))
        found = storage.holders.get(spec)
        if found is None:
            outputs = self.records[storage.root].outputs
            found = storage.holders[spec] = Ref(storage.root, len(outputs))
            outputs.append(spec)
            self.records[storage.root].stores.append((storage.number, 0))
        return found

    def value(self, tensor: torch.Tensor) -> Ref:
        """Where the present content of ``tensor`` comes from."""
        return self.lookup(tensor)[1]

    def is_residual(self, tensor: torch.Tensor) -> bool:
        """Whether the memory of ``tensor`` lives for the whole run."""
        storage = self.storage(tensor)
        return storage is not None and storage.residual

    def intern(self, spec: Spec) -> Spec:
        """The one object that stands for all equal geometries."""
        return self._specs.setdefault(spec, spec)

    def add(self, tensor: torch.Tensor, storage: Storage) -> Storage:
        """The storage of a tensor that is new."""
        return self._storages.add(tensor, storage)

    def storage(self, tensor: torch.Tensor) -> Storage | None:
        """What is known of a tensor's storage. CaptureError where it has none."""
        try:
            return self._storages.of(tensor)
        except (NotImplementedError, RuntimeError) as error:
            raise CaptureError(f"{user_line()}: a tensor of layout {tensor.layout} has no storage to follow; use dense tensors "
                               "(sparse=False)") from error

    def lookup(self, tensor: torch.Tensor) -> tuple[Storage, Ref]:
        """The storage of a tensor and the value that has its present content."""
        storage = self.storage(tensor)
        if storage is None:
            storage = self._foreign(tensor)
        spec = self.intern(spec_of(tensor))
        ref = storage.holders.get(spec)
        if ref is None:
            ref = storage.holders[spec] = self._after_write(storage, spec) if storage.writer >= 0 else self._hidden_view(storage, spec)
        return storage, ref

    def _after_write(self, storage: Storage, spec: Spec) -> Ref:
        """A tensor made before the last write is read after it: one more output of the writer."""
        writer = self.records[storage.writer]
        writer.extras.append((storage.written, spec))
        writer.extra_stores.append(storage.number)
        return Ref(storage.writer, len(writer.outputs) + len(writer.extras) - 1)

    def _hidden_view(self, storage: Storage, spec: Spec) -> Ref:
        """A view that autograd made without an operation."""
        ref = next((r for s, r in storage.holders.items() if s.dtype == spec.dtype and s.lazy == spec.lazy), None)
        if ref is None:
            raise CaptureError(f"{user_line()}: a tensor of type {spec.dtype} over memory that was made as another type")
        func = torch.ops.aten.as_strided.default
        record = Record(self._names.name("as_strided", storage.tag, False), "aten::as_strided")
        record.operator, record.func, record.args = describe(func), func, (ref, spec.shape, spec.strides, spec.offset)
        record.reads, record.outputs, record.alias, record.is_view = (ref,), [spec], ref, True
        record.stores.append((storage.number, 0))
        self._append(record)
        return Ref(len(self.records) - 1, 0)

    def _foreign(self, tensor: torch.Tensor) -> Storage:
        """A tensor that nobody declared: a constant if it has a value, else memory that the step finds like a residual."""
        from torch._subclasses import FakeTensor

        name = self.originals.get(tensor.untyped_storage()._cdata)
        if name is not None:
            raise CaptureError(f"{user_line()}: '{name}' is used through a reference of the step's own; while a step is captured its modules hold "
                               "other tensors, so reach it through its module (module.weight)")
        name = self.kept_gradients.get(tensor.untyped_storage()._cdata)
        if name is not None:
            self.found_gradients.append((name, self.declare(tensor, name, "Gradient", residual=True)))
            return self._known(tensor)
        size = tensor.untyped_storage().nbytes()
        known = tensor.constant if isinstance(tensor, FakeTensor) else tensor
        if known is None or known.device.type == "meta" or size > CONSTANT_LIMIT:
            name = self.attributes.get(tensor.untyped_storage()._cdata, f"closure/{self._foreigners}")
            self._foreigners += 1
            self.warnings.append(f"{user_line()}: a tensor of {size} bytes is read that is no parameter, buffer or input; "
                                 f"it is kept as residual '{name}', whose value must be given to whoever runs the program")
            self.closures.append((name, self.declare(tensor, name, "Closure", residual=True)))
            return self._known(tensor)
        self.warnings.append(f"{user_line()}: a tensor of {size} bytes is read that is no parameter, buffer or input; its value now is kept as "
                             f"constant/{self._foreigners}")
        return self.constant(tensor, known, user_line())

    def _append(self, record: Record) -> Record:
        self.records.append(record)
        return record

    def _known(self, tensor: torch.Tensor) -> Storage:
        storage = self.storage(tensor)
        assert storage is not None
        return storage

    def constant(self, tensor: torch.Tensor, known: torch.Tensor, foreign: str = "") -> Storage:
        """A node that holds ``known``, the value of ``tensor``. ``foreign``: the line that read it, where the step did not make it."""
        size = tensor.untyped_storage().nbytes()
        record = self._append(Record(f"constant/{self._foreigners}", "Constant"))
        self._foreigners += 1
        spec = self.intern(spec_of(tensor))
        record.mem, record.outputs, record.foreign = size, [spec], foreign
        record.data = whole(known)
        storage = self._storages.add(tensor, Storage(len(self.records) - 1, size))
        storage.constant = True
        storage.holders[spec] = Ref(len(self.records) - 1, 0)
        record.stores.append((storage.number, 0))
        return storage
