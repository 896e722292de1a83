"""Plans of ``pardnn plan`` are run as they say; what is none is refused in one line."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from runtime_support import losses_in

from pardnn.runtime.errors import RunError
from pardnn.runtime.placement import read_placement
from pardnn.runtime.plan_file import read_plan


@pytest.fixture(scope="module")
def planned(graphs: Any, pardnn_binary: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Graph file, graph, the plan with its placement inside, and one that names a file: two replicas of one device, or one of two."""
    folder = tmp_path_factory.mktemp("plans")
    path, graph = graphs("gpt")

    def plan(devices: int, *more: str) -> pathlib.Path:
        target = folder / f"plan{devices}{len(more)}.json"
        subprocess.run([pardnn_binary, "plan", str(path), "--devices", "2", "--devices-per-replica", str(devices), "--preset", "fast", "--threads", "1", "-q",
                        "-o", str(target), *more], check=True)
        return target

    return path, graph, plan, folder


def test_a_plan_gives_the_placement_that_it_holds_or_names(planned: Any) -> None:
    path, graph, plan, folder = planned
    (folder / "placements").mkdir()
    inside, named = plan(2), plan(2, "--placements", str(folder / "placements"))
    first, second = read_placement(inside, graph), read_placement(named, graph)
    assert read_plan(inside).file is None and read_plan(named).file is not None
    assert first.devices == second.devices == 2 and (first.device == second.device).all()
    assert (first.schedule.order == second.schedule.order).all() and first.schedule.makespan == second.schedule.makespan
    assert first.schedule.makespan == json.loads(inside.read_text())["step_alone_ns"]
    assert np.unique(first.device).size <= 2


def test_a_run_takes_replicas_from_the_plan(planned: Any) -> None:
    path, _, plan, _ = planned
    command = [sys.executable, "-m", "pardnn.run", str(path), str(plan(1)), "--launch", "2", "--steps", "2"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "2 replicas" in run.stdout and len(losses_in(run.stdout)) == 2


@pytest.mark.parametrize("change, message", [
    ({"version": 2}, "version 2 of a plan is not known"), ({"replicas": "many"}, "a broken plan"), ({"placement": 5}, "a broken plan"),
    ({"placement": [0]}, "has 1 entries"), ({"order": None}, "entries|broken"), ({"graph": {"fingerprint": "0" * 32}}, "is for another graph"),
    ({"machine": {}}, "a broken plan"), ({"ranks": [{"replica": 0, "machine_device": 9}]}, "a broken plan")])
def test_broken_plans_are_one_line(planned: Any, tmp_path: pathlib.Path, change: dict[str, Any], message: str) -> None:
    _, graph, plan, _ = planned
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(json.loads(plan(2).read_text()) | change))
    with pytest.raises(RunError, match=message) as error:
        read_placement(broken, graph)
    assert "\n" not in str(error.value)
