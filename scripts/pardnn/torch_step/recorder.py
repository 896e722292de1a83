"""Listens to ATen calls below autograd and notes for each what it reads, writes and makes."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .data import checked, number_in, number_read, whole
from .errors import CaptureError, user_line
from .operators import describe
from .randomness import RandomCalls
from .record import Record
from .repeat import signature
from .storages import Storage, Storages
from .values import Ref, Spec, atom_of, flat_tensors, map_args, spec_of

if TYPE_CHECKING:
    from .names import Names

CONSTANT_LIMIT = 1 << 20  # bytes of a constant that a program may hold


class Recorder(TorchDispatchMode):
    """Records into ``records``; ids of nodes are positions there. Tensors that live before the step are declared first."""

    def __init__(self, names: Names) -> None:
        super().__init__()
        self.names = names
        self.records: list[Record] = []
        self.ties: list[tuple[int, int]] = []
        self.random_calls = RandomCalls()
        self.elided = 0
        self.signatures: array[int] = array("q")  # of all calls, whether they are kept or not
        self.warnings: list[str] = []
        self._storages = Storages()
        self._specs: dict[Spec, Spec] = {}
        self.gradients: dict[int, Ref] = {}  # of each residual: the value that is its gradient
        self.updated: set[int] = set()  # residuals that an optimizer has written
        self.originals: dict[int, str] = {}  # storages of tensors that fake ones stand for now, by address
        self._foreigners = 0
        self.closures: list[tuple[str, Ref]] = []
        self.attributes: dict[int, str] = {}  # storages of tensors that are plain attributes of modules, by address: their names
        self.kept_gradients: dict[int, str] = {}  # storages of gradients that are there before the step, by address: their names
        self.found_gradients: list[tuple[str, Ref]] = []

    # -- what is there before the step ------------------------------------------------------------------------------------------

    def declare(self, tensor: torch.Tensor, name: str, what: str, *, residual: bool, tag: str = "") -> Ref:
        """A tensor that the step finds: a residual or an input. One whose storage is known already shares that node."""
        storage = self._storage(tensor)
        spec = self._intern(spec_of(tensor))
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
        return self._lookup(tensor)[1]

    def note_gradient(self, gradient: torch.Tensor, residual: int, tag: str) -> None:
        """``gradient`` is now the whole gradient of ``residual``; a later call replaces this one, until an optimizer has updated the residual."""
        storage, ref = self._lookup(gradient)
        storage.tag = tag
        if residual not in self.updated:
            self.gradients[residual] = ref

    def is_residual(self, tensor: torch.Tensor) -> bool:
        """Whether the memory of ``tensor`` lives for the whole run."""
        storage = self._storage(tensor)
        return storage is not None and storage.residual

    # -- calls --------------------------------------------------------------------------------------------------------------------

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        operator = describe(func)
        if operator.unseen:
            return func(*args, **(kwargs or {}))
        kwargs = kwargs or {}
        self.signatures.append(signature(func, args, kwargs))
        used: list[tuple[Storage, Ref]] = []

        def leaf(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                found = self._lookup(value)
                used.append(found)
                return found[1]
            if isinstance(value, torch.Generator):
                raise CaptureError(f"{user_line()}: {operator.name} with a generator of its own; a captured step draws from the default one")
            try:
                return atom_of(value)
            except TypeError as error:
                raise CaptureError(f"{user_line()}: {operator.name} with {error}, which a program cannot hold") from error

        if operator.kind == "aten::_local_scalar_dense":
            return self._scalar(func, args)
        if operator.kind in ("aten::lift_fresh", "aten::lift_fresh_copy"):
            return self._lift(func, args)
        template = map_args(tuple(args), leaf)
        named = {key: map_args(value, leaf) for key, value in kwargs.items()}
        written = [self._lookup(t) for t in flat_tensors(operator.written(args, kwargs)) if t is not None]
        result = checked(func, args, kwargs)
        record = Record("", operator.kind)
        record.operator, record.func, record.args, record.kwargs = operator, func, template, named
        if operator.random:
            record.random = self.random_calls.take()
        self._emit(record, used, written, operator.defined(args, kwargs, flat_tensors(result)))
        record.flops = _flops(func, args, kwargs, result)
        return result

    def _scalar(self, func: Any, args: Any) -> Any:
        """A number read out of a tensor: allowed for constants, whose value is no data of the step."""
        storage, _ = self._lookup(args[0])
        if not storage.constant or storage.writer >= 0:
            raise number_read()
        data = self.records[storage.root].data
        assert data is not None
        return number_in(data, args[0].storage_offset())

    def _emit(self, record: Record, used: list[tuple[Storage, Ref]], written: list[tuple[Storage, Ref]],
              outputs: list[torch.Tensor | None]) -> None:
        node = len(self.records)
        specs = [None if t is None else self._intern(spec_of(t)) for t in outputs]
        owners = [None if t is None else self._storage(t) for t in outputs]
        fresh = [(t, s) for t, s, o in zip(outputs, specs, owners) if t is not None and o is None]
        if not fresh and not written and all(o is None or s in o.holders for o, s in zip(owners, specs)) and any(owners):
            self.elided += 1
            return
        tag = next((s.tag for s, _ in used if s.tag), "")
        record.name = self.names.name(record.what.split("::")[-1], tag, any(s.tag and not s.residual for s, _ in used))
        record.outputs = list(specs)
        record.reads = tuple(dict.fromkeys(ref for _, ref in used))
        self._append(record)
        self._write(record, node, written, bool(fresh))
        self._own(record, node, outputs, specs, tag)
        if not fresh and not written:
            if not any(owners):
                return  # nothing comes of it (a check): it is dead
            self._view(record, [(o, s) for o, s in zip(owners, specs) if o is not None], used)
            return
        targets = {id(s) for s, _ in written}
        for storage, _ in used:
            if id(storage) not in targets:
                storage.readers.append(node)

    def _write(self, record: Record, node: int, written: list[tuple[Storage, Ref]], makes: bool) -> None:
        """The storages in ``written`` get new content; their readers come first."""
        unique: dict[int, tuple[Storage, Ref]] = {}
        for storage, ref in written:
            unique.setdefault(id(storage), (storage, ref))
        if not unique:
            return
        order = list(unique.values())
        record.after = tuple(dict.fromkeys(reader for storage, _ in order for reader in storage.readers))
        for storage, ref in order:
            storage.wrote(node, ref)
        residuals = [s for s, _ in order if s.residual]
        record.writes = tuple(s.root for s, _ in order)
        if residuals:
            record.root = residuals[0].root
            if self.names.phase == "opt":
                self.updated.update(s.root for s in residuals)
        if not makes:
            first = residuals[0] if residuals else order[0][0]
            record.kind = 2 if residuals else 0
            record.alias = Ref(first.root, 0) if residuals else order[0][1]
        home = residuals[0].root if residuals else node if makes else order[0][0].root
        self.ties.extend((home, s.root) for s, _ in order if s.root != home)

    def _own(self, record: Record, node: int, outputs: list[torch.Tensor | None], specs: list[Spec | None], tag: str) -> None:
        """Outputs become holders; a storage that is new is this node's."""
        for index, (tensor, spec) in enumerate(zip(outputs, specs)):
            if tensor is None or spec is None:
                record.stores.append((-1, 0))
                continue
            storage = self._storage(tensor)
            size = 0
            if storage is None:
                size = tensor.untyped_storage().nbytes()
                record.mem += size
                storage = self._storages.add(tensor, Storage(node, size, tag=tag if self.names.phase == "opt" else ""))
            elif record.mem and spec not in storage.holders and storage.root != node and storage.writer != node:
                self.ties.append((node, storage.root))  # a view beside new memory: it has to stay with what it is a view of
            storage.holders.setdefault(spec, Ref(node, index))
            record.stores.append((storage.number, size))

    def _view(self, record: Record, owners: list[tuple[Storage, Spec | None]], used: list[tuple[Storage, Ref]]) -> None:
        record.is_view = True
        first = owners[0][0]
        source = next((ref for s, ref in used if s is first), None)
        if source is None:
            raise CaptureError(f"{user_line()}: {record.what} gives a view of a tensor that is not among its arguments")
        record.alias = source
        self.ties.extend((first.root, s.root) for s, _ in owners if s is not first)

    # -- storages -----------------------------------------------------------------------------------------------------------------

    def _append(self, record: Record) -> Record:
        self.records.append(record)
        return record

    def _intern(self, spec: Spec) -> Spec:
        return self._specs.setdefault(spec, spec)

    def _storage(self, tensor: torch.Tensor) -> Storage | None:
        try:
            return self._storages.of(tensor)
        except (NotImplementedError, RuntimeError) as error:
            raise CaptureError(f"{user_line()}: a tensor of layout {tensor.layout} has no storage to follow; use dense tensors "
                               "(sparse=False)") from error

    def _lookup(self, tensor: torch.Tensor) -> tuple[Storage, Ref]:
        """The storage of a tensor and the value that has its present content."""
        storage = self._storage(tensor)
        if storage is None:
            storage = self._foreign(tensor)
        spec = self._intern(spec_of(tensor))
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
        record = Record(self.names.name("as_strided", storage.tag, False), "aten::as_strided")
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
        return self._constant(tensor, known, foreign=True)

    def _known(self, tensor: torch.Tensor) -> Storage:
        storage = self._storage(tensor)
        assert storage is not None
        return storage

    def _lift(self, func: Any, args: Any) -> Any:
        """A tensor made of numbers in the program's text (``torch.tensor(2.0)``)."""
        result = func(*args)
        if self._storage(result) is None:
            self._constant(result, args[0], foreign=False)
        return result

    def _constant(self, tensor: torch.Tensor, known: torch.Tensor, foreign: bool) -> Storage:
        """A node that holds ``known``, the value of ``tensor``."""
        size = tensor.untyped_storage().nbytes()
        record = self._append(Record(f"constant/{self._foreigners}", "Constant"))
        self._foreigners += 1
        spec = self._intern(spec_of(tensor))
        record.mem, record.outputs, record.foreign = size, [spec], user_line() if foreign else ""
        record.data = whole(known)
        storage = self._storages.add(tensor, Storage(len(self.records) - 1, size))
        storage.constant = True
        storage.holders[spec] = Ref(len(self.records) - 1, 0)
        record.stores.append((storage.number, 0))
        return storage


def _flops(func: Any, args: Any, kwargs: Any, result: Any) -> int | None:
    """Floating-point operations by torch's own formulas, None where it has none."""
    formula: Callable[..., Any] | None = _formulas().get(func._overloadpacket)
    return None if formula is None else int(formula(*args, **kwargs, out_val=result))


def _formulas() -> Any:
    from torch.utils.flop_counter import flop_registry

    return flop_registry
