"""GraphDef files as streams: one node at a time, weights left out."""

from __future__ import annotations

import os
from typing import Any

from ..capture_common.errors import CaptureError
from ..capture_common.progress import Progress
from ..capture_common.wire import BYTES, DROP_IF_LARGE, Plan, WireFile

_NODE, _LIBRARY, _VERSION, _VERSIONS, _DEBUG = 1, 2, 3, 4, 5
# NodeDef.attr -> entry.value -> AttrValue.tensor -> TensorProto's content and its typed values.
_TENSOR: Plan = {4: DROP_IF_LARGE, **{number: DROP_IF_LARGE for number in (5, 6, 7, 8, 10, 13, 16, 17)}}
_NODE_PLAN: Plan = {5: {2: {8: _TENSOR}}}
# FunctionDefLibrary.function -> FunctionDef.node_def -> as above.
_LIBRARY_PLAN: Plan = {1: {3: _NODE_PLAN}}


def read_graph_def(path: str | os.PathLike[str], quiet: bool = False) -> Any:
    """The GraphDef at ``path`` (.pb, or .pbtxt as text), constants larger than 64 KiB without their values (their shapes stay).

    Memory: one node's bytes beside the slim graph; a binary file may exceed protobuf's 2 GB. Text is parsed whole.
    """
    if os.fspath(path).endswith((".pbtxt", ".prototxt", ".txt")):
        return _read_text(path)
    from google.protobuf.message import DecodeError
    from tensorflow.core.framework import graph_pb2

    graph = graph_pb2.GraphDef()
    progress = Progress(f"read {os.path.basename(os.fspath(path))}", quiet)
    with WireFile(path) as wire:
        for field in wire.fields():
            if field.wire_type != BYTES:
                continue
            try:
                if field.number == _NODE:
                    graph.node.add().MergeFromString(wire.slim(field.begin, field.end, _NODE_PLAN)[0])
                elif field.number == _LIBRARY:
                    graph.library.MergeFromString(wire.slim(field.begin, field.end, _LIBRARY_PLAN)[0])
                elif field.number == _VERSIONS:
                    graph.versions.MergeFromString(wire.content(field.begin, field.end))
            except DecodeError as error:
                raise CaptureError(f"{path}: byte {field.begin}: expected a node of a GraphDef ({error})") from error
            progress.update(field.end, wire.size)
    progress.done()
    return _checked(path, graph)


def _read_text(path: str | os.PathLike[str]) -> Any:
    from google.protobuf import text_format
    from tensorflow.core.framework import graph_pb2

    try:
        with open(path, encoding="utf-8") as file:
            return _checked(path, text_format.Parse(file.read(), graph_pb2.GraphDef()))
    except OSError as error:
        raise CaptureError(f"{path}: {error.strerror}") from error
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise CaptureError(f"{path}: not a GraphDef in text form: {error}") from error


def _checked(path: str | os.PathLike[str], graph: Any) -> Any:
    if not graph.node:
        raise CaptureError(f"{path}: no nodes: expected a GraphDef (a SavedModel's saved_model.pb is none)")
    unnamed = next((i for i, node in enumerate(graph.node) if not node.name or not node.op), None)
    if unnamed is not None:
        raise CaptureError(f"{path}: node {unnamed} has no name or no operation: not a GraphDef")
    return graph
