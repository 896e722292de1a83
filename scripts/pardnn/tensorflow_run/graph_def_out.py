"""GraphDef files with other devices: rewritten as a stream, whatever their size, or written from memory. The file is the old one or the new one, whole."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, BinaryIO

from ..atomic_file import replacing
from ..capture_common.wire import BYTES, Field, WireFile

_NODE = 1  # field of GraphDef
_DEVICE = 4  # field of NodeDef
_PIECE = 1 << 20  # bytes copied at once
TEXT_ENDINGS = (".pbtxt", ".prototxt", ".txt")


def rewrite(source: str | os.PathLike[str], target: str | os.PathLike[str], devices: Sequence[str]) -> None:
    """Copies the binary GraphDef ``source`` with node i on ``devices[i]``; all else is as it was. Memory: a few MiB beside ``devices``."""
    device = iter(devices)
    with WireFile(source) as wire, replacing(target) as out:
        for field in wire.fields():
            if field.number != _NODE or field.wire_type != BYTES:
                _copy(wire, out, field.tag, field.end)
            elif field.end - field.begin <= _PIECE:
                out.write(_bytes_field(_NODE, _on_device(wire.content(field.begin, field.end), next(device))))
            else:
                _copy_large(wire, out, field, next(device))


def _on_device(node: bytes, device: str) -> bytes:
    from tensorflow.core.framework import node_def_pb2

    message = node_def_pb2.NodeDef.FromString(node)
    message.device = device
    return message.SerializeToString(deterministic=True)


def _copy_large(wire: WireFile, out: BinaryIO, node: Field, device: str) -> None:
    """Copies a node without parsing it, its device coming last."""
    kept = [(inner.tag, inner.end) for inner in wire.fields(node.begin, node.end) if inner.number != _DEVICE]
    last = _bytes_field(_DEVICE, device.encode())
    out.write(_head(_NODE, sum(end - begin for begin, end in kept) + len(last)))
    for begin, end in kept:
        _copy(wire, out, begin, end)
    out.write(last)


def write(definition: Any, target: str | os.PathLike[str]) -> None:
    """Writes a GraphDef in binary form, or as text where the name says so. A node at a time, so that the whole may exceed protobuf's 2 GB."""
    with replacing(target) as out:
        if os.fspath(target).endswith(TEXT_ENDINGS):
            from google.protobuf import text_format

            out.write(text_format.MessageToString(definition).encode())
            return
        for node in definition.node:
            out.write(_bytes_field(_NODE, node.SerializeToString(deterministic=True)))
        rest = type(definition)()
        for field, value in definition.ListFields():
            if field.name == "node":
                continue
            if field.message_type is None:
                setattr(rest, field.name, value)
            else:
                getattr(rest, field.name).CopyFrom(value)
        out.write(rest.SerializeToString(deterministic=True))


def _copy(wire: WireFile, out: BinaryIO, begin: int, end: int) -> None:
    for at in range(begin, end, _PIECE):
        out.write(wire.content(at, min(at + _PIECE, end)))


def _bytes_field(number: int, content: bytes) -> bytes:
    return _head(number, len(content)) + content


def _head(number: int, length: int) -> bytes:
    out = bytearray([number << 3 | BYTES])
    while length >= 0x80:
        out.append(length & 0x7F | 0x80)
        length >>= 7
    out.append(length)
    return bytes(out)
