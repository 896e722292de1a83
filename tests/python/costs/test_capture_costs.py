"""A captured step with each kind of costs, from the command line."""

from __future__ import annotations

import json

import pytest
from costs_support import operation, write_trace
from pardnn.graph_file import read_graph

pytest.importorskip("torch")

MODEL = """
import torch

def step():
    module = torch.nn.Sequential(torch.nn.Embedding(20, 16), torch.nn.Linear(16, 20))
    loss = lambda m, x, y: torch.nn.functional.cross_entropy(m(x), y)
    return module, loss, (torch.zeros(8, dtype=torch.int64), torch.ones(8, dtype=torch.int64)), lambda p: torch.optim.SGD(p, 0.1)
"""
FORWARD = "aten::addmm", [[20], [8, 16], [16, 20], [], []]


@pytest.fixture
def capture(tmp_path, capsys):
    from pardnn.capture_torch import main

    (tmp_path / "costs_test_model.py").write_text(MODEL)

    def run(costs: str) -> tuple[int, str, str]:
        code = main([f"{tmp_path / 'costs_test_model.py'}:step", "-o", str(tmp_path / "g.h5"), "--costs", costs])
        return code, *capsys.readouterr()

    return run


def comp(graph, op: str) -> list[int]:
    return [int(graph.comp[n]) for n in range(graph.num_nodes) if graph.op_name(n) == op]


def test_times_of_a_trace_are_in_the_graph_and_coverage_is_printed(capture, tmp_path):
    trace = write_trace(tmp_path / "t.json", [operation(FORWARD[0], 0, 321, FORWARD[1], id=1)])
    code, out, _ = capture(f"trace:{trace}:roofline:H100")
    assert code == 0 and " 1 of " in out and "measured" in out and "modelled" in out
    assert comp(read_graph(tmp_path / "g.h5"), "aten::addmm") == [321_000]


def test_a_foreign_trace_writes_no_graph(capture, tmp_path):
    trace = write_trace(tmp_path / "t.json", [operation("aten::relu", 0, 321, [[3, 3]], id=1)])
    code, _, err = capture(f"trace:{trace}")
    assert code == 3 and "holds none of the" in err and len(err.splitlines()) == 1
    assert not (tmp_path / "g.h5").exists()


def test_measured_times_come_from_the_cache_the_second_time(capture, tmp_path):
    cache = tmp_path / "cache.json"
    code, out, _ = capture(f"measured:cpu:{cache}")
    assert code == 0 and "guessed 0.0 % of 17 nodes" in out
    first = read_graph(tmp_path / "g.h5")
    assert json.loads(cache.read_text())["devices"]
    _, out, _ = capture(f"measured:cpu:{cache}")
    assert " 0 operations run now" in out
    assert read_graph(tmp_path / "g.h5").comp.tolist() == first.comp.tolist()
