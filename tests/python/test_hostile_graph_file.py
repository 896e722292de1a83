"""A graph file is hostile until read: sizes are held against the file, and data lies inside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from pardnn import GraphBuilder, GraphFileError, read_graph, write_graph
from pardnn.graph_file import read_extra


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A good file with a program."""
    builder = GraphBuilder("g")
    nodes = [builder.node(f"n{i}", op="aten::add", comp=5, mem=64) for i in range(4)]
    for a, b in zip(nodes, nodes[1:]):
        builder.edge(a, b, 64)
    write_graph(tmp_path / "g.h5", builder.build(), extra={"program": b"{}" * 1000})
    return tmp_path / "g.h5"


def replaced(name: str, **declared: object) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        del file[name]
        file.create_dataset(name, **declared)

    return change


def external_link(file: h5py.File) -> None:
    del file["program"]
    file["program"] = h5py.ExternalLink("other.h5", "/program")


def group_for_data(file: h5py.File) -> None:
    del file["program"]
    file.create_group("program")


def virtual(file: h5py.File) -> None:
    del file["program"]
    layout = h5py.VirtualLayout(shape=(10,), dtype=np.uint8)
    layout[:] = h5py.VirtualSource("other.h5", "program", shape=(10,))
    file.create_virtual_dataset("program", layout)


def attribute(name: str, value: object) -> Callable[[h5py.File], None]:
    return lambda file: file.attrs.__setitem__(name, value)


def value(name: str, at: int, now: int) -> Callable[[h5py.File], None]:
    return lambda file: file[name].__setitem__(at, now)


HOSTILE = {
    "endless program": (replaced("program", shape=(1 << 50,), dtype=np.uint8, chunks=(1 << 20,)), "program: declares"),
    "endless nodes": (replaced("/nodes/comp", shape=(1 << 50,), dtype=np.int64, chunks=(1 << 16,)), "/nodes/comp: declares"),
    "endless rows": (replaced("/edges/indptr", shape=(1 << 50,), dtype=np.int64, chunks=(1 << 16,)), "/edges/indptr: declares"),
    "large chunk": (replaced("/nodes/mem", shape=(4,), dtype=np.int64, chunks=(1 << 27,), maxshape=(None,)), "/nodes/mem: declares"),
    "text outside": (replaced("program", shape=(10,), dtype=np.uint8, external=[("secret.txt", 0, 10)]), "program: its data lies outside"),
    "link outside": (external_link, "program: a link to another file"),
    "virtual": (virtual, "program: its data lies outside"),
    "group": (group_for_data, "program: expected a dataset"),
    "numbers for bytes": (replaced("program", data=np.zeros(4)), "program: expected bytes"),
    "no values": (replaced("/nodes/mem", data=h5py.Empty(np.int64)), "/nodes/mem: expected a dataset"),
    "real numbers": (replaced("/nodes/mem", data=np.zeros(4)), "/nodes/mem: expected 4 integers"),
    "beyond 63 bits": (replaced("/nodes/mem", data=np.full(4, 2**64 - 1, dtype=np.uint64)), "/nodes/mem: a value does not fit"),
    "rows fall": (value("/edges/indptr", 1, 3), "/edges/indptr: expected row pointers"),
    "rows without end": (value("/edges/indptr", 4, 1 << 60), "/edges/indices"),
    "edge to nowhere": (value("/edges/indices", 0, 9), "/edges/indices: value 9 at 0"),
    "operation of no name": (value("/nodes/op", 2, 1), "/nodes/op: value 1 at 2"),
    "negative time": (value("/nodes/comp", 2, -1), "/nodes/comp: value -1 at 2"),
    "names overlap": (value("/nodes/name_offsets", 2, 1 << 40), "/nodes/name_offsets"),
    "no samples": (attribute("samples_per_step", 0), "attribute 'samples_per_step'"),
    "samples in words": (attribute("samples_per_step", "many"), "attribute 'samples_per_step'"),
}


@pytest.mark.parametrize(("change", "message"), HOSTILE.values(), ids=HOSTILE)
def test_what_a_file_declares_is_checked(path: Path, change: Callable[[h5py.File], None], message: str) -> None:
    (path.parent / "secret.txt").write_text("0123456789")
    with h5py.File(path, "r+") as file:
        change(file)
    with pytest.raises(GraphFileError) as error:
        read_graph(path)
        read_extra(path, "program")
    assert f"{path}: {message}" in str(error.value) and "\n" not in str(error.value)


def test_a_file_cut_anywhere_is_refused_by_name(path: Path) -> None:
    whole = path.read_bytes()
    read_graph(path)
    for length in range(0, len(whole), 331):
        path.write_bytes(whole[:length])
        with pytest.raises(GraphFileError, match="g.h5"):
            read_graph(path)


def test_damaged_bytes_are_refused_or_harmless(path: Path) -> None:
    whole = path.read_bytes()
    draw = np.random.default_rng(1)
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[int(draw.integers(len(whole)))] = int(draw.integers(256))
        path.write_bytes(damaged)
        try:
            read_graph(path)
            read_extra(path, "program")
        except GraphFileError as error:
            assert str(path) in str(error) and "\n" not in str(error)


@pytest.mark.parametrize("name", ["absent.h5", "."])
def test_no_file(tmp_path: Path, name: str) -> None:
    for read in (read_graph, lambda p: read_extra(p, "program")):
        with pytest.raises(GraphFileError, match="no such file|a folder"):
            read(tmp_path / name)
