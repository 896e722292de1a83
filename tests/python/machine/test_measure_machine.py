"""The command itself: ranks of its own launcher and of mpirun, a lost rank, wrong options."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

torch = pytest.importorskip("torch")

from pardnn.machine.fit import Link  # noqa: E402
from pardnn.measure_machine import _doubts, main  # noqa: E402

QUICK = ["--largest", "1", "--repeats", "3", "--small", "20", "--matmul", "64"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "pardnn.measure_machine", *map(str, arguments)]


def test_two_ranks_of_the_launcher(pardnn_binary: str, tmp_path: pathlib.Path) -> None:
    machine = tmp_path / "m.json"
    done = subprocess.run(command("--launch", 2, "-o", machine, *QUICK), env=ENVIRONMENT, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    found = json.loads(machine.read_text())
    assert len(found["devices"]) == 2 and {d["host"] for d in found["devices"]} == {0}
    assert max(d["speed"] for d in found["devices"]) == 1.0
    assert len({d["memory"] for d in found["devices"]}) == 1 and f"{found['devices'][0]['memory']:,}" in done.stdout
    assert "in 2 equal parts" in done.stdout and done.stdout.count(" %\n") >= 2
    checked = subprocess.run([pardnn_binary, "partition", "--machine", str(machine), "-q", str(_graph(tmp_path))], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def _graph(folder: pathlib.Path) -> pathlib.Path:
    from pardnn.graph import GraphBuilder
    from pardnn.graph_file import write_graph

    builder = GraphBuilder("one")
    builder.node("a", op="x", comp=1000, mem=10)
    write_graph(folder / "g.h5", builder.build())
    return folder / "g.h5"


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun here")
def test_two_ranks_of_mpirun(tmp_path: pathlib.Path) -> None:
    machine = tmp_path / "m.json"
    told = [*command("-o", machine, *QUICK), "--links", "pairs", "--name", "by hand"]
    done = subprocess.run(["mpirun", "--oversubscribe", "-n", "2", *told], env=ENVIRONMENT, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    found = json.loads(machine.read_text())
    assert found["name"] == "by hand" and len(found["devices"]) == 2
    assert found["links"]["latency_ns"][0][1] > 0 and found["links"]["bandwidth_bytes_per_s"][1][0] > 0


def test_a_lost_rank_ends_all(tmp_path: pathlib.Path) -> None:
    told = command("--launch", 2, "-o", tmp_path / "m.json", "--small", 1_000_000, "--matmul", 64, "--timeout", 60)
    launcher = subprocess.Popen(told, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ranks = _children(launcher.pid, 2)
    time.sleep(1.0)
    os.kill(ranks[1], signal.SIGKILL)
    begin = time.monotonic()
    _, errors = launcher.communicate(timeout=60)
    assert launcher.returncode == 4 and "rank 1 was ended by signal 9" in errors
    assert time.monotonic() - begin < 20
    assert list(tmp_path.iterdir()) == []


def _children(parent: int, count: int) -> list[int]:
    """The ranks, in the order in which they were started."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        if len(found) == count:
            return sorted(map(int, found))
        time.sleep(0.05)
    raise AssertionError(f"no {count} ranks after 60 s")


def test_doubtful_links_are_counted() -> None:
    good, noisy, short = Link(1e-6, 1e9, 0.1), Link(1e-6, 1e9, 0.9), Link(1e-3, 100e9, 0.1)
    assert list(_doubts({(0, 1): good, (1, 0): good}, 1 << 20)) == []
    said = list(_doubts({(0, 1): noisy, (1, 0): short, (0, 2): good}, 1 << 20))
    assert len(said) == 2 and said[0].startswith("1 of 3 links are no line") and "90 %" in said[0]
    assert said[1].startswith("1 of 3 links carry 1,048,576 B") and "--largest" in said[1]


def test_wrong_options_are_one_line(tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["-o", "m.json", "--launch", "0"]) == 3
    told = command("-o", tmp_path / "gone/m.json")
    done = subprocess.run(told, env=ENVIRONMENT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 3 and done.stderr.strip().endswith("gone/m.json: its folder does not exist") and done.stderr.count("\n") == 1
    assert "--launch 0" in capfd.readouterr().err
