"""Operations with several new outputs: an output that lives much longer than the others becomes a node of its own.

A node has one memory and one lifetime: without this, a small gradient that waits for the optimizer would keep the large one, made by the
same operation, in memory until then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .record import Record
from .values import Ref

_NEAR = 16  # calls by which the last readers of two outputs may differ and still count as one lifetime


def last_readers(records: Sequence[Record], live: Sequence[bool], returned: Sequence[Ref]) -> dict[int, int]:
    """For each storage, by number, the last live call that reads it (views of it included); what is returned is read at the end. O(V + E)."""
    last: dict[int, int] = {}
    for node, record in enumerate(records):
        if live[node]:
            for ref in record.reads:
                last[records[ref.node].store(ref.output)] = node
    for ref in returned:
        last[records[ref.node].store(ref.output)] = len(records)
    return last


def outputs_apart(record: Record, node: int, last: Mapping[int, int], marked: frozenset[Ref]) -> dict[int, int]:
    """Outputs of a call that are nodes of their own, with the bytes of each; ``marked``: gradients, which have to be."""
    sizes = {number: size for number, size in record.stores if size}
    if len(sizes) < 2:
        return {}
    main = max(sizes, key=lambda number: (sizes[number], -number))
    found: dict[int, int] = {}
    for output, (number, size) in enumerate(record.stores):
        if not size:
            continue
        longer = last.get(number, -1) > last.get(main, node) + _NEAR
        shorter = 16 * size > sizes[main] and 0 <= last.get(number, -1) < last.get(main, node) - _NEAR
        if number != main and (longer or shorter) or Ref(node, output) in marked:
            found[output] = size
    return found


def unread_bytes(record: Record, last: Mapping[int, int]) -> int:
    """Bytes of new outputs that nobody reads: they go with the end of the call. The first output counts as read."""
    return sum(size for number, size in record.stores[1:] if size and number not in last)
