"""Latency and bandwidth out of times: exact on a line, steady against outliers, never negative."""

from __future__ import annotations

import random

import pytest

from pardnn.machine.fit import Link, fit_link, median_link

SIZES = (8, 1 << 16, 1 << 20, 1 << 24)


def line(latency: float, bandwidth: float, count: int = 5) -> dict[int, list[float]]:
    return {n: [latency + n / bandwidth] * count for n in SIZES}


def test_a_line_is_found_exactly() -> None:
    link = fit_link(line(5e-6, 20e9))
    assert link.latency == pytest.approx(5e-6, rel=1e-6)
    assert link.bandwidth == pytest.approx(20e9, rel=1e-6)
    assert link.error < 1e-6
    assert link.seconds(20_000) == pytest.approx(6e-6)


def test_outliers_and_noise_move_it_little() -> None:
    draw = random.Random(3)
    samples = {n: [t * draw.uniform(0.97, 1.03) for t in times] for n, times in line(10e-6, 5e9, count=40).items()}
    for times in samples.values():
        for i in range(0, 40, 8):
            times[i] *= 30  # one of eight is held up
    link = fit_link(samples)
    assert link.latency == pytest.approx(10e-6, rel=0.05)
    assert link.bandwidth == pytest.approx(5e9, rel=0.05)


def test_unequal_repeats_weigh_the_same() -> None:
    samples = line(5e-6, 1e9)
    samples[8] = samples[8] * 100
    samples[1 << 24] = [t * 1.1 for t in samples[1 << 24]]
    once = line(5e-6, 1e9, count=1)
    once[1 << 24] = [t * 1.1 for t in once[1 << 24]]
    assert fit_link(samples).bandwidth == pytest.approx(fit_link(once).bandwidth, rel=0.02)


def test_latency_is_never_negative_nor_bandwidth() -> None:
    link = fit_link({8: [1e-9], 1 << 10: [1e-6], 1 << 20: [2e-3]})
    assert link.latency >= 0 and link.bandwidth > 0
    falling = fit_link({8: [1e-3], 1 << 20: [1e-4]})
    assert falling.latency == 0 and falling.bandwidth > 0 and falling.error > 0.5


def test_one_size_is_no_line() -> None:
    with pytest.raises(ValueError, match="two sizes"):
        fit_link({8: [1e-6]})
    with pytest.raises(ValueError, match="above 0 s"):
        fit_link({8: [1e-6], 16: [0.0]})


def test_median_of_links() -> None:
    links = [Link(1e-6, 1e9, 0.1), Link(2e-6, 3e9, 0.3), Link(9e-6, 2e9, 0.2)]
    assert median_link(links) == Link(2e-6, 2e9, 0.3)
