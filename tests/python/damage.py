"""Damaged files, for tests of what reads them."""

from __future__ import annotations

import random


def damaged(raw: bytes, draw: random.Random, most: int) -> bytes:
    """``raw`` with bytes changed, removed and repeated at random places: 1 to ``most``."""
    data = bytearray(raw)
    for _ in range(draw.randint(1, most)):
        at = draw.randrange(len(data))
        kind = draw.randrange(3)
        if kind == 0:
            data[at] = draw.randrange(256)
        elif kind == 1:
            del data[at:at + draw.randint(1, 6)]
        else:
            data[at:at] = data[at:at + draw.randint(1, 6)]
    return bytes(data)
