"""All pairs of ranks in rounds: in a round no rank is in two pairs."""

from __future__ import annotations


def rounds_of_pairs(ranks: int) -> list[list[tuple[int, int]]]:
    """Each pair p < q once, as the matches of a tournament (circle method): ``ranks`` - 1 rounds, or ``ranks`` where that is odd. O(ranks^2)."""
    if ranks < 2:
        return []
    seats = ranks + ranks % 2  # with an odd number, one sits out in each round
    circle = seats - 1
    found = []
    for turn in range(circle):
        pairs = [(turn, circle)] + [((turn + i) % circle, (turn - i) % circle) for i in range(1, seats // 2)]
        found.append(sorted((min(pair), max(pair)) for pair in pairs if max(pair) < ranks))
    return found
