"""From graph file to table: placements drawn, emulated, and run on two processes; and what is wrong is one line."""

from __future__ import annotations

import csv
import json
import pathlib
import types

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pardnn import fidelity  # noqa: E402
from pardnn.costs import cost_model  # noqa: E402
from pardnn.fidelity_run import profile  # noqa: E402
from pardnn.graph import GraphBuilder  # noqa: E402
from pardnn.graph_file import write_graph  # noqa: E402
from pardnn.torch_step.capture import capture_step  # noqa: E402
from pardnn.torch_step.step import Step  # noqa: E402


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A captured perceptron, a graph without a program, a machine."""
    folder = tmp_path_factory.mktemp("fidelity")
    module = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    step = Step(module, lambda m, x, y: (m(x) - y).square().mean(), (torch.randn(6, 8), torch.randn(6, 4)), lambda p: torch.optim.SGD(p, lr=0.1))
    capture_step(step, cost_model("roofline:V100")).write(folder / "g.h5")
    builder = GraphBuilder()
    builder.node("n", op="x")
    write_graph(folder / "plain.h5", builder.build())
    (folder / "m.json").write_text(json.dumps({"name": "m", "devices": [{"count": 2, "memory": "1GiB", "name": "d{i}"}],
                                               "links": {"same_host": {"latency": "20us", "bandwidth": "2GB/s"}}}))
    return folder


@pytest.fixture
def paths(files, pardnn_binary, monkeypatch):
    monkeypatch.setenv("PARDNN", pardnn_binary)
    monkeypatch.setenv("PYTHONPATH", str(pathlib.Path(fidelity.__file__).parents[1]))
    return files


@pytest.mark.parametrize("profiled", [False, True])
def test_a_table_of_a_small_step(paths, profiled, tmp_path, capsys):
    told = [str(paths / "g.h5"), "--machine", str(paths / "m.json"), "--placements", "12", "--rounds", "1", "--steps", "2", "-o", str(tmp_path / "t.csv"),
            "--md", str(tmp_path / "t.md"), *(["--profile"] if profiled else [])]
    assert fidelity.main(told) == 0, capsys.readouterr().err
    rows = list(csv.DictReader((tmp_path / "t.csv").open()))
    assert len(rows) == 12 and {"baseline", "search"} <= {r["kind"] for r in rows}
    assert all(float(r["measured_ms"]) >= float(r["measured_least_ms"]) > 0 and float(r["emulated_ms"]) > 0 and r["steps"] == "2" for r in rows)
    assert all(0 < float(r["core_ms"]) for r in rows)
    single = next(r for r in rows if r["placement"] == "single")
    assert float(single["core_ms"]) == pytest.approx(float(single["cpu_ms_0"]), rel=0.5), "nothing to wait for"
    assert single["values_sent"] == "0" and single["emulated_peak_1"] == single["live_peak_1"] == "0"
    assert abs(int(single["emulated_peak_0"]) - int(single["live_peak_0"])) <= 8, "a copy of the loss"
    assert all((r["as_captured_ms"] != "") == profiled for r in rows)
    if profiled:
        assert float(single["as_captured_ms"]) < 0.5 * float(single["emulated_ms"]), "a CPU in Python is slower than the V100 of the file's costs"
        assert 0.2 < float(single["emulated_ms"]) / float(single["core_ms"]) < 5, "one process alone: the same work by the same clock"
    assert "latency 20.0 us, bandwidth 2.00 GB/s" in (tmp_path / "t.md").read_text()
    assert "rank correlation (Spearman)" in capsys.readouterr().out


@pytest.mark.parametrize(("changed", "message"), [
    (["--devices", "1"], "--devices 1: expected at least 2"),
    (["--placements", "1"], "--placements 1: expected at least 2"),
    (["--md", "missing/t.md"], "missing/t.md: its folder does not exist"),
    (["--devices", "3"], "m.json: has 2 devices, --devices says 3"),
    (["--machine", "nowhere.json"], "nowhere.json"),
    (["plain"], "plain.h5: holds no program"),
    (["none"], "none.h5"),
])
def test_what_is_wrong_is_one_line(paths, changed, message, tmp_path, capsys):
    graph = paths / f"{changed[0] if len(changed) == 1 else 'g'}.h5"
    told = [str(graph), "-o", str(tmp_path / "t.csv"), "--machine", str(paths / "m.json"), *(changed if len(changed) > 1 else [])]
    assert fidelity.main(told) == 3
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and error.startswith("pardnn.fidelity: ")
    assert not list(tmp_path.iterdir())


def test_a_node_lasts_until_the_next_one_starts(monkeypatch, tmp_path):
    clock = iter([1.0, 1.5, 1.6, 5.0, 5.2, 5.9, 9.0, 9.25, 9.55])
    monkeypatch.setattr(profile, "time", types.SimpleNamespace(thread_time=lambda: next(clock)))
    runner = types.SimpleNamespace(run_node=lambda node, values: [node])
    found = profile.Profile(types.SimpleNamespace(num_nodes=4))
    found.watch(runner)
    for _ in range(3):
        assert runner.run_node(2, {}) == [2] and runner.run_node(0, {}) == [0]
        found.step_over()
    found.write(tmp_path)
    expected = np.array([300_000_000, 0, 250_000_000, 0])  # medians of 0.1, 0.7, 0.3 s and of 0.5, 0.2, 0.25 s
    assert (abs(profile.read_profile(tmp_path) - expected) <= 1).all()
