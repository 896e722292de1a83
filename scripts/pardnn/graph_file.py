"""Graph files (HDF5, format version 1) as the partitioner reads them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from .atomic_file import check_target, replacing
from .graph import Graph, printable

_OPTIONAL = {"temp": 0, "kind": 0, "colocation": -1, "alias": -1, "fixed": -1, "gradient_of": -1}


class GraphFileError(ValueError):
    """A file that is no graph: says which file, which dataset, and what was expected."""


def write_graph(path: str | os.PathLike[str], graph: Graph, extra: dict[str, bytes] | None = None) -> None:
    """Writes ``graph`` to ``path``, atomically: the file is the old one or the new one, whole.

    ``extra``: more datasets of bytes by name, say ``{"program": ...}``, which other readers ignore. Raises OSError where the disk does.
    """
    check_target(path)
    content = _image(graph, extra or {})
    with replacing(path) as file:
        file.write(content)


def _image(graph: Graph, extra: dict[str, bytes]) -> bytes:
    """The file's content, compressed as it will lie there. HDF5 never meets the disk: where that is full, it ends the process."""
    with h5py.File("graph.h5", "w", driver="core", backing_store=False) as file:
        _fill(file, graph)
        for name, content in extra.items():
            file.create_dataset(name, data=np.frombuffer(content, dtype=np.uint8), chunks=True, compression="gzip", compression_opts=4)
        file.flush()
        image: bytes = file.id.get_file_image()
    return image


def _fill(file: h5py.File, graph: Graph) -> None:
    file.attrs.update({"format": "pardnn-graph", "version": 1, "name": printable(graph.name), "producer": graph.producer,
                       "samples_per_step": graph.samples_per_step})
    for key, note in graph.notes.items():
        file.attrs[key] = note

    def put(name: str, data: np.ndarray) -> None:
        file.create_dataset(name, data=data, chunks=True if len(data) else None, compression="gzip" if len(data) else None)

    counts = np.bincount(graph.source, minlength=graph.num_nodes) if graph.num_nodes else np.zeros(0, np.int64)
    put("/edges/indptr", np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))
    put("/edges/indices", graph.target)
    put("/edges/bytes", graph.bytes)
    put("/edges/output", graph.output)
    put("/nodes/comp", graph.comp)
    put("/nodes/mem", graph.mem)
    for name, default in _OPTIONAL.items():
        values = getattr(graph, name)
        if (values != default).any():
            put(f"/nodes/{name}", values)
    packed = [name.encode() for name in graph.names]
    put("/nodes/name_offsets", np.concatenate([[0], np.cumsum([len(n) for n in packed])]).astype(np.int64))
    put("/nodes/name_bytes", np.frombuffer(b"".join(packed), dtype=np.uint8))
    put("/nodes/op", graph.op)
    file.create_dataset("/op_types", data=np.array([t.encode() for t in graph.op_types], dtype="S") if graph.op_types else np.zeros(0, "S1"))


def read_graph(path: str | os.PathLike[str]) -> Graph:
    """Reads a graph file. Raises GraphFileError naming the file and the dataset; ``pardnn validate`` tells all that may be wrong with one.

    What the file says is believed only after it is held against the file itself: nothing is allocated for data that it does not have.
    """
    with _opened(path) as file:
        if _text(file.attrs.get("format", "")) != "pardnn-graph":
            raise GraphFileError(f"{path}: attribute 'format' is not 'pardnn-graph'")
        indptr = _integers(path, file, "/edges/indptr")
        nodes = len(indptr) - 1
        if nodes < 0 or indptr[0] != 0 or (np.diff(indptr) < 0).any():
            raise GraphFileError(f"{path}: /edges/indptr: expected row pointers that start at 0 and do not fall")
        edges = int(indptr[-1])
        column: Any = lambda name, length, default=None: _integers(path, file, name, length, default)
        target = column("/edges/indices", edges)  # before anything is made as long as the pointers say
        op_types = [_text(t) for t in _dataset(path, file, "/op_types")[...]] if "/op_types" in file else ["op"]
        optional: dict[str, Any] = {name: column(f"/nodes/{name}", nodes, default) for name, default in _OPTIONAL.items()}
        graph = Graph(
            names=_names(path, file, nodes), op_types=op_types, op=column("/nodes/op", nodes, 0),
            comp=column("/nodes/comp", nodes), mem=column("/nodes/mem", nodes), **optional,
            source=np.repeat(np.arange(nodes, dtype=np.int64), np.diff(indptr)), target=target,
            bytes=column("/edges/bytes", edges), output=column("/edges/output", edges, 0),
            name=_text(file.attrs.get("name", "graph")), producer=_text(file.attrs.get("producer", "")),
            samples_per_step=_samples(path, file))
    _check_ranges(path, graph)
    return graph


def _check_ranges(path: object, graph: Graph) -> None:
    """Ids are ids, and no cost is negative."""
    nodes = graph.num_nodes
    limits = {"/edges/indices": (graph.target, 0, nodes), "/nodes/op": (graph.op, 0, len(graph.op_types)), "/nodes/alias": (graph.alias, -1, nodes),
              "/nodes/gradient_of": (graph.gradient_of, -1, nodes), "/nodes/kind": (graph.kind, 0, 3),
              **{f"/nodes/{name}": (getattr(graph, name), 0, None) for name in ("comp", "mem", "temp")}, "/edges/bytes": (graph.bytes, 0, None)}
    for name, (values, low, end) in limits.items():
        wrong = np.flatnonzero((values < low) | (values >= end if end is not None else False))
        if len(wrong):
            raise GraphFileError(f"{path}: {name}: value {values[wrong[0]]} at {wrong[0]} is out of range")


def read_extra(path: str | os.PathLike[str], name: str) -> bytes | None:
    """The bytes that :func:`write_graph` stored under ``name``, or None. Raises GraphFileError where that is no bytes."""
    with _opened(path) as file:
        if name not in file:
            return None
        data = _dataset(path, file, name)
        if data.dtype != np.uint8 or data.ndim != 1:
            raise GraphFileError(f"{path}: {name}: expected bytes, found {data.dtype} of shape {data.shape}")
        content: bytes = data[...].tobytes()
        return content


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[h5py.File]:
    """The file, open for reading; what HDF5 finds wrong inside becomes a GraphFileError."""
    if not Path(path).is_file():
        raise GraphFileError(f"{path}: {'a folder, expected a graph file' if Path(path).is_dir() else 'no such file'}")
    try:
        with h5py.File(path, "r") as file:
            yield file
    except GraphFileError:
        raise
    except (OSError, RuntimeError, KeyError, TypeError, UnicodeDecodeError, OverflowError, MemoryError) as error:
        raise GraphFileError(f"{path}: not an HDF5 file that can be read ({' '.join(str(error).split())[:200]})") from error


_EXPANSION = 1100  # gzip makes at most 1032 bytes of one
_SMALL = 1 << 20  # bytes that may be declared without being stored


def _dataset(path: object, file: h5py.File, name: str) -> h5py.Dataset:
    """A dataset that lies in this file, with no more data than the bytes stored in it can be."""
    link = file.get(name, getlink=True)
    if not isinstance(link, h5py.HardLink) and not isinstance(link, h5py.SoftLink):
        raise GraphFileError(f"{path}: {name}: a link to another file")
    data = file[name]
    if not isinstance(data, h5py.Dataset) or data.shape is None:
        raise GraphFileError(f"{path}: {name}: expected a dataset with values")
    if data.file.filename != file.filename or data.external or data.is_virtual:
        raise GraphFileError(f"{path}: {name}: its data lies outside the file")
    stored = min(data.id.get_storage_size(), os.path.getsize(file.filename))
    declared = data.size * data.dtype.itemsize
    chunk = prod(data.chunks) * data.dtype.itemsize if data.chunks else 0
    if max(declared, chunk) > stored * (_EXPANSION if data.chunks else 1) + _SMALL:
        raise GraphFileError(f"{path}: {name}: declares {declared} bytes, but only {stored} are stored")
    return data


def _samples(path: object, file: h5py.File) -> int:
    value = file.attrs.get("samples_per_step", 1)
    if not isinstance(value, (int, np.integer)) or value < 1:
        raise GraphFileError(f"{path}: attribute 'samples_per_step': expected a positive integer")
    return int(value)


def _integers(path: object, file: h5py.File, name: str, length: int | None = None, default: int | None = None) -> np.ndarray:
    if name not in file:
        if default is None:
            raise GraphFileError(f"{path}: dataset {name} is missing")
        return np.full(length or 0, default, dtype=np.int64)
    data = _dataset(path, file, name)
    if not np.issubdtype(data.dtype, np.integer) or data.ndim != 1 or (length is not None and len(data) != length):
        raise GraphFileError(f"{path}: {name}: expected {'' if length is None else length} integers, found {data.dtype} of shape {data.shape}")
    values = data[...]
    if values.dtype.kind == "u" and values.dtype.itemsize == 8 and len(values) and values.max() > np.iinfo(np.int64).max:
        raise GraphFileError(f"{path}: {name}: a value does not fit 63 bits")
    converted: np.ndarray = values.astype(np.int64)
    return converted


def _names(path: object, file: h5py.File, nodes: int) -> list[str]:
    if "/nodes/name_offsets" not in file:
        return [str(n) for n in range(nodes)]
    offsets = _integers(path, file, "/nodes/name_offsets", nodes + 1).tolist()
    if "/nodes/name_bytes" not in file or _dataset(path, file, "/nodes/name_bytes").dtype != np.uint8:
        raise GraphFileError(f"{path}: /nodes/name_bytes: expected bytes")
    raw = file["/nodes/name_bytes"][...].tobytes()
    if offsets[0] != 0 or offsets[-1] != len(raw) or any(a > b for a, b in zip(offsets, offsets[1:])):
        raise GraphFileError(f"{path}: /nodes/name_offsets: expected offsets that rise from 0 to {len(raw)}, the length of /nodes/name_bytes")
    return [raw[offsets[n]:offsets[n + 1]].decode("utf-8", errors="replace") for n in range(nodes)]


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
