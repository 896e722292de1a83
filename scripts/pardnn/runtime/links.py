"""The machine that a placement was made for: speeds of devices, latency and bandwidth between them."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from ..graph import Int64

DEFAULT_LATENCY, DEFAULT_BANDWIDTH = 5_000, 150_000_000_000  # ns, bytes per second: what the partitioner takes when it is told nothing


@dataclass
class Machine:
    """``speed``: millionths, int64[K]. ``latency``: ns, ``bandwidth``: bytes per second, int64[K, K]."""

    speed: Int64
    latency: Int64
    bandwidth: Int64

    @classmethod
    def equal(cls, devices: int) -> Machine:
        return cls(np.full(devices, 10**6), np.full((devices, devices), DEFAULT_LATENCY), np.full((devices, devices), DEFAULT_BANDWIDTH))

    @classmethod
    def parse(cls, text: str) -> Machine:
        """From the JSON that placement files keep (quantities in base units). Raises ValueError on any other content."""
        content = json.loads(text)
        devices = content["devices"]
        hosts = np.array([d.get("host", 0) for d in devices])
        links = content.get("links", {})
        found = cls.equal(len(devices))
        found.speed = np.array([round(float(d.get("speed", 1.0)) * 10**6) for d in devices], dtype=np.int64)
        if "latency_ns" in links:
            found.latency = np.array(links["latency_ns"], dtype=np.int64)
            found.bandwidth = np.array(links["bandwidth_bytes_per_s"], dtype=np.int64)
            return found
        same = hosts[:, None] == hosts[None, :]
        for name, where in (("same_host", same), ("cross_host", ~same)):
            if name in links:
                found.latency[where] = int(links[name]["latency"])
                found.bandwidth[where] = int(links[name]["bandwidth"])
        return found

    def duration(self, comp: Int64, device: Int64) -> Int64:
        """ns of nodes on their devices."""
        speed = self.speed[device]
        if (speed == 10**6).all():
            return comp
        return np.array([-(-int(c) * 10**6 // int(s)) for c, s in zip(comp, speed)], dtype=np.int64)

    def cost(self, size: Int64, source: Int64, target: Int64) -> Int64:
        """ns from device ``source`` to device ``target``, 0 within one; a control edge costs the latency."""
        exact = size < (1 << 62) // 10**9
        width = np.where(source == target, 1, self.bandwidth[source, target])
        moved = np.where(exact, -(-np.where(exact, size, 0) * 10**9 // width), 0)
        for e in np.flatnonzero(~exact):
            moved[e] = -(-int(size[e]) * 10**9 // int(width[e]))
        return np.where(source == target, 0, self.latency[source, target] + moved)
