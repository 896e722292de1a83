"""Placements drawn by a seeded rule: baselines, states of the search, random ones, and mixtures of good and random."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..graph import Graph, Int64
from ..runtime.links import Machine
from ..runtime.schedule import Schedule, emulate
from .baselines import baselines, blocks
from .errors import FidelityError
from .groups import Groups, groups

BLOCKS = (3, 8, 24, 80, 0)  # numbers of blocks of random placements; 0: each group by itself
SHARES = (0.03, 0.1, 0.25, 0.5, 0.8)  # of the groups that are moved at random in a mixture
ATTEMPTS = 200  # draws in a row that only repeat others


@dataclass
class Candidate:
    """A placement: ``kind`` is baseline, search, random or mixture. ``schedule``: its emulated run, whose order the runtime follows.

    ``file``: where the partitioner wrote it, if it did.
    """

    name: str
    kind: str
    device: Int64
    schedule: Schedule
    file: Path | None = None


def draw(graph: Graph, machine: Machine, searched: Sequence[Candidate], count: int, seed: int) -> list[Candidate]:
    """``count`` placements that all differ (or follow another order): baselines, ``searched``, then random ones and mixtures in turn.

    Raises FidelityError where the graph has fewer.
    """
    found: list[Candidate] = []
    seen: set[bytes] = set()

    def take(candidate: Candidate) -> bool:
        key = candidate.device.tobytes() + candidate.schedule.order.tobytes()
        if key in seen or len(found) == count:
            return False
        seen.add(key)
        found.append(candidate)
        return True

    bound = groups(graph)
    for name, device in baselines(graph, bound, machine):
        take(Candidate(name, "baseline", device, emulate(graph, device, machine)))
    for candidate in searched:
        take(candidate)
    good = min(found, key=lambda c: c.schedule.makespan).device
    repeats = 0
    for name, kind, device in _without_end(bound, good, len(machine.speed), np.random.default_rng(seed)):
        if len(found) == count:
            return found
        repeats = 0 if take(Candidate(name, kind, device, emulate(graph, device, machine))) else repeats + 1
        if repeats == ATTEMPTS:
            raise FidelityError(f"{graph.name}: only {len(found)} different placements found on {len(machine.speed)} devices, {count} are asked for")
    raise AssertionError("the rule has no end")


def _without_end(bound: Groups, good: Int64, devices: int, random: np.random.Generator) -> Iterator[tuple[str, str, Int64]]:
    """Random placements in blocks, and mixtures with ``good``, by turns, sizes in turn."""
    of_group = np.zeros(bound.count, dtype=np.int64)
    of_group[bound.of] = good
    turn = 0
    while True:
        number, round_ = BLOCKS[turn % len(BLOCKS)], turn // len(BLOCKS)
        place = random.integers(devices, size=number or bound.count)
        where = place[blocks(bound, number)] if number else place
        yield f"random, {number or 'single'} {'blocks' if number else 'groups'} #{round_}", "random", bound.devices(where)
        share = SHARES[turn % len(SHARES)]
        moved = random.random(bound.count) < share
        mixed = np.where(moved, random.integers(devices, size=bound.count), of_group)
        yield f"best, {share:.0%} redrawn #{round_}", "mixture", bound.devices(mixed)
        turn += 1
