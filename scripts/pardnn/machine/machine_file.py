"""Measurements as a machine file: equal devices made equal, links by host or pair by pair."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .fit import Link, median_link

if TYPE_CHECKING:
    from .measure import DeviceFacts

SMALL, LARGE = 4096, 1 << 24  # bytes of the messages whose times tell whether two links are alike


@dataclass(frozen=True)
class MachineDevice:
    """A device as the file has it: ``host`` is a number, ``memory`` in bytes, ``speed`` 1.0 for the fastest."""

    name: str
    host: int
    memory: int
    speed: float


def machine_devices(facts: list[DeviceFacts], tolerance: float) -> list[MachineDevice]:
    """By rank. Ranks that share a host's memory have equal parts of it. Devices of one model whose times differ by at most ``tolerance`` are equally fast."""
    hosts: dict[tuple[str, str], int] = {}
    for f in facts:
        hosts.setdefault((f.host, f.boot), len(hosts))
    labels = _host_labels(list(hosts))
    there = [hosts[f.host, f.boot] for f in facts]
    seats: dict[int, int] = {}
    speeds = relative_speeds(facts, tolerance)
    devices = []
    for f, host, speed in zip(facts, there, speeds):
        seat = seats[host] = seats.get(host, -1) + 1
        memory = f.memory // there.count(host) if f.shared else f.memory
        devices.append(MachineDevice(f"{labels[host]}/{f.kind}{seat}", host, memory, speed))
    return devices


def _host_labels(hosts: list[tuple[str, str]]) -> list[str]:
    names = [name for name, _ in hosts]
    return [name if names.count(name) == 1 else f"{name}-{number}" for number, name in enumerate(names)]


def relative_speeds(facts: list[DeviceFacts], tolerance: float) -> list[float]:
    """The fastest has 1.0; three decimals."""
    flops = [f.flops for f in facts]
    for model in sorted({f.model for f in facts}):
        same = [i for i, f in enumerate(facts) if f.model == model]
        values = [flops[i] for i in same]
        if max(values) <= (1 + tolerance) * min(values):
            for i in same:
                flops[i] = float(np.median(values))
    return [max(0.001, round(f / max(flops), 3)) for f in flops]


@dataclass(frozen=True)
class LinkClasses:
    """``by_host``: one link for pairs on the same host and one for others, None where there are no such pairs. ``apart``: how far a pair is from its class."""

    by_host: dict[str, Link | None]
    apart: float


def link_classes(devices: list[MachineDevice], links: dict[tuple[int, int], Link]) -> LinkClasses:
    """The medians of both classes; ``apart`` is the greatest ratio, less 1, between the times of a message over a pair's link and its class's."""
    of: dict[str, list[Link]] = {"same_host": [], "cross_host": []}
    for (p, q), link in sorted(links.items()):
        of[_class_of(devices, p, q)].append(link)
    by_host = {key: median_link(found) if found else None for key, found in of.items()}
    apart = 0.0
    for (p, q), link in links.items():
        median = by_host[_class_of(devices, p, q)]
        assert median is not None
        for size in (SMALL, LARGE):
            apart = max(apart, link.seconds(size) / median.seconds(size) - 1, median.seconds(size) / link.seconds(size) - 1)
    return LinkClasses(by_host, apart)


def _class_of(devices: list[MachineDevice], p: int, q: int) -> str:
    return "same_host" if devices[p].host == devices[q].host else "cross_host"


def machine_document(name: str, comment: str, devices: list[MachineDevice], links: dict[tuple[int, int], Link], by_host: bool) -> dict[str, Any]:
    """The machine file: links of same_host and cross_host, or the full matrices where ``by_host`` is False. Latency in ns, bandwidth in bytes/s."""
    document: dict[str, Any] = {"name": name, "comment": comment,
                                "devices": [{"name": d.name, "host": d.host, "memory": d.memory, "speed": d.speed} for d in devices]}
    if len(devices) < 2:
        return document
    if by_host:
        classes = link_classes(devices, links).by_host
        document["links"] = {key: {"latency": _ns(k), "bandwidth": _bytes_per_s(k)} for key, k in classes.items() if k}
    else:
        def matrix(value: Callable[[Link], int]) -> list[list[int]]:
            return [[0 if p == q else value(links[p, q]) for q in range(len(devices))] for p in range(len(devices))]

        document["links"] = {"latency_ns": matrix(_ns), "bandwidth_bytes_per_s": matrix(_bytes_per_s)}
    return document


def _ns(link: Link) -> int:
    return max(0, round(link.latency * 1e9))


def _bytes_per_s(link: Link) -> int:
    return max(1, round(link.bandwidth))


def machine_text(document: dict[str, Any]) -> str:
    """JSON with a line per device and per row of a matrix."""
    lines = [f'  "{key}": {json.dumps(document[key])}' for key in ("name", "comment")]
    lines.append('  "devices": [\n' + ",\n".join(f"    {json.dumps(d)}" for d in document["devices"]) + "\n  ]")
    if "links" in document:
        parts = []
        for key, value in document["links"].items():
            rows = json.dumps(value) if isinstance(value, dict) else "[\n" + ",\n".join(f"      {json.dumps(row)}" for row in value) + "\n    ]"
            parts.append(f'    "{key}": {rows}')
        lines.append('  "links": {\n' + ",\n".join(parts) + "\n  }")
    return "{\n" + ",\n".join(lines) + "\n}\n"
