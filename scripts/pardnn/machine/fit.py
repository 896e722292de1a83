"""Latency and bandwidth of a link from measured times of messages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_HUBER = 1.345  # in standard deviations: 95 % efficiency where the noise is Gaussian (Huber 1964)
_ITERATIONS = 50


@dataclass(frozen=True)
class Link:
    """A message of n bytes takes ``latency`` s + n / ``bandwidth`` (bytes/s). ``error``: the greatest relative distance of a size's median from that."""

    latency: float
    bandwidth: float
    error: float

    def seconds(self, size: float) -> float:
        return self.latency + size / self.bandwidth


def fit_link(samples: dict[int, list[float]]) -> Link:
    """Robust least squares of time = latency + bytes / bandwidth over ``samples``: seconds by message size in bytes, at least two sizes.

    Relative errors count, so that small messages decide the latency and large ones the bandwidth; each size has the same weight; what lies far off
    counts by its distance, not the square of it (Huber's loss, by iterated weights). Latency is never negative.
    """
    if len(samples) < 2 or any(not times or min(times) <= 0 for times in samples.values()):
        raise ValueError(f"times of at least two sizes are needed, above 0 s: {samples}")
    size = np.repeat(np.array(sorted(samples), dtype=np.float64), [len(samples[n]) for n in sorted(samples)])
    time = np.array([t for n in sorted(samples) for t in samples[n]])
    share = np.repeat([1.0 / len(samples[n]) for n in sorted(samples)], [len(samples[n]) for n in sorted(samples)])
    medians = {n: float(np.median(times)) for n, times in samples.items()}
    weight = share / np.array([medians[int(n)] for n in size]) ** 2
    latency, slope = _solve(size, time, weight)
    for _ in range(_ITERATIONS):
        residual = np.abs(time - latency - slope * size) * np.sqrt(weight / share)
        spread = 1.4826 * float(np.median(residual))
        if spread <= 1e-12:
            break
        new = _solve(size, time, weight * np.minimum(1.0, _HUBER * spread / np.maximum(residual, 1e-300)))
        done = abs(new[1] - slope) <= 1e-9 * slope and abs(new[0] - latency) <= 1e-12
        latency, slope = new
        if done:
            break
    link = Link(latency, 1.0 / slope, 0.0)
    return Link(link.latency, link.bandwidth, max(abs(link.seconds(n) / t - 1.0) for n, t in medians.items()))


def _solve(size: np.ndarray, time: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Latency >= 0 and seconds per byte > 0 with the least weighted squares."""
    total = float(weight.sum())
    mean_size, mean_time = float((weight * size).sum()) / total, float((weight * time).sum()) / total
    slope = float((weight * (size - mean_size) * (time - mean_time)).sum()) / float((weight * (size - mean_size) ** 2).sum())
    latency = mean_time - slope * mean_size
    if latency < 0 or slope <= 0:
        # Not a line that a link can have: without latency, the slope through the origin.
        return 0.0, float((weight * size * time).sum()) / float((weight * size**2).sum())
    return latency, slope


def median_link(links: list[Link]) -> Link:
    """The median latency and the median bandwidth of ``links``; ``error``: the greatest."""
    return Link(float(np.median([k.latency for k in links])), float(np.median([k.bandwidth for k in links])), max(k.error for k in links))


