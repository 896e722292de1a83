"""Measurements as machine files that the program accepts: classes of links, equal devices, matrices."""

from __future__ import annotations

import json
import pathlib
import subprocess

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pardnn.graph import GraphBuilder  # noqa: E402
from pardnn.graph_file import write_graph  # noqa: E402
from pardnn.machine.fit import Link  # noqa: E402
from pardnn.machine.machine_file import link_classes, machine_devices, machine_document, machine_text, relative_speeds  # noqa: E402
from pardnn.machine.measure import DeviceFacts  # noqa: E402
from pardnn.machine.table import device_lines, link_lines  # noqa: E402
from pardnn.runtime.links import Machine  # noqa: E402
from pardnn.atomic_file import write_text  # noqa: E402


def facts(host: str, seconds: float = 0.01, model: str = "A", shared: bool = True, boot: str = "") -> DeviceFacts:
    return DeviceFacts(host, boot, "cpu" if shared else "gpu", model, 1001, "host", shared, seconds, 512)


def links(devices: int, per_host: int, cross: float = 1e9) -> dict[tuple[int, int], Link]:
    inside, outside = Link(2e-6, 10e9, 0.0), Link(20e-6, cross, 0.0)
    return {(p, q): inside if p // per_host == q // per_host else outside for p in range(devices) for q in range(devices) if p != q}


def partitioned(binary: str, folder: pathlib.Path, text: str) -> dict[str, object]:
    """The result of the program on this machine file; it is refused if the machine is wrong."""
    builder = GraphBuilder("two")
    builder.edge(builder.node("a", op="x", comp=1000, mem=10), builder.node("b", op="x", comp=1000, mem=10), 10)
    write_graph(folder / "g.h5", builder.build())
    write_text(folder / "m.json", text)
    done = subprocess.run([binary, "partition", str(folder / "g.h5"), "--machine", str(folder / "m.json"), "--preset", "fast", "-q", "--json", "-",
                           "-o", str(folder / "p.h5")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_hosts_share_their_memory_and_number_their_devices() -> None:
    devices = machine_devices([facts("n1"), facts("n1"), facts("n2"), facts("n1", shared=False)], 0.2)
    assert [(d.name, d.host, d.memory) for d in devices] == [("n1/cpu0", 0, 333), ("n1/cpu1", 0, 333), ("n2/cpu0", 1, 1001), ("n1/gpu2", 0, 1001)]
    twins = machine_devices([facts("localhost", boot="x"), facts("localhost", boot="y")], 0.2)
    assert [(d.name, d.host) for d in twins] == [("localhost-0/cpu0", 0), ("localhost-1/cpu0", 1)]


def test_speeds_are_relative_and_equal_models_are_equal() -> None:
    assert relative_speeds([facts("n", 0.010), facts("n", 0.011)], 0.2) == [1.0, 1.0]
    assert relative_speeds([facts("n", 0.010), facts("n", 0.020)], 0.2) == [1.0, 0.5]
    assert relative_speeds([facts("n", 0.010, "A"), facts("n", 0.0101, "A"), facts("n", 0.02, "B")], 0.2) == [1.0, 1.0, 0.502]


def test_links_by_host(pardnn_binary: str, tmp_path: pathlib.Path) -> None:
    devices = machine_devices([facts("n1"), facts("n1"), facts("n2"), facts("n2")], 0.2)
    document = machine_document("m", "c", devices, links(4, 2), by_host=True)
    assert document["links"] == {"same_host": {"latency": 2000, "bandwidth": 10**10}, "cross_host": {"latency": 20000, "bandwidth": 10**9}}
    assert link_classes(devices, links(4, 2)).apart == pytest.approx(0)
    result = partitioned(pardnn_binary, tmp_path, machine_text(document))
    assert result["machine"] == {"name": "m", "devices": 4, "headroom": 0.1}
    assert [d["name"] for d in result["devices"]] == ["n1/cpu0", "n1/cpu1", "n2/cpu0", "n2/cpu1"]  # type: ignore[attr-defined]
    assert result["devices"][0]["capacity_bytes"] == 500  # type: ignore[index]


def test_links_of_pairs(pardnn_binary: str, tmp_path: pathlib.Path) -> None:
    devices = machine_devices([facts("n1")] * 3, 0.2)
    uneven = links(3, 3) | {(0, 2): Link(2e-6, 5e9, 0.0)}
    assert link_classes(devices, uneven).apart == pytest.approx((2e-6 + 2**24 / 5e9) / (2e-6 + 2**24 / 10e9) - 1)
    document = machine_document("m", "c", devices, uneven, by_host=False)
    assert document["links"]["latency_ns"][1] == [2000, 0, 2000]
    assert document["links"]["bandwidth_bytes_per_s"][0] == [0, 10**10, 5 * 10**9]
    assert json.loads(machine_text(document)) == document
    partitioned(pardnn_binary, tmp_path, machine_text(document))


@pytest.mark.filterwarnings("error")
def test_the_runtime_reads_the_same_links() -> None:
    devices = machine_devices([facts("n1")] * 2 + [facts("n2")], 0.2)
    for by_host in (True, False):
        read = Machine.parse(machine_text(machine_document("m", "c", devices, links(3, 2), by_host)))
        sizes, sources, targets = (np.array(values) for values in ([10**6, 10**6, 10**6, 0], [0, 0, 1, 0], [0, 1, 2, 2]))
        assert read.cost(sizes, sources, targets).tolist() == [0, 2000 + 100_000, 20_000 + 1_000_000, 20_000]


def test_one_device_needs_no_links(pardnn_binary: str, tmp_path: pathlib.Path) -> None:
    document = machine_document("m", "c", machine_devices([facts("n1")], 0.2), {}, by_host=True)
    assert "links" not in document
    partitioned(pardnn_binary, tmp_path, machine_text(document))


def test_a_failed_write_leaves_the_old_file(tmp_path: pathlib.Path) -> None:
    target = tmp_path / "m.json"
    write_text(target, "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(target, "\ud800")
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]


def test_the_table_lists_pairs_where_there_are_few() -> None:
    few = machine_devices([facts("n1")] * 2 + [facts("n2")], 0.2)
    lines = list(link_lines(few, links(3, 2)))
    assert len(lines) == 3 + 1 + 6 and lines[1].split()[:3] == ["same", "host", "2"] and lines[2].split()[:3] == ["other", "host", "4"]
    assert lines[4].split() == ["0", "1", "2.00", "10.000", "0", "%"]
    many = machine_devices([facts("n1")] * 9, 0.2)
    assert len(list(link_lines(many, links(9, 9)))) == 2
    assert len(list(device_lines([facts("n1")] * 9, many))) == 10
