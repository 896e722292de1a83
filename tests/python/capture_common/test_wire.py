"""Protobuf's wire format as a stream: messages made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from pardnn.capture_common import CaptureError
from pardnn.capture_common.wire import DROP_IF_LARGE, WireFile


def varint(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def opened(folder: Path, content: bytes) -> WireFile:
    (folder / "m.pb").write_bytes(content)
    return WireFile(folder / "m.pb")


def test_fields_of_all_kinds_in_order(tmp_path: Path) -> None:
    # field 1: 300; field 2: "abc"; field 3: 8 fixed bytes; field 4: 4 fixed bytes; field 500: empty
    content = b"\x08" + varint(300) + field(2, b"abc") + b"\x19" + bytes(8) + b"\x25" + bytes(4) + field(500, b"")
    with opened(tmp_path, content) as wire:
        found = [(f.number, f.wire_type, wire.content(f.begin, f.end)) for f in wire.fields()]
    assert found == [(1, 0, varint(300)), (2, 2, b"abc"), (3, 1, bytes(8)), (4, 5, bytes(4)), (500, 2, b"")]


def test_slim_drops_large_content_and_keeps_the_rest(tmp_path: Path) -> None:
    bulk, small = bytes(1000), bytes(10)
    message = field(1, field(4, bulk) + field(5, b"kept")) + field(1, field(4, small)) + field(2, bulk)
    with opened(tmp_path, message) as wire:
        slim, dropped = wire.slim(0, wire.size, {1: {4: DROP_IF_LARGE}}, large=100)
    assert slim == field(1, field(5, b"kept")) + field(1, field(4, small)) + field(2, bulk)
    assert dropped == 1000


@pytest.mark.parametrize(("content", "said"), [
    (field(1, b"abcdef")[:-2], "truncated"), (b"\x0b", "wire type 3"), (b"\x02\x00", "field number 0"), (b"\xff" * 12, "a number does not end"),
    (b"\x0a", "a number does not end"), (b"\x09\x00", "truncated")])
def test_what_is_no_message_is_told_with_its_byte(content: bytes, said: str, tmp_path: Path) -> None:
    with opened(tmp_path, content) as wire, pytest.raises(CaptureError, match=said) as error:
        list(wire.fields())
    assert "m.pb" in str(error.value) and "byte 0" in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="none.pb: No such file"):
        WireFile(tmp_path / "none.pb")


def test_messages_without_end_inside_each_other_are_refused(tmp_path: Path) -> None:
    content = bytes(200)
    for _ in range(3000):
        content = field(1, content)
    plan: dict[int, object] = {}
    plan[1] = plan
    with opened(tmp_path, content) as wire, pytest.raises(CaptureError, match="nested more than 100 deep"):
        wire.slim(0, wire.size, plan, large=100)  # type: ignore[arg-type]
