"""Union-find against sets that are merged by hand."""

from __future__ import annotations

import random

from pardnn.disjoint_sets import DisjointSets


def test_the_least_of_a_set_speaks_for_it() -> None:
    sets: DisjointSets[str] = DisjointSets()
    sets.join("c", "d")
    sets.join("b", "d")
    assert [sets.find(x) for x in "abcd"] == ["a", "b", "b", "b"]
    assert "a" in sets and "e" not in sets and sets.leaders() == {"a": "a", "b": "b", "c": "b", "d": "b"}


def test_random_joins() -> None:
    draw = random.Random(3)
    for _ in range(50):
        sets: DisjointSets[int] = DisjointSets()
        plain = {n: {n} for n in range(20)}
        for _ in range(draw.randrange(25)):
            a, b = draw.randrange(20), draw.randrange(20)
            sets.join(a, b)
            merged = plain[a] | plain[b]
            for n in merged:
                plain[n] = merged
        assert all(sets.find(n) == min(plain[n]) for n in range(20))
