"""The fingerprint that ties a placement file to its graph: XXH3 with 128 bits over the graph's arrays, as the partitioner computes it."""

from __future__ import annotations

import numpy as np

from ..graph import Graph

_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")
_M64 = (1 << 64) - 1
_P32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
_P64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
_STRIPE, _LANES = 64, 8
_STRIPES = (len(_SECRET) - _STRIPE) // 8  # per block
SHORTEST = 241  # bytes; shorter inputs are hashed in another way, which no graph of five nodes or more needs


def fingerprint(graph: Graph) -> str | None:
    """The graph's fingerprint in hex; None for a graph of a few nodes, whose arrays are too short for this form of the hash. O(V + E)."""
    counts = np.bincount(graph.source, minlength=graph.num_nodes) if graph.num_nodes else np.zeros(0, np.int64)
    indptr = np.concatenate([[0], np.cumsum(counts)])
    columns = (np.array([graph.num_nodes, graph.num_edges]), indptr, graph.target, graph.bytes, graph.output, graph.comp, graph.mem, graph.temp,
               graph.kind, graph.colocation, graph.alias, graph.fixed)
    data = np.concatenate([np.asarray(c, dtype="<i8") for c in columns]).tobytes()
    return xxh3_128(data) if len(data) >= SHORTEST else None


def xxh3_128(data: bytes) -> str:
    """XXH3-128 with seed 0 of at least ``SHORTEST`` bytes (Collet, the xxHash specification): stripes of a block are summed at once, blocks in turn."""
    assert len(data) >= SHORTEST
    acc = [_P32[2], *_P64[:4], _P32[1], _P64[4], _P32[0]]
    block = _STRIPE * _STRIPES
    blocks = (len(data) - 1) // block
    for first in range(0, blocks, 4096):  # bounds the memory of the sums
        count = min(4096, blocks - first)
        sums = _accumulated(np.frombuffer(data, "<u8", count * block // 8, first * block).reshape(count, _STRIPES, _LANES)).tolist()
        for row in sums:
            acc = _scramble([(a + s) & _M64 for a, s in zip(acc, row)])
    stripes = (len(data) - 1 - blocks * block) // _STRIPE
    rest = np.frombuffer(data, "<u8", stripes * _LANES, blocks * block).reshape(1, stripes, _LANES)
    last = np.frombuffer(data, "<u8", _LANES, len(data) - _STRIPE).reshape(1, 1, _LANES)
    for part, offset in ((rest, 0), (last, len(_SECRET) - _STRIPE - 7)):
        acc = [(a + s) & _M64 for a, s in zip(acc, _accumulated(part, offset)[0].tolist())]
    low = _merge(acc, 11, len(data) * _P64[0] & _M64)
    high = _merge(acc, len(_SECRET) - 64 - 11, ~(len(data) * _P64[1]) & _M64)
    return f"{high:016x}{low:016x}"


def _accumulated(stripes: np.ndarray, offset: int = 0) -> np.ndarray:
    """What the stripes [blocks, stripes, 8 lanes] add to the accumulators of their blocks."""
    count = stripes.shape[1]
    keys = np.stack([np.frombuffer(_SECRET, "<u8", _LANES, offset + 8 * i) for i in range(count)]) if count else np.zeros((0, _LANES), "<u8")
    keyed = stripes ^ keys
    products = (keyed & np.uint64(0xFFFFFFFF)) * (keyed >> np.uint64(32))
    swapped = stripes.reshape(*stripes.shape[:2], 4, 2)[..., ::-1].reshape(stripes.shape)
    return (products + swapped).sum(axis=1, dtype=np.uint64)


def _scramble(acc: list[int]) -> list[int]:
    return [((a ^ (a >> 47) ^ key) * _P32[0]) & _M64 for a, key in zip(acc, _SCRAMBLE)]


def _merge(acc: list[int], offset: int, start: int) -> int:
    total = start
    for i in range(4):
        product = (acc[2 * i] ^ _word(offset + 16 * i)) * (acc[2 * i + 1] ^ _word(offset + 16 * i + 8))
        total = (total + ((product & _M64) ^ (product >> 64))) & _M64
    total ^= total >> 37
    total = (total * 0x165667919E3779F9) & _M64
    return total ^ (total >> 32)


def _word(offset: int) -> int:
    return int.from_bytes(_SECRET[offset:offset + 8], "little")


_SCRAMBLE = [_word(len(_SECRET) - _STRIPE + 8 * i) for i in range(_LANES)]
