"""What a rank holds is what the emulated run of its placement says, and the emulation is that of the partitioner."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from runtime_support import function, partition, random_placement, run_ranks  # noqa: E402

from pardnn.graph import GraphBuilder  # noqa: E402
from pardnn.runtime.fingerprint import fingerprint, xxh3_128  # noqa: E402
from pardnn.runtime.memory import peaks  # noqa: E402
from pardnn.runtime.placement import read_placement  # noqa: E402
from pardnn.runtime.schedule import in_order  # noqa: E402

MODELS = ("gpt", "resnet", "rnn", "experts")


def evaluated(binary, graph, placement, *options):
    told = subprocess.run([binary, "evaluate", str(graph), str(placement), *options, "--threads", "1", "-q", "--json", "-"], check=True, capture_output=True)
    return json.loads(told.stdout)


@pytest.mark.parametrize("devices", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_emulation_is_the_partitioners(name, devices, graphs, pardnn_binary, tmp_path):
    """Makespan and peaks to the nanosecond and byte: from an order in the file, computed for a file without, and with sending ports."""
    path, graph = graphs(name)
    for links in ("free", "ports"):
        target = tmp_path / f"{links}.h5"
        subprocess.run([pardnn_binary, "partition", str(path), "--devices", str(devices), "--links", links, "--threads", "1", "-q", "-o", str(target)],
                       check=True)
        found, expected = read_placement(target, graph), evaluated(pardnn_binary, path, target)
        assert not found.computed
        assert found.schedule.makespan == expected["makespan_ns"]
        assert peaks(graph, found.device, found.schedule, devices) == [d["peak_bytes"] for d in expected["devices"]]
    target = random_placement(graph, devices, 7, tmp_path / "p.tsv")
    found, expected = read_placement(target, graph), evaluated(pardnn_binary, path, target, "--devices", str(devices))
    assert found.computed
    assert found.schedule.makespan == expected["makespan_ns"]
    assert peaks(graph, found.device, found.schedule, devices) == [d["peak_bytes"] for d in expected["devices"]]
    again = in_order(graph, found.device, found.machine, found.schedule.order)
    assert (again.start <= found.schedule.start).all(), "the same order, without waiting for the queue"


def test_speeds_and_hosts_of_a_machine(graphs, pardnn_binary, tmp_path):
    path, graph = graphs("gpt")
    machine = {"name": "m", "devices": [{"count": 2, "host": 0, "memory": "1GiB", "speed": 1.0, "name": "a{i}"},
                                        {"count": 1, "host": 1, "memory": "1GiB", "speed": 0.7, "name": "b{i}"}],
               "links": {"same_host": {"latency": "1us", "bandwidth": "100GB/s"}, "cross_host": {"latency": "12us", "bandwidth": "3GB/s"}}}
    (tmp_path / "m.json").write_text(json.dumps(machine))
    subprocess.run([pardnn_binary, "partition", str(path), "--machine", str(tmp_path / "m.json"), "-q", "-o", str(tmp_path / "p.h5")], check=True)
    found, expected = read_placement(tmp_path / "p.h5", graph), evaluated(pardnn_binary, path, tmp_path / "p.h5")
    assert found.schedule.makespan == expected["makespan_ns"]
    assert peaks(graph, found.device, found.schedule, 3) == [d["peak_bytes"] for d in expected["devices"]]


@pytest.mark.parametrize("name", MODELS)
def test_fingerprint_is_the_partitioners(name, graphs, pardnn_binary):
    path, graph = graphs(name)
    told = subprocess.run([pardnn_binary, "info", str(path), "--json", "-"], check=True, capture_output=True).stdout
    assert fingerprint(graph) in told.decode()


@pytest.mark.parametrize("nodes", [5, 9, 40, 4000])
def test_fingerprints_of_all_lengths(nodes, pardnn_binary, tmp_path):
    """Around the ends of stripes and blocks of the hash."""
    from pardnn.graph_file import write_graph

    draw = np.random.default_rng(nodes)
    for extra in range(4):
        builder = GraphBuilder()
        for n in range(nodes + extra):
            builder.node(f"n{n}", op="x", comp=int(draw.integers(1 << 40)), mem=int(draw.integers(1 << 40)))
            if n:
                builder.edge(int(draw.integers(n)), n, int(draw.integers(1 << 40)))
        graph = builder.build()
        write_graph(tmp_path / "g.h5", graph)
        told = subprocess.run([pardnn_binary, "info", str(tmp_path / "g.h5"), "--json", "-"], check=True, capture_output=True).stdout
        assert str(fingerprint(graph)) in told.decode()


def test_hash_of_known_bytes():
    """XXH3-128 of the bytes 0 to 255, four times; its change by one bit."""
    data = bytes(range(256)) * 4
    assert xxh3_128(data) != xxh3_128(data[:-1] + b"\0")
    assert len(xxh3_128(data)) == 32


@pytest.mark.parametrize(("name", "devices"), [*((name, 2) for name in MODELS), ("gpt", 4), ("resnet", 4)])
def test_live_bytes_are_the_emulated_peak(name, devices, graphs, pardnn_binary, tmp_path):
    """Emulated peaks are within 10 % of the bytes that a rank held, and not below them by more than 5 %; random placements on four devices."""
    path, graph = graphs(name)
    placement = partition(pardnn_binary, path, 2, tmp_path / "p.h5") if devices == 2 else random_placement(graph, devices, 1, tmp_path / "p.tsv")
    found = run_ranks(tmp_path, devices, graph=str(path), placement=str(placement), steps=4, model=function(name), log=str(tmp_path / "log"),
                      data=function("images" if name == "resnet" else "tokens"))
    assert found.codes == [0] * devices, found.err
    for rank in range(devices):
        first, *_, last = [json.loads(line) for line in (tmp_path / f"log/rank{rank}.jsonl").read_text().splitlines()]
        above = 1.10 if devices == 2 else 1.30  # a random placement's small values arrive sooner than emulated: they are held for less time
        assert 0.95 * last["peak_bytes"] <= first["emulated_peak_bytes"] <= above * last["peak_bytes"]
        assert last["peak_bytes"] <= 1.01 * (first["emulated_peak_bytes"] + first["waiting_bytes"]), "slices are copied to be sent, the loss is kept"
        assert last["mean_ms"] > 0 and last["steady_steps"] == 1
