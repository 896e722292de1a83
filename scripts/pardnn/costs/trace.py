"""Costs from a PyTorch profiler's trace, matched by operation, input shapes and input types.

An operation's time is the sum of the device work that was launched while it ran, in it or in operations that it called; one that launched
none takes its time on the host. Of several occurrences (layers, steps) the median counts, which leaves the first step's warm-up aside.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from .call import Cost, CostModel, How, OpCall, TensorSpec
from .flops import matrix_flops
from .op_names import op_name
from .trace_events import Int64, TraceError, TraceEvents
from .traffic import workspace

_TYPES = {
    "float": "float32", "double": "float64", "long int": "int64", "long": "int64", "int": "int32", "short int": "int16", "short": "int16",
    "signed char": "int8", "unsigned char": "uint8", "bool": "bool", "c10::Half": "float16", "c10::BFloat16": "bfloat16", "c10::complex<float>": "complex64",
    "c10::complex<double>": "complex128", "c10::Float8_e4m3fn": "float8_e4m3fn", "c10::Float8_e5m2": "float8_e5m2",
}
_INTEGERS = re.compile(r"\[(?:(?:-?\d+|True|False)(?:, )?)*\]")
_UNSHOWN_LISTS = frozenset(("index", "index_put", "_index_put_impl", "_unsafe_index", "_unsafe_index_put"))  # optional tensors: the profiler shows none
Key = tuple[Any, ...]  # name, dims, types, lists, or the first of these


class TraceModel:
    """Costs of the operations of one trace; calls that it doesn't hold are left to ``fallback``.

    Raises TraceError where the file is broken, holds no operations, or was recorded without shapes.
    """

    def __init__(self, path: str | os.PathLike[str], fallback: CostModel, progress: Callable[[int, int], None] | None = None) -> None:
        events = TraceEvents(path, progress)
        if not events.keys:
            raise TraceError(f"{path}: no operations in it (events of category cpu_op); record with torch.profiler.ProfilerActivity.CPU, and CUDA on a GPU")
        if not events.has_shapes:
            raise TraceError(f"{path}: its operations have no 'Input Dims'; record with record_shapes=True")
        self.path = path
        self.fallback = fallback
        self.matched = 0
        self.approximate = 0
        self.unmatched: Counter[str] = Counter()
        self.device_time, times, self.lost_work = operation_times(events)
        self._medians = _medians(events, times)
        self._typed = any(key[2] for key in events.keys)
        self._totals = _totals(events, times)
        self.summary = self._summary(events, times)

    def cost(self, call: OpCall) -> Cost:
        """The median time of such operations in the trace; the workspace is the fallback's. O(tensors of the call)."""
        ns = self._find(call)
        if ns is None:
            self.unmatched[call.op] += 1
            return self.fallback.cost(call)
        self.matched += 1
        exact = matrix_flops(call)
        return Cost(ns, workspace(self.fallback, call), (call.flops if exact is None else exact) or 0, How.MEASURED)

    def finish(self) -> list[str]:
        """How many calls the trace had, and which it had not. Raises TraceError where it had none."""
        calls = self.matched + self.unmatched.total()
        if calls and not self.matched:
            raise TraceError(f"{self.path}: holds none of the {calls} operations of this graph with their shapes; first: {next(iter(self.unmatched))}")
        lines = [*self.summary, f"{self.path}: {self.matched:,} of {calls:,} calls are in the trace ({100 * self.matched / max(calls, 1):.1f} %)"]
        if self.approximate:
            lines.append(f"{self.approximate:,} of them by their tensors alone: other lists of numbers, as strides or dimensions, in the trace")
        if self.unmatched:
            most = sorted(self.unmatched.items(), key=lambda pair: (-pair[1], pair[0]))
            lines.append("not in the trace, most first: " + ", ".join(f"{op} x{count}" for op, count in most[:5]))
        return lines

    def top(self, count: int) -> list[str]:
        """The operations that take the most time with what they call, one a line: total ms, how many, name."""
        most = sorted(self._totals.items(), key=lambda pair: (-pair[1][0], pair[0]))
        return [f"{ns / 1e6:12.3f} ms  {times:8,} x {name.encode('utf-8', 'replace').decode()}" for name, (ns, times) in most[:count]]

    def _find(self, call: OpCall) -> int | None:
        """By the whole key; else by shapes and types; else, if the trace has no types, by shapes. The latter two need a shape."""
        key = call_key(call)
        for level in _LEVELS if key[1] else _LEVELS[:1]:
            if level == 2 and self._typed:
                break
            ns = self._medians.get(_level(key, level))
            if ns is not None:
                self.approximate += level < len(key)
                return ns
        return None

    def _summary(self, events: TraceEvents, times: Int64) -> list[str]:
        where = "on the device" if self.device_time else "on the host"
        lines = [f"{self.path}: {len(times):,} operations, {len(events.keys):,} different, times {where}; {events.skipped:,} other events skipped"]
        if events.repeated:
            lines.append(f"{self.path}: {events.repeated:,} events shown on several lanes, counted once")
        if events.unusable:
            lines.append(f"{self.path}: {events.unusable:,} events without a proper time, left out")
        if self.lost_work:
            lines.append(f"{self.path}: {self.lost_work:,} kernels or copies that no operation launched, left out")
        if events.repairs:
            lines.append(f"{self.path}: put right: {events.repairs}")
        return lines


def operation_times(events: TraceEvents) -> tuple[bool, Int64, int]:
    """(is there device work, ns of each operation, pieces of device work that no operation launched). O(events log events).

    A piece of work belongs to every operation of the launching thread that was running at its launch. The launch is found by the correlation
    id; without one, by the id of the innermost operation, which the profiler notes with the work.
    """
    operations, work = events.operations, events.work
    times = operations["duration"].copy()
    if not len(work["start"]):
        return False, times, 0
    thread, launch = _launches(events)
    on_device = np.zeros(len(times), dtype=np.int64)
    covered = np.zeros(len(thread), dtype=bool)
    for t in np.unique(thread[thread >= 0]).tolist():
        pieces = np.flatnonzero(thread == t)
        pieces = pieces[np.argsort(launch[pieces], kind="stable")]
        before = np.concatenate([[0], np.cumsum(work["duration"][pieces])])
        ops = np.flatnonzero(operations["thread"] == t)
        first = np.searchsorted(launch[pieces], operations["start"][ops], side="left")
        last = np.searchsorted(launch[pieces], operations["start"][ops] + operations["duration"][ops], side="right")
        last = np.maximum(first, last)
        on_device[ops] = before[last] - before[first]
        depth = np.zeros(len(pieces) + 1, dtype=np.int64)
        np.add.at(depth, first, 1)
        np.add.at(depth, last, -1)
        covered[pieces] = np.cumsum(depth[:-1]) > 0
    times[on_device > 0] = on_device[on_device > 0]
    return True, times, int((~covered).sum())


def _launches(events: TraceEvents) -> tuple[Int64, Int64]:
    """(thread, time in ns) at which each piece of device work was launched; thread -1 where that isn't known."""
    work = events.work
    thread = np.full(len(work["start"]), -1, dtype=np.int64)
    time = np.zeros(len(work["start"]), dtype=np.int64)
    for ids, table, column in (("id", events.operations, "id"), ("correlation", events.launches, "correlation")):
        known = np.flatnonzero(table[column] >= 0)
        known = known[np.argsort(table[column][known], kind="stable")]
        values = table[column][known]
        place = np.searchsorted(values, work[ids])
        hit = (work[ids] >= 0) & (place < len(values))
        hit[hit] = values[place[hit]] == work[ids][hit]
        thread[hit] = table["thread"][known[place[hit]]]
        time[hit] = table["start"][known[place[hit]]]
    return thread, time


def _medians(events: TraceEvents, times: Int64) -> dict[Key, int]:
    """The median time by key, of an even number the lower middle: by the whole key, and by what is left of it if lists or types are not looked at."""
    medians: dict[Key, int] = {}
    for level in _LEVELS:
        groups: dict[Key, int] = {}
        group_of = np.full(len(events.keys), -1, dtype=np.int64)
        for recorded, index in events.keys.items():
            if recorded[1] is not None:
                group_of[index] = groups.setdefault(_level(_recorded_key(*recorded), level), len(groups))
        group = group_of[events.operations["key"]]
        known = np.flatnonzero(group >= 0)
        order = known[np.lexsort((times[known], group[known]))]
        counts = np.bincount(group[known], minlength=len(groups))
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        middle = times[order[starts + (counts - 1) // 2]].tolist()
        medians.update((key, middle[index]) for key, index in groups.items())
    return medians


def _totals(events: TraceEvents, times: Int64) -> dict[str, tuple[int, int]]:
    """(ns in all, number) of operations by name."""
    ns = np.zeros(len(events.keys), dtype=np.int64)
    np.add.at(ns, events.operations["key"], times)
    number = np.bincount(events.operations["key"], minlength=len(events.keys))
    totals: dict[str, tuple[int, int]] = {}
    for (name, *_), index in events.keys.items():
        before = totals.get(name, (0, 0))
        totals[name] = (before[0] + int(ns[index]), before[1] + int(number[index]))
    return totals


# What of a key is compared: all of it; not the lists of numbers (strides, paddings, dimensions); nor the types.
_LEVELS = (4, 3, 2)


def _level(key: Key, level: int) -> Key:
    return key[:level]


def _recorded_key(name: str, dims: Any, types: Any, lists: Any) -> Key:
    types = types if types is not None and len(types) == len(dims) else ("",) * len(dims)
    lists = [text if _INTEGERS.fullmatch(text) else "" for text in lists or ()]
    return _key(name, dims, [_TYPES.get(str(t), "") if d else "" for t, d in zip(types, dims)], lists)


def call_key(call: OpCall) -> Key:
    """Name, and of each argument in its schema's order: dimensions and type of a tensor, a list of integers as text; () and '' for all else.

    Tensors without dimensions have no type: the profiler shows plain numbers as such.
    """
    name = op_name(call.op)
    values = (*call.args, *_keywords(call))
    dims, types, lists = [], [], []
    for value in values:
        tensors = isinstance(value, (list, tuple)) and any(isinstance(v, TensorSpec) for v in value)
        shown = tensors and name.base not in _UNSHOWN_LISTS
        dims.append(value.shape if isinstance(value, TensorSpec) else tuple(getattr(v, "shape", ()) for v in value) if shown else ())
        types.append(value.dtype if isinstance(value, TensorSpec) and value.shape else "")
        lists.append(str(list(value)) if isinstance(value, (list, tuple)) and not tensors and all(isinstance(v, int) for v in value) else "")
    return _key(f"{name.namespace}::{name.base}{'_' * name.inplace}", dims, types, lists)


def _key(name: str, dims: Any, types: Any, lists: Any) -> Key:
    """Without what is empty at the end: a call may leave defaults out, the profiler doesn't."""
    return name, _trimmed(dims), _trimmed(types), _trimmed(lists)


def _trimmed(values: Any) -> tuple[Any, ...]:
    values = list(values)
    while values and not values[-1]:
        values.pop()
    return tuple(values)


def _keywords(call: OpCall) -> list[Any]:
    """Values of keyword arguments, in the schema's order where torch is loaded and knows the operation, with gaps as None; else as they are."""
    torch = sys.modules.get("torch")
    if not call.kwargs or torch is None:
        return list(call.kwargs.values())
    name = op_name(call.op)
    packet = getattr(getattr(torch.ops, name.namespace), name.base + "_" * name.inplace, None)
    overload = getattr(packet, name.overload or "default", None)
    if overload is None:
        return list(call.kwargs.values())
    return [call.kwargs.get(a.name) for a in overload._schema.arguments[len(call.args):]]
