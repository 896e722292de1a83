"""Listens to ATen calls below autograd and notes for each what it reads, writes and makes."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .data import checked, number_in, number_read
from .errors import CaptureError, user_line
from .operators import describe
from .randomness import RandomCalls
from .record import Record
from .repeat import signature
from .storages import Storage
from .tensors import Tensors
from .values import Ref, Spec, atom_of, flat_tensors, map_args, spec_of

if TYPE_CHECKING:
    from .names import Names


class Recorder(TorchDispatchMode):
    """Records into ``records`` while it is entered. Tensors that live before the step are declared to ``tensors`` first."""

    def __init__(self, names: Names) -> None:
        super().__init__()
        self.names = names
        self.tensors = Tensors(names)
        self.records = self.tensors.records
        self.ties: list[tuple[int, int]] = []
        self.random_calls = RandomCalls()
        self.elided = 0
        self.signatures: array[int] = array("q")  # of all calls, whether they are kept or not
        self.gradients: dict[int, Ref] = {}  # of each residual: the value that is its gradient
        self.updated: set[int] = set()  # residuals that an optimizer has written

    def note_gradient(self, gradient: torch.Tensor, residual: int, tag: str) -> None:
        """``gradient`` is now the whole gradient of ``residual``; a later call replaces this one, until an optimizer has updated the residual."""
        storage, ref = self.tensors.lookup(gradient)
        storage.tag = tag
        if residual not in self.updated:
            self.gradients[residual] = ref

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        operator = describe(func)
        if operator.unseen:
            return func(*args, **(kwargs or {}))
        kwargs = kwargs or {}
        self.signatures.append(signature(func, args, kwargs))
        used: list[tuple[Storage, Ref]] = []

        def leaf(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                found = self.tensors.lookup(value)
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
        written = [self.tensors.lookup(t) for t in flat_tensors(operator.written(args, kwargs)) if t is not None]
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
        storage, _ = self.tensors.lookup(args[0])
        if not storage.constant or storage.writer >= 0:
            raise number_read()
        data = self.records[storage.root].data
        assert data is not None
        return number_in(data, args[0].storage_offset())

    def _emit(self, record: Record, used: list[tuple[Storage, Ref]], written: list[tuple[Storage, Ref]],
              outputs: list[torch.Tensor | None]) -> None:
        node = len(self.records)
        specs = [None if t is None else self.tensors.intern(spec_of(t)) for t in outputs]
        owners = [None if t is None else self.tensors.storage(t) for t in outputs]
        fresh = [(t, s) for t, s, o in zip(outputs, specs, owners) if t is not None and o is None]
        if not fresh and not written and all(o is None or s in o.holders for o, s in zip(owners, specs)) and any(owners):
            self.elided += 1
            return
        tag = next((s.tag for s, _ in used if s.tag), "")
        record.name = self.names.name(record.what.split("::")[-1], tag, any(s.tag and not s.residual for s, _ in used))
        record.outputs = list(specs)
        record.reads = tuple(dict.fromkeys(ref for _, ref in used))
        self.records.append(record)
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
            storage = self.tensors.storage(tensor)
            size = 0
            if storage is None:
                size = tensor.untyped_storage().nbytes()
                record.mem += size
                storage = self.tensors.add(tensor, Storage(node, size, tag=tag if self.names.phase == "opt" else ""))
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

    def _lift(self, func: Any, args: Any) -> Any:
        """A tensor made of numbers in the program's text (``torch.tensor(2.0)``)."""
        result = func(*args)
        if self.tensors.storage(result) is None:
            self.tensors.constant(result, args[0])
        return result


def _flops(func: Any, args: Any, kwargs: Any, result: Any) -> int | None:
    """Floating-point operations by torch's own formulas, None where it has none."""
    formula: Callable[..., Any] | None = _formulas().get(func._overloadpacket)
    return None if formula is None else int(formula(*args, **kwargs, out_val=result))


def _formulas() -> Any:
    from torch.utils.flop_counter import flop_registry

    return flop_registry
