"""Protobuf's wire format as a stream: fields of a file one at a time, and copies of messages without their bulk.

Protobuf itself parses whole messages, of 2 GB at most; a graph's weights or a long profile are larger than what is wanted of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import BinaryIO, NamedTuple, Union

from .errors import CaptureError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
# What to do with a field of bytes: descend by the nested mapping, or drop it where it is large.
DROP_IF_LARGE = "drop"
_DEEPEST = 100  # as protobuf's own parser has it
Plan = Mapping[int, Union[str, "Plan"]]


class Field(NamedTuple):
    """Field ``number`` of a message: its tag begins at ``tag``, its content is at ``[begin, end)`` of the file."""

    number: int
    wire_type: int
    tag: int
    begin: int
    end: int


class WireFile:
    """Reads a protobuf file piece by piece; holds one piece at a time."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        try:
            self._file: BinaryIO = open(path, "rb", buffering=1 << 16)
            self.size = os.fstat(self._file.fileno()).st_size
        except OSError as error:
            raise CaptureError(f"{path}: {error.strerror}") from error

    def __enter__(self) -> WireFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def content(self, begin: int, end: int) -> bytes:
        self._file.seek(begin)
        data = self._file.read(end - begin)
        if len(data) != end - begin:
            raise CaptureError(f"{self.path}: truncated: have {self.size} bytes, need {end}")
        return data

    def fields(self, begin: int = 0, end: int | None = None) -> Iterator[Field]:
        """The fields of the message at ``[begin, end)``, in the file's order. CaptureError where the bytes are no message."""
        end = self.size if end is None else end
        position = begin
        while position < end:
            head = self.content(position, min(position + 20, end))
            key, after = self._varint(head, 0, position)
            number, wire_type = key >> 3, key & 7
            start = position + after
            if wire_type == BYTES:
                length, start_after = self._varint(head, after, position)
                start = position + start_after
                stop = start + length
            elif wire_type == VARINT:
                stop = position + self._varint(head, after, position)[1]
            elif wire_type in (FIXED64, FIXED32):
                stop = start + (8 if wire_type == FIXED64 else 4)
            else:
                raise CaptureError(f"{self.path}: byte {position}: not a protobuf message (wire type {wire_type})")
            if number == 0:
                raise CaptureError(f"{self.path}: byte {position}: not a protobuf message (field number 0)")
            if stop > end:
                raise CaptureError(f"{self.path}: truncated or not this kind of file: field {number} at byte {position} "
                                   f"needs {stop} bytes, there are {end}")
            yield Field(number, wire_type, position, start, stop)
            position = stop

    def _varint(self, head: bytes, at: int, position: int) -> tuple[int, int]:
        value = shift = 0
        while at < len(head) and shift < 70:
            byte = head[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, at
            shift += 7
        raise CaptureError(f"{self.path}: byte {position}: not a protobuf message (a number does not end)")

    def slim(self, begin: int, end: int, plan: Plan, large: int = 1 << 16, depth: int = 0) -> tuple[bytes, int]:
        """A copy of the message at ``[begin, end)`` without the fields that ``plan`` marks and that exceed ``large`` bytes; the bytes dropped."""
        if depth > _DEEPEST:
            raise CaptureError(f"{self.path}: byte {begin}: messages nested more than {_DEEPEST} deep")
        if end - begin <= large:
            return self.content(begin, end), 0
        pieces: list[bytes] = []
        dropped = 0
        for field in self.fields(begin, end):
            rule = plan.get(field.number) if field.wire_type == BYTES else None
            if rule is None or field.end - field.begin <= large:
                pieces.append(self.content(field.tag, field.end))
            elif rule == DROP_IF_LARGE:
                dropped += field.end - field.begin
            else:
                assert not isinstance(rule, str)
                inner, less = self.slim(field.begin, field.end, rule, large, depth + 1)
                dropped += less
                pieces.append(_varint_bytes(field.number << 3 | BYTES) + _varint_bytes(len(inner)) + inner)
        return b"".join(pieces), dropped


def _varint_bytes(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
