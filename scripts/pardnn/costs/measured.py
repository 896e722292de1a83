"""Costs measured by running each operation on real tensors of its shapes, strides and types, on this machine's CPU or GPU.

On a CPU the clock is the host's. On a GPU calls are queued between two events, so that an operation counts its device time or its launch,
whichever is longer. The GPU path needs a GPU and is not covered by the tests that run without one.
"""

from __future__ import annotations

import atexit
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median_low
from typing import TYPE_CHECKING, Any

from ..atomic_file import check_target
from .call import Cost, CostModel, How, OpCall
from .cost_cache import CostCache, call_text
from .flops import matrix_flops
from .op_names import op_name
from .sample_values import bytes_needed, real_arguments
from .traffic import workspace

if TYPE_CHECKING:
    import torch

_WARM_UP = 2  # calls before the clock counts
_SAMPLES = 25  # at most, whose median counts
_SHORTEST = 100e-6  # seconds of one sample: shorter operations run several times in it
_SAVE_EVERY = 5.0  # seconds


class NotMeasurable(Exception):
    """An operation that can't be run here: says why."""


class MeasuredModel:
    """Times of operations on ``where`` (``cpu``, ``cuda``, ``cuda:1``); what can't be run is left to ``fallback`` and counted.

    ``cache``: a JSON file that times are had from, and put into. ``seconds``: time budget of one operation. ``memory``: bytes that its
    inputs and outputs may take, half of what is free if None. Workspaces are the fallback's. Raises ValueError where the device isn't there,
    OSError where ``cache`` can't be written.
    """

    def __init__(self, where: str, fallback: CostModel, cache: Path | None = None, seconds: float = 0.2, memory: int | None = None) -> None:
        import torch

        if where.startswith("cuda") and not torch.cuda.is_available():
            raise ValueError(f"costs 'measured:{where}': torch finds no CUDA device here")
        if where.startswith("cuda:") and int(where[5:]) >= torch.cuda.device_count():
            raise ValueError(f"costs 'measured:{where}': there are {torch.cuda.device_count()} CUDA devices")
        if cache is not None:
            check_target(cache)
        self.device = torch.device(where)
        self.device_name = _device_name(self.device)
        self.fallback = fallback
        self.seconds = seconds
        self.memory = memory if memory is not None else _free_bytes(self.device) // 2
        self.cache = CostCache(cache, self.device_name)
        self.runs = 0
        self.measured = 0
        self.failed: Counter[str] = Counter()
        self._known_failures: dict[str, str] = {}
        self._saved = time.monotonic()
        if cache is not None:
            atexit.register(_save_at_exit, self.cache)

    def cost(self, call: OpCall) -> Cost:
        """The time from the cache or a run, else the fallback's. Views take no device time and are the fallback's on a GPU."""
        if call.is_view and self.device.type != "cpu":
            return self.fallback.cost(call)
        ns = self._time(call)
        if ns is None:
            return self.fallback.cost(call)
        self.measured += 1
        exact = matrix_flops(call)
        return Cost(ns, self.temp(call), (call.flops if exact is None else exact) or 0, How.MEASURED)

    def temp(self, call: OpCall) -> int:
        """Workspace alone, in bytes: the fallback's."""
        return workspace(self.fallback, call)

    def finish(self) -> list[str]:
        """Saves the cache. How many calls were measured, and what couldn't be. Raises ValueError where nothing could."""
        self.cache.save()
        calls = self.measured + self.failed.total()
        if calls and not self.measured:
            raise ValueError(f"costs measured on {self.device_name}: none of {calls} operations could be run; first: {next(iter(self.failed))}")
        lines = [f"measured on {self.device_name}: {self.runs:,} operations run now, {len(self.cache):,} known, {self.measured:,} of {calls:,} calls"]
        if self.failed:
            most = sorted(self.failed.items(), key=lambda pair: (-pair[1], pair[0]))
            lines.append("not measured, most first: " + "; ".join(f"{why} x{count}" for why, count in most[:5]))
        return lines

    def _time(self, call: OpCall) -> int | None:
        """ns, or None where it can't be run, which is counted."""
        key = call_text(call)
        ns = self.cache.get(key)
        if ns is not None:
            return ns
        why = self._known_failures.get(key)
        if why is None:
            try:
                ns = self._measure(call)
            except Exception as error:  # whatever an operation throws, it can't be timed
                why = self._known_failures[key] = f"{call.op}: {_first_line(error)}"
        if ns is None:
            self.failed[str(why)] += 1
            return None
        self.runs += 1
        self.cache.put(key, ns)
        if time.monotonic() - self._saved > _SAVE_EVERY:
            self.cache.save()
            self._saved = time.monotonic()
        return ns

    def _measure(self, call: OpCall) -> int:
        import torch

        if bytes_needed(call) > self.memory:
            raise NotMeasurable(f"needs {bytes_needed(call) / 2**30:.1f} GiB, there are {self.memory / 2**30:.1f} GiB")
        overload = _overload(call)
        devices = [self.device] if self.device.type == "cuda" else []
        with torch.no_grad(), torch.random.fork_rng(devices=devices):
            args, kwargs = real_arguments(call, overload, self.device)
            run: Callable[[], Any] = lambda: overload(*args, **kwargs)  # noqa: E731
            clock = self._events if self.device.type == "cuda" else _host_clock
            return max(1, round(_median_time(run, clock, self.seconds) * 1e9))

    def _events(self, run: Callable[[], Any], times: int) -> float:
        """Seconds per call on a GPU, between two events on its stream."""
        import torch

        with torch.cuda.device(self.device):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            for _ in range(times):
                run()
            end.record()
            end.synchronize()
            return float(start.elapsed_time(end)) / 1e3 / times


def _save_at_exit(cache: CostCache) -> None:
    """What was measured isn't lost where a run ends early."""
    try:
        cache.save()
    except (OSError, ValueError) as error:
        print(f"warning: {cache.path}: measured times are not saved ({error})", file=sys.stderr)


def _host_clock(run: Callable[[], Any], times: int) -> float:
    """Seconds per call on the host."""
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


def _median_time(run: Callable[[], Any], clock: Callable[[Callable[[], Any], int], float], budget: float) -> float:
    """Seconds: the median of samples within the budget; of an operation that takes longer than the budget, its second run, and its only sample."""
    deadline = time.monotonic() + budget
    first = 0.0
    for _ in range(_WARM_UP):
        first = clock(run, 1)
        if time.monotonic() > deadline:
            break
    times = max(1, min(100, int(_SHORTEST / max(first, 1e-9))))
    samples = [clock(run, times)]
    while len(samples) < _SAMPLES and time.monotonic() < deadline:
        samples.append(clock(run, times))
    return median_low(samples)


def _overload(call: OpCall) -> Any:
    import torch

    name = op_name(call.op)
    if name.namespace in ("onnx", "tf", "jax", ""):
        raise NotMeasurable("no PyTorch operation")
    packet = getattr(getattr(torch.ops, name.namespace), name.base + "_" * name.inplace)
    return getattr(packet, name.overload or "default")


def _device_name(device: torch.device) -> str:
    """What times depend on: device, version of torch, threads of a CPU."""
    import torch

    if device.type == "cuda":
        return f"{torch.cuda.get_device_name(device)}, torch {torch.__version__}"
    return f"{_processor()}, torch {torch.__version__}, {torch.get_num_threads()} threads"


def _processor() -> str:
    import platform

    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass  # not Linux
    return platform.processor() or platform.machine()


def _free_bytes(device: torch.device) -> int:
    import os

    import torch

    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
