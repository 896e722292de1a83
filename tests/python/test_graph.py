"""The builder, the checks, and files written and read again; the partitioner reads them too."""

from __future__ import annotations

import os
import pathlib
import random
import subprocess

import h5py
import numpy as np
import pytest

from pardnn import Graph, GraphBuilder, GraphFileError, Kind, read_graph, write_graph
from pardnn.graph import unique_names
from pardnn.graph_file import read_extra


def diamond() -> GraphBuilder:
    """w (residual) -> a -> {b, c} -> d (writes w)."""
    builder = GraphBuilder("diamond", "by hand")
    w = builder.node("w", op="Variable", mem=100, kind=Kind.RESIDUAL, colocation=0)
    a = builder.node("a", op="mm", comp=5, mem=40, temp=7)
    b = builder.node("b", op="view", alias=a)
    c = builder.node("c", op="mul", comp=2, mem=40)
    d = builder.node("d", op="add_", comp=1, kind=Kind.REFERENCE, alias=w, colocation=0)
    for source, target, size in ((w, a, 100), (a, b, 40), (a, c, 40), (b, d, 40), (c, d, 40), (a, d, 0)):
        builder.edge(source, target, size)
    return builder


def test_edges_are_sorted_and_equal_ones_merged_by_the_greatest() -> None:
    builder = GraphBuilder()
    a, b, c = (builder.node(n, op="x") for n in "abc")
    for source, target, size, output in ((b, c, 3, 0), (a, c, 8, 1), (a, b, 4, 0), (a, b, 9, 0), (a, b, 5, 1), (a, b, 0, 2), (b, c, 0, 0)):
        builder.edge(source, target, size, output)
    graph = builder.build()
    rows = list(zip(graph.source.tolist(), graph.target.tolist(), graph.output.tolist(), graph.bytes.tolist()))
    assert rows == [(a, b, 0, 9), (a, b, 1, 5), (a, c, 1, 8), (b, c, 0, 3)]


def test_several_control_edges_are_one() -> None:
    builder = GraphBuilder()
    a, b = builder.node("a", op="x"), builder.node("b", op="x")
    for output in range(3):
        builder.edge(a, b, 0, output)
    assert builder.build().num_edges == 1


@pytest.mark.parametrize("edges, message", [
    ([(0, 0, 1)], "self loop at 'a'"), ([(0, 5, 1)], "target 5 is no node"), ([(-1, 1, 1)], "source -1 is no node"),
    ([(0, 1, -4)], "negative bytes"), ([(0, 1, 1), (1, 2, 1), (2, 1, 1)], "cycle: ")])
def test_what_is_no_graph_is_refused(edges: list[tuple[int, int, int]], message: str) -> None:
    builder = GraphBuilder()
    for name in "abc":
        builder.node(name, op="x")
    for edge in edges:
        builder.edge(*edge)
    with pytest.raises(ValueError, match=message):
        builder.build()


def test_a_cycle_is_named_along_its_edges() -> None:
    builder = GraphBuilder()
    for name in "abcde":
        builder.node(name, op="x")
    for source, target in ((0, 1), (1, 2), (2, 3), (3, 1), (3, 4)):
        builder.edge(source, target, 1)
    with pytest.raises(ValueError) as error:
        builder.build()
    path = str(error.value).removeprefix("cycle: ").split(" -> ")
    assert sorted(path[:-1]) == ["b", "c", "d"] and path[0] == path[-1]
    assert all((s, t) in {("b", "c"), ("c", "d"), ("d", "b")} for s, t in zip(path, path[1:]))


def test_negative_time_is_refused() -> None:
    builder = GraphBuilder()
    builder.node("slow", op="x", comp=-1)
    with pytest.raises(ValueError, match="node 'slow': negative comp"):
        builder.build()


def test_names_become_unique_and_printable() -> None:
    assert unique_names(["a", "a", "", "a#2", "b\n", "a"]) == ["a", "a#2", "node2", "a#2#2", "b?", "a#3"]


def test_topological_order_of_random_graphs() -> None:
    draw = random.Random(5)
    for _ in range(50):
        nodes = draw.randrange(1, 30)
        labels = list(range(nodes))
        draw.shuffle(labels)
        builder = GraphBuilder()
        for n in range(nodes):
            builder.node(str(n), op="x")
        for _ in range(draw.randrange(0, 60)):
            i, j = sorted(draw.sample(range(nodes), 2)) if nodes > 1 else (0, 0)
            if i != j:
                builder.edge(labels[i], labels[j], 1)
        graph = builder.build()
        place = {node: at for at, node in enumerate(graph.topological_order().tolist())}
        assert len(place) == nodes
        assert all(place[s] < place[t] for s, t in zip(graph.source.tolist(), graph.target.tolist()))


def same(one: Graph, other: Graph) -> bool:
    arrays = ("op", "comp", "mem", "temp", "kind", "colocation", "alias", "fixed", "gradient_of", "source", "target", "bytes", "output")
    return one.names == other.names and one.op_types == other.op_types and all(
        np.array_equal(getattr(one, a), getattr(other, a)) for a in arrays)


def test_written_and_read_again(tmp_path: os.PathLike[str]) -> None:
    graph = diamond().build()
    path = os.path.join(tmp_path, "g.h5")
    write_graph(path, graph, {"program": b"any bytes"})
    assert same(read_graph(path), graph)
    assert read_extra(path, "program") == b"any bytes" and read_extra(path, "nothing") is None
    assert os.listdir(tmp_path) == ["g.h5"]


def test_the_partitioner_reads_it(tmp_path: os.PathLike[str], pardnn_binary: str) -> None:
    path = os.path.join(tmp_path, "g.h5")
    write_graph(path, diamond().build(), {"program": b"x"})
    assert subprocess.run([pardnn_binary, "validate", path], check=False).returncode == 0
    run = subprocess.run([pardnn_binary, "partition", path, "--devices", "2", "--memory", "1GiB", "--json", "-"], capture_output=True, text=True, check=False)
    assert run.returncode == 0 and '"nodes":5' in run.stdout.replace(" ", "").replace("\n", "")


def test_an_empty_graph_is_written_and_accepted(tmp_path: os.PathLike[str], pardnn_binary: str) -> None:
    path = os.path.join(tmp_path, "empty.h5")
    write_graph(path, GraphBuilder().build())
    assert read_graph(path).num_nodes == 0
    assert subprocess.run([pardnn_binary, "validate", path], check=False).returncode == 0


def test_a_failed_write_leaves_the_old_file(tmp_path: os.PathLike[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = os.path.join(tmp_path, "g.h5")
    write_graph(path, diamond().build())
    before = pathlib.Path(path).read_bytes()

    def broken(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="disk full"):
        write_graph(path, GraphBuilder().build())
    assert pathlib.Path(path).read_bytes() == before and os.listdir(tmp_path) == ["g.h5"]


def test_files_that_are_no_graph_are_refused_by_name(tmp_path: os.PathLike[str]) -> None:
    text = os.path.join(tmp_path, "a.txt")
    with open(text, "w", encoding="utf-8") as file:
        file.write("3 2\n")
    with pytest.raises(GraphFileError, match="a.txt: not an HDF5 file"):
        read_graph(text)
    path = os.path.join(tmp_path, "b.h5")
    with h5py.File(path, "w") as file:
        file.attrs["format"] = "other"
    with pytest.raises(GraphFileError, match="'format'"):
        read_graph(path)
    with h5py.File(path, "w") as file:
        file.attrs["format"] = "pardnn-graph"
        file["/edges/indptr"] = np.array([0, 0])
        file["/edges/indices"] = file["/edges/bytes"] = np.zeros(0, np.int64)
        file["/nodes/comp"] = np.array([1.5])
    with pytest.raises(GraphFileError, match="/nodes/comp: expected 1 integers"):
        read_graph(path)
