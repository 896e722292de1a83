"""What is wrong with files and options is one line; ranks that differ or are too few end with it, all of them."""

from __future__ import annotations

import functools

import pytest

torch = pytest.importorskip("torch")

from runtime_support import finish, function, partition, random_placement, run_ranks, start_ranks  # noqa: E402

from pardnn.graph_file import write_graph  # noqa: E402
from pardnn.run import _bytes, _call, main  # noqa: E402
from pardnn.runtime.options import Options  # noqa: E402
from pardnn.runtime.prepare import prepare  # noqa: E402
from pardnn.runtime.ranks import Ranks  # noqa: E402


@pytest.fixture(scope="module")
def files(graphs, tmp_path_factory, pardnn_binary):
    """A graph, its placement on two devices, and what goes wrong beside them."""
    folder = tmp_path_factory.mktemp("errors")
    path, graph = graphs("gpt_sgd")
    other, other_graph = graphs("resnet_sgd")
    partition(pardnn_binary, path, 2, folder / "p.h5")
    partition(pardnn_binary, path, 2, folder / "p.json")
    random_placement(graph, 2, 1, folder / "p.tsv")
    random_placement(graph, 2, 2, folder / "q.tsv")
    partition(pardnn_binary, other, 2, folder / "other.h5")
    random_placement(other_graph, 2, 1, folder / "other.tsv")
    lines = (folder / "p.tsv").read_text().splitlines(keepends=True)
    (folder / "renamed.tsv").write_text("".join(["x" + lines[0], *lines[1:]]))
    view = next(n for n in range(graph.num_nodes) if graph.alias[n] >= 0)
    name, device = lines[view].rstrip().split("\t")
    (folder / "split.tsv").write_text("".join([*lines[:view], f"{name}\t{1 - int(device)}\n", *lines[view + 1:]]))
    (folder / "word.tsv").write_text(lines[0].split("\t")[0] + "\tgpu0\n")
    (folder / "none.h5").write_bytes(b"none")
    (folder / "bad.json").write_text("{}")
    write_graph(folder / "no_program.h5", graph)
    (folder / "garbage.pt").write_bytes(b"none")
    torch.save({"wte.weight": torch.zeros(3)}, folder / "short.pt")
    torch.save([1], folder / "list.pt")
    (folder / "empty").mkdir()
    return {**{f.name: str(f) for f in folder.iterdir()}, "graph": str(path), "other_graph": str(other)}


TABLE = [
    ({"placement": "other.h5"}, "nodes; is it of another graph"),
    ({"placement": "other.tsv"}, "is it of another graph"),
    ({"placement": "renamed.tsv"}, "is not placed; is it of another graph"),
    ({"placement": "split.tsv"}, "is a view of .* but on another device"),
    ({"placement": "word.tsv"}, "word.tsv:1: expected name<TAB>device index"),
    ({"placement": "none.h5"}, "not an HDF5 file"),
    ({"placement": "bad.json"}, "not a placement in JSON"),
    ({"placement": "missing.h5"}, "missing.h5: no such file"),
    ({"placement": "p.txt"}, "ends in .h5, .tsv or .json"),
    ({"placement": "graph"}, "'format' is not 'pardnn-placement'"),
    ({"graph": "no_program.h5"}, "holds no program"),
    ({"graph": "none.h5"}, "not an HDF5 file"),
    ({"replicas": 2}, "needs 4 ranks \\(2 devices x 2 replicas\\), there are 2"),
    ({"backend": "nccl"}, "has no GPU"),
    ({"state": "garbage.pt"}, "garbage.pt"),
    ({"state": "list.pt"}, "expected a dict, found list"),
    ({"state": "empty"}, "a folder without rank0.pt"),
    ({"state": "missing.pt"}, "missing.pt: no such file"),
    ({"save": "missing/state.pt"}, "its folder does not exist"),
    ({"data": function("nothing")}, "no function 'nothing'"),
    ({"model": "missing.py:gpt"}, "no such file"),
    ({"model": function("raises")}, r"--model: .*runtime_models.py:\d+ .*KeyError: 'no such model'"),
    ({"model": function("leaves")}, "--model: .*SystemExit: 5"),
    ({"data": function("number")}, "--data: expected a function that yields .*, it returned int"),
    ({"save": "/dev/null"}, "it is a folder or a device"),
]


@pytest.mark.parametrize(("changed", "message"), TABLE, ids=[m for _, m in TABLE])
def test_what_is_wrong_is_said(files, changed, message):
    if torch.cuda.is_available() and "backend" in changed:
        pytest.skip("there is a GPU")
    given = {"graph": "graph", "placement": "p.h5", **changed}
    told = {k: files.get(v, v) if k in ("graph", "placement", "state") else functools.partial(_call, v, []) if k in ("data", "model") else v
            for k, v in given.items()}
    with pytest.raises((ValueError, OSError), match=message) as caught:
        prepare(Options(**told), Ranks(0, 2, 0))
    assert "\n" not in str(caught.value)


def test_fingerprints_differ_although_names_do_not(files, graphs, tmp_path):
    """A graph with other costs is another graph."""
    import dataclasses

    from pardnn.runtime.placement import read_placement

    _, graph = graphs("gpt_sgd")
    changed = dataclasses.replace(graph, comp=graph.comp + 1)
    for name in ("p.h5", "p.json"):
        read_placement(files[name], graph)
        with pytest.raises(ValueError, match="is for another graph \\(fingerprint"):
            read_placement(files[name], changed)


def test_all_ranks_end_with_one_line(files, tmp_path):
    """The error of files on every rank, then of one rank alone."""
    found = run_ranks(tmp_path, 2, graph=files["graph"], placement=files["other.tsv"])
    assert found.codes == [3, 3]
    assert found.err[0].count("\n") == 1 and "is it of another graph" in found.err[0] and not found.err[1]
    good = {"graph": files["graph"], "placement": files["p.tsv"], "model": function("gpt_sgd")}
    found = finish(start_ranks(tmp_path, 2, [good, {**good, "placement": "missing.tsv"}]))
    assert found.codes == [3, 3]
    assert found.err == ["pardnn.run: rank 1: missing.tsv: no such file\n", ""]


@pytest.mark.parametrize(("changed", "message"), [
    ({"seed": 1}, "ranks disagree on --seed: rank 0 has 0, rank 1 has 1"), ({"placement": "q.tsv"}, "ranks disagree on the placement: rank 0 has "),
    ({"steps": 3}, "ranks disagree on --steps")])
def test_ranks_that_disagree_end(files, changed, message, tmp_path):
    good = {"graph": files["graph"], "placement": files["p.tsv"], "model": function("gpt_sgd")}
    other = {k: files.get(v, v) for k, v in changed.items()}
    found = finish(start_ranks(tmp_path, 2, [good, {**good, **other}]))
    assert found.codes == [3, 3]
    assert message in found.err[0] and not found.err[1]


@pytest.mark.parametrize(("data", "state", "message"), [
    ("short_batches", None, r"input/tokens: expected shape \[2, 6\], found \[4, 5\]"), ("tokens", None, r"expected shape \[2, 6\], found \[4, 6\]"),
    ("tokens", "short.pt", r"wte.weight: expected shape \[50, 16\], found \[3\]")])
def test_wrong_batches_and_states_end_all_ranks(files, data, state, message, tmp_path):
    import re

    found = run_ranks(tmp_path, 2, graph=files["graph"], placement=files["p.tsv"], model=function("gpt_sgd"), data=function(data),
                      state=files[state] if state else None)
    assert found.codes == [3, 3]
    assert re.search(message, found.err[0]), found.err[0]


def test_a_wrong_batch_of_one_rank_ends_all(files, tmp_path):
    good = {"graph": files["graph"], "placement": files["p.tsv"], "model": function("gpt_sgd"), "data": function("halves")}
    found = finish(start_ranks(tmp_path, 2, [good, {**good, "data": function("short_batches")}]))
    assert found.codes == [3, 3]
    assert found.err[0].startswith("pardnn.run: rank 1: --data: input/tokens: expected shape [2, 6]") and not found.err[1]


def test_command_line(files, capsys):
    assert main([files["graph"], files["p.tsv"], "--launch", "0"]) == 3
    assert main([files["graph"], files["p.tsv"], "--steps", "-1"]) == 3
    assert main([files["graph"], files["p.tsv"], "--bucket", "much"]) == 3
    for option in ("--timeout", "--heartbeat"):
        for value in ("-1", "nan", "inf", "0.001" if option == "--heartbeat" else "0"):
            assert main([files["graph"], files["p.tsv"], f"{option}={value}"]) == 3
    assert capsys.readouterr().err.count("\n") == 11
    assert [_bytes("--bucket", t) for t in ("7", "25MB", "1.5KiB", "2 GiB")] == [7, 25 * 10**6, 1536, 2 << 30]
