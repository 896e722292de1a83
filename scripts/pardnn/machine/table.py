"""The table of a measured machine."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .fit import Link
from .machine_file import MachineDevice
from .measure import DeviceFacts

PAIRS = 56  # links are listed up to 8 ranks; beyond that, by class and the worst alone


def device_lines(facts: list[DeviceFacts], devices: list[MachineDevice]) -> Iterator[str]:
    """A line for each rank."""
    width = max([6, *(len(d.name) for d in devices)])
    yield f"  rank  {'device':{width}}  host        memory B   GFLOP/s  speed  model"
    for rank, (f, d) in enumerate(zip(facts, devices)):
        yield f"  {rank:4}  {d.name:{width}}  {d.host:4}  {d.memory:14,}  {f.flops / 1e9:8.1f}  {d.speed:5.3f}  {f.model}"


def link_lines(devices: list[MachineDevice], links: dict[tuple[int, int], Link]) -> Iterator[str]:
    """Least, median and greatest of each class; each pair where there are few. ``fit``: how far the median time of a size is from the line at most."""
    if not links:
        return
    yield "  links        pairs       latency us (least, median, greatest)      bandwidth GB/s (least, median, greatest)"
    for same, word in ((True, "same host"), (False, "other host")):
        of = [k for (p, q), k in links.items() if (devices[p].host == devices[q].host) == same]
        if of:
            latency, bandwidth = np.array([k.latency for k in of]) * 1e6, np.array([k.bandwidth for k in of]) / 1e9
            yield f"  {word:11}  {len(of):5}  {_spread(latency)}  {_spread(bandwidth)}"
    if len(links) <= PAIRS:
        yield "  from    to  latency us  bandwidth GB/s  fit"
        for (p, q), k in sorted(links.items()):
            yield f"  {p:4}  {q:4}  {k.latency * 1e6:10.2f}  {k.bandwidth / 1e9:14.3f}  {100 * k.error:.0f} %"


def _spread(values: np.ndarray) -> str:
    return "".join(f"{v:14.3f}" for v in (values.min(), np.median(values), values.max()))
