"""Operations, launches and kernels of a PyTorch profiler's trace (Kineto's Chrome JSON), read as a stream into flat arrays.

What counts, of each event once, however many lanes show it:

- an operation (``cpu_op``): name, shapes and types of its inputs, thread, start and duration on the host;
- a launch (``cuda_runtime``, ``cuda_driver``): thread, start, correlation id;
- work on a device (``kernel``, ``gpu_memcpy``, ``gpu_memset``): duration, correlation id, and the id of the operation that launched it.

An event is the same as another if name, start, duration and ids are: profilers show one kernel under its device and under its stream.
Everything else (Python frames, annotations, flows, counters) is skipped. Memory: some 50 bytes an event kept.
"""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .json_stream import JsonError, JsonStream, repaired_text

Int64 = NDArray[np.int64]
Frozen = tuple[Any, ...]

_OPERATION = frozenset(("cpu_op", "Operator", "operator"))
_LAUNCH = frozenset(("cuda_runtime", "cuda_driver", "Runtime", "runtime", "hip_runtime"))
_DEVICE = frozenset(("kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset"))
_NONE = -1


class TraceError(ValueError):
    """A trace that costs can't be had from: says which file and why."""


class TraceEvents:
    """The events of one trace. ``keys``: (name, dims, types, lists of plain numbers as text) of operations, None for what is not recorded. Times are in ns."""

    def __init__(self, path: str | os.PathLike[str], progress: Callable[[int, int], None] | None = None) -> None:
        """Reads it all. Raises TraceError with the byte offset where the JSON is broken, or OSError."""
        self.path = path
        self.keys: dict[tuple[Any, ...], int] = {}
        self._names: dict[str, int] = {}
        self._threads: dict[tuple[Any, Any], int] = {}
        self._lists: dict[Frozen, Frozen] = {}
        self.skipped = 0
        self.unusable = 0
        self._operations = _Columns("key", "thread", "start", "duration", "id")
        self._launches = _Columns("thread", "start", "correlation")
        self._work = _Columns("name", "start", "duration", "correlation", "id")
        self._read(path, progress)
        shown = len(self._operations) + len(self._work)
        self.operations = self._operations.unique(("key", "start", "duration", "id", "thread"))
        self.launches = self._launches.unique(("correlation", "start", "thread"))
        self.work = self._work.unique(("name", "start", "duration", "correlation", "id"))
        self.repeated = shown - len(self.operations["start"]) - len(self.work["start"])
        del self._operations, self._launches, self._work

    @property
    def has_shapes(self) -> bool:
        return any(key[1] is not None for key in self.keys)

    def _read(self, path: str | os.PathLike[str], progress: Callable[[int, int], None] | None) -> None:
        stream = JsonStream(path, progress)
        wanted = {"", "traceEvents"}
        try:
            for member, value in stream.members(frozenset(("traceEvents",))):
                if member in wanted and isinstance(value, dict):
                    self._event(value)
        except JsonError as error:
            raise TraceError(str(error)) from None
        self.repairs = repaired_text(stream.repairs)

    def _event(self, event: dict[str, Any]) -> None:
        category = event.get("cat")
        if event.get("ph") != "X" or not isinstance(category, str):
            self.skipped += 1
        elif category in _OPERATION:
            self._operation(event)
        elif category in _LAUNCH:
            self._launch(event)
        elif category in _DEVICE:
            self._on_device(event)
        else:
            self.skipped += 1

    def _operation(self, event: dict[str, Any]) -> None:
        start, duration, args = _ns(event.get("ts")), _ns(event.get("dur")), event.get("args") or {}
        name = event.get("name")
        if start is None or duration is None or duration < 0 or not isinstance(name, str) or not isinstance(args, dict):
            self.unusable += 1
            return
        dims, types = args.get("Input Dims"), args.get("Input type")
        key = (name, self._frozen(dims), self._frozen(types), self._frozen(_lists(types, args.get("Concrete Inputs"))))
        self._operations.add(self.keys.setdefault(key, len(self.keys)), self._thread(event), start, duration, _integer(args, "External id"))

    def _launch(self, event: dict[str, Any]) -> None:
        start, args = _ns(event.get("ts")), event.get("args") or {}
        if start is None or not isinstance(args, dict):
            self.unusable += 1
        elif (correlation := _integer(args, "correlation")) > 0:  # 0: nothing was launched
            self._launches.add(self._thread(event), start, correlation)

    def _on_device(self, event: dict[str, Any]) -> None:
        start, duration, args = _ns(event.get("ts")), _ns(event.get("dur")), event.get("args") or {}
        if start is None or duration is None or duration < 0 or not isinstance(args, dict):
            self.unusable += 1
            return
        name = self._names.setdefault(str(event.get("name")), len(self._names))
        self._work.add(name, start, duration, _integer(args, "correlation"), _integer(args, "External id"))

    def _thread(self, event: dict[str, Any]) -> int:
        return self._threads.setdefault((str(event.get("pid")), str(event.get("tid"))), len(self._threads))

    def _frozen(self, values: Any) -> Frozen | None:
        """A list as tuples, equal ones being one object; None for what is no list."""
        if not isinstance(values, list):
            return None
        frozen = _tuples(values)
        return self._lists.setdefault(frozen, frozen)


class _Columns:
    """Rows of integers, 8 bytes each."""

    def __init__(self, *names: str) -> None:
        self._columns = {name: array("q") for name in names}
        self._appends = [column.append for column in self._columns.values()]

    def add(self, *values: int) -> None:
        for append, value in zip(self._appends, values):
            append(value)

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    def unique(self, by: tuple[str, ...]) -> dict[str, Int64]:
        """Columns of the distinct rows, as they come; rows are the same if they are so in the columns ``by``. Empties this."""
        arrays = {name: np.frombuffer(c, dtype=np.int64) if len(c) else np.zeros(0, np.int64) for name, c in self._columns.items()}
        order = np.lexsort([arrays[name] for name in by])
        new = np.zeros(len(order), dtype=bool)
        new[:1] = True
        for name in by:
            values = arrays[name][order]
            new[1:] |= values[1:] != values[:-1]
        keep = np.sort(order[new])
        del order, new
        self._appends.clear()
        self._columns.clear()
        return {name: arrays.pop(name)[keep] for name in list(arrays)}


def _lists(types: Any, concrete: Any) -> list[str] | None:
    """The plain inputs that are lists, '' in the place of others: single numbers may be different at each step."""
    if not isinstance(types, list) or not isinstance(concrete, list) or len(types) != len(concrete):
        return None
    return [str(c) if t == "ScalarList" else "" for c, t in zip(concrete, types)]


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else str(value) if isinstance(value, dict) else value


def _ns(us: Any) -> int | None:
    """Microseconds, a number or its text, in whole ns; None if it is no number."""
    try:
        return round(float(us) * 1000) if math.isfinite(float(us)) else None
    except (TypeError, ValueError, OverflowError):
        return None


def _integer(args: dict[str, Any], name: str) -> int:
    value = args.get(name, args.get(name.lower(), _NONE))
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    return value if isinstance(value, int) and 0 <= value < 2**63 else _NONE
