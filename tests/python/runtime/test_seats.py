"""Ranks of a plan run where it puts them: hosts by name, devices by number; plans get the names of other hosts."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from pardnn import plan_hosts  # noqa: E402
from pardnn.runtime.errors import RunError  # noqa: E402
from pardnn.runtime.plan_file import read_plan  # noqa: E402
from pardnn.runtime.ranks import Ranks  # noqa: E402
from pardnn.runtime.seats import names_of_this_host, seated, seats  # noqa: E402

CLUSTER = {"name": "two hosts", "devices": [{"count": 2, "host": h, "memory": "1GB", "name": f"{h}/{{i}}"} for h in (0, 1)],
           "links": {"same_host": {"latency": "3us", "bandwidth": "10GB/s"}, "cross_host": {"latency": "12us", "bandwidth": "1GB/s"}}}


@pytest.fixture
def plan(graphs: Any, pardnn_binary: str, tmp_path: pathlib.Path) -> pathlib.Path:
    """Two replicas of two devices, one on each of two hosts."""
    (tmp_path / "cluster.json").write_text(json.dumps(CLUSTER))
    subprocess.run([pardnn_binary, "plan", str(graphs("gpt")[0]), "--machine", str(tmp_path / "cluster.json"), "--devices-per-replica", "2", "--preset", "fast",
                    "--threads", "1", "-q", "--hosts", "a:2,b.site.org:2", "-o", str(tmp_path / "plan.json")], check=True)
    return tmp_path / "plan.json"


def test_a_rank_gets_the_device_of_the_plan(plan: pathlib.Path) -> None:
    read = read_plan(plan)
    assert read is not None
    assert [(s.host, s.local) for s in seats(read)] == [("a", 0), ("a", 1), ("b.site.org", 0), ("b.site.org", 1)]
    assert seated(Ranks(3, 4, 7), str(plan), 2, {"b"}).local == 1
    assert seated(Ranks(0, 4, 7), str(plan), 2, {"a"}).local == 0
    assert seated(Ranks(0, 2, 7), str(plan), 1, {"elsewhere"}).local == 7, "other replicas than planned"


def test_a_rank_on_another_host_is_refused(plan: pathlib.Path, graphs: Any) -> None:
    with pytest.raises(RunError, match="rank 2 is planned on host 'b.site.org', this is a or long.a;"):
        seated(Ranks(2, 4, 0), str(plan), 2, {"a", "long.a"})
    run = subprocess.run([sys.executable, "-m", "pardnn.run", str(graphs("gpt")[0]), str(plan), "--launch", "4"], capture_output=True, text=True, check=False)
    assert run.returncode == 3
    assert "plan.json: rank 0 is planned on host 'a', this is" in run.stderr and run.stderr.count("\n") == 1


def test_a_host_is_known_as_slurm_calls_it() -> None:
    assert "node7" in names_of_this_host({"SLURMD_NODENAME": "node7"})
    assert len(names_of_this_host({})) in (1, 2)


def test_hosts_get_other_names(plan: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert plan_hosts.main([str(plan)]) == 0
    assert capsys.readouterr().out.split() == ["a", "a", "b.site.org", "b.site.org"]
    before = json.loads(plan.read_text())
    assert plan_hosts.main([str(plan), "--name", "n1:2,n2:2"]) == 0
    assert capsys.readouterr().out.split() == ["n1", "n1", "n2", "n2"]
    after = json.loads(plan.read_text())
    assert [h["name"] for h in after["hosts"]] == ["n1", "n2"]
    assert {k: v for k, v in after.items() if k not in ("hosts", "ranks")} == {k: v for k, v in before.items() if k not in ("hosts", "ranks")}


@pytest.mark.parametrize("change, arguments, message", [
    ({}, ["--name", "n1:2"], "1 hosts are named, the plan has 2"), ({}, ["--name", "n1:2,n2:4"], "'n2' has 4 devices, the plan's host has 2"),
    ({}, ["--name", "n1"], "expected HOST:DEVICES"), ({}, ["--name", ""], "expected HOST:DEVICES"), ({"hosts": 3}, ["--name", "n1:2,n2:2"], "a broken plan"),
    ({"ranks": []}, [], "it has 0 ranks, expected 2 x 2"), ({"ranks": [{"host_name": "a"}]}, [], "a broken plan"), ({"format": "other"}, [], "expected a plan"),
    ({"ranks": [{"host_name": None, "local_device": 0}] * 4}, [], "its hosts have no names")])
def test_wrong_hosts_are_one_line(plan: pathlib.Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], arguments: list[str], message: str) -> None:
    plan.write_text(json.dumps(json.loads(plan.read_text()) | change))
    before = plan.read_text()
    assert plan_hosts.main([str(plan), *arguments]) == 3
    found = capsys.readouterr()
    assert message in found.err and found.err.count("\n") == 1 and not found.out
    assert plan.read_text() == before


def test_a_rank_alone_needs_no_port_to_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a job of Slurm that names the host of rank 0 for however many ranks there are."""
    for name in ("PARDNN_RENDEZVOUS", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    Ranks(0, 1, 0).join("gloo", timedelta(seconds=10))
    assert torch.distributed.get_world_size() == 1
    torch.distributed.destroy_process_group()
