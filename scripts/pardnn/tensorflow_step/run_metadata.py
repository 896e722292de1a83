"""Profiles that TensorFlow writes as RunMetadata: times, output sizes and allocations of each node of one step.

One operation can be logged on several lanes of a device. The rule, for each node:

1. kernels on a lane ``.../stream:all`` count, and nothing else of that node;
2. else those on single streams, added;
3. else the operation's own span on a device's lane (``/device:CPU:0``, ``/gpu:0``), the longest if several lanes have it.

Within one lane the entries of a node are added (iterations of a loop), but an entry that repeats the one before it is the same event.
Lanes of copies (``memcpy``) belong to no node and are left out.
"""

from __future__ import annotations

import os
import re
from array import array
from dataclasses import dataclass, field
from enum import IntEnum
from math import nan
from typing import Any

import numpy as np

from ..capture_common.errors import CaptureError
from ..capture_common.progress import Progress
from ..capture_common.wire import BYTES, WireFile
from ..costs import TensorSpec

_STEP_STATS, _DEVICES, _DEVICE_NAME, _NODE_STATS = 1, 1, 1, 2


class Lane(IntEnum):
    """Kinds of lanes; a greater one is believed."""

    COPIES = 0
    DEVICE = 1
    STREAM = 2
    ALL_STREAMS = 3


def lane_of(device: str) -> Lane:
    """``/job:.../device:GPU:0/stream:all`` -> ALL_STREAMS."""
    if "memcpy" in device.lower():
        return Lane.COPIES
    if device.endswith("/stream:all"):
        return Lane.ALL_STREAMS
    return Lane.STREAM if re.search(r"/stream:[^/]*$", device) else Lane.DEVICE


@dataclass
class NodeProfile:
    """``ns``: time by lane, ``outputs``: specs by position, ``temp``: workspace in bytes, ``runs``: entries counted."""

    lanes: dict[tuple[Lane, str], float] = field(default_factory=dict)
    outputs: dict[int, TensorSpec] = field(default_factory=dict)
    temp: int = 0
    runs: int = 0

    @property
    def ns(self) -> float:
        """By the rule above; NaN where an entry ends before it starts."""
        best = max(lane for lane, _ in self.lanes)
        times = [ns for (lane, _), ns in self.lanes.items() if lane == best]
        return sum(times) if best == Lane.STREAM else max(times)


@dataclass
class Profile:
    """``nodes`` by name; ``entries``: all that were read. ``allocations`` by allocator: times in us and signed bytes."""

    source: str
    nodes: dict[str, NodeProfile] = field(default_factory=dict)
    entries: int = 0
    copies: int = 0
    allocations: dict[str, tuple[array[int], array[int]]] = field(default_factory=dict)

    def allocator_peak(self) -> int:
        """The most bytes that the step's own allocations held at a time, over all allocators; variables are not among them.

        Of records with the same microsecond those that free come first.
        """
        times = np.concatenate([np.zeros(0, np.int64), *(np.array(t) for t, _ in self.allocations.values())])
        sizes = np.concatenate([np.zeros(0, np.int64), *(np.array(b) for _, b in self.allocations.values())])
        order = np.lexsort((sizes, times))
        return int(max(np.cumsum(sizes[order]).max(initial=0), 0))


def profile_of(metadata: Any) -> Profile:
    """The profile in a RunMetadata message."""
    profile = Profile("RunMetadata")
    for device in metadata.step_stats.dev_stats:
        _Lane(profile, device.device).add_all(device.node_stats)
    return _checked(profile)


def read_profile(path: str | os.PathLike[str], quiet: bool = False) -> Profile:
    """The profile in a file of a serialised RunMetadata; of any size, a node's entry at a time."""
    profile = Profile(os.fspath(path))
    progress = Progress(f"read {os.path.basename(os.fspath(path))}", quiet)
    with WireFile(path) as wire:
        for step in wire.fields():
            if (step.number, step.wire_type) == (_STEP_STATS, BYTES):
                for device in wire.fields(step.begin, step.end):
                    if (device.number, device.wire_type) == (_DEVICES, BYTES):
                        _read_device(wire, device.begin, device.end, profile, progress)
    progress.done()
    return _checked(profile)


def _read_device(wire: WireFile, begin: int, end: int, profile: Profile, progress: Progress) -> None:
    from google.protobuf.message import DecodeError
    from tensorflow.core.framework import step_stats_pb2

    lane: _Lane | None = None
    for entry in wire.fields(begin, end):
        if (entry.number, entry.wire_type) == (_DEVICE_NAME, BYTES):
            lane = _Lane(profile, wire.content(entry.begin, entry.end).decode(errors="replace"))
        elif (entry.number, entry.wire_type) == (_NODE_STATS, BYTES):
            if lane is None:
                raise CaptureError(f"{wire.path}: byte {entry.tag}: a node's entry before the name of its device")
            try:
                lane.add(step_stats_pb2.NodeExecStats.FromString(wire.content(entry.begin, entry.end)))
            except DecodeError as error:
                raise CaptureError(f"{wire.path}: byte {entry.begin}: expected a node's entry of StepStats ({error})") from error
            progress.update(entry.end, wire.size)


def _checked(profile: Profile) -> Profile:
    if not profile.nodes:
        raise CaptureError(f"{profile.source}: no node's time: step_stats is empty (run with trace_level=FULL_TRACE)")
    return profile


class _Lane:
    """Adds the entries of one lane to a profile."""

    def __init__(self, profile: Profile, device: str) -> None:
        self._profile = profile
        self._key = (lane_of(device), device)
        self._last: dict[str, tuple[int, int]] = {}

    def add_all(self, entries: Any) -> None:
        for entry in entries:
            self.add(entry)

    def add(self, stats: Any) -> None:
        profile = self._profile
        profile.entries += 1
        if self._key[0] == Lane.COPIES:
            profile.copies += 1
            return
        name = stats.node_name.split(":")[0]
        start, ns = _span(stats)
        if self._last.get(name) == (start, hash(ns)):
            return
        self._last[name] = (start, hash(ns))
        node = profile.nodes.setdefault(name, NodeProfile())
        node.runs += 1
        node.lanes[self._key] = node.lanes.get(self._key, 0.0) + ns
        for output in stats.output:
            spec = _spec(output.tensor_description)
            if spec is not None:
                node.outputs[output.slot] = spec
        node.temp = max(node.temp, stats.memory_stats.temp_memory_size)
        for memory in stats.memory:
            times, sizes = profile.allocations.setdefault(memory.allocator_name, (array("q"), array("q")))
            for record in memory.allocation_records:
                times.append(record.alloc_micros)
                sizes.append(record.alloc_bytes)


def _span(stats: Any) -> tuple[int, float]:
    """Start, and the operation's own duration, in ns; NaN where it ends before it starts."""
    if stats.op_end_rel_nanos or stats.all_start_nanos:
        start, begin, end = stats.all_start_nanos, stats.op_start_rel_nanos, stats.op_end_rel_nanos
    else:
        start, begin, end = 1000 * stats.all_start_micros, 1000 * stats.op_start_rel_micros, 1000 * stats.op_end_rel_micros
    return start, end - begin if end >= begin else nan


def _spec(description: Any) -> TensorSpec | None:
    from .shapes import spec_of

    if description.shape.unknown_rank or not description.dtype:
        return None
    return spec_of(tuple(d.size for d in description.shape.dim), description.dtype)


