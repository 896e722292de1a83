"""A rank that dies ends the run: at once, with a message, and nothing hangs."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

torch = pytest.importorskip("torch")

from runtime_support import finish, random_placement, start_ranks  # noqa: E402

SCRIPTS = pathlib.Path(__file__).resolve().parents[3] / "scripts"
SECONDS = 15  # within which all others have to end


@pytest.fixture
def command(graphs, tmp_path):
    path, graph = graphs("gpt_sgd")
    placement = random_placement(graph, 2, 1, tmp_path / "p.tsv")
    return [str(path), str(placement), "--steps", "100000", "--threads", "1"]


def started(arguments, before=(), **environment):
    """A process of the command line, started by the command ``before``, once it has run two steps."""
    process = subprocess.Popen([*before, sys.executable, "-m", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": str(SCRIPTS), **environment})
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("step 1:"):
            return process
    raise AssertionError(process.communicate()[1])


def descendants(pid):
    """Processes that ``pid`` started, and theirs."""
    found = []
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        found += [int(child), *descendants(int(child))]
    return found


def alive(pid):
    try:
        return "State:\tZ" not in pathlib.Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(pids, seconds=SECONDS):
    end = time.monotonic() + seconds
    while time.monotonic() < end and any(alive(p) for p in pids):
        time.sleep(0.1)
    return not any(alive(p) for p in pids)


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@linux
def test_launcher_ends_all_when_a_rank_is_killed(command):
    process = started(["pardnn.run", *command, "--launch", "2"])
    ranks = descendants(process.pid)
    assert len(ranks) == 2
    begin = time.monotonic()
    os.kill(ranks[1], signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert time.monotonic() - begin < SECONDS
    assert process.returncode == 4
    assert "rank 1 was ended by signal 9; all others are ended" in errors
    assert gone(ranks)


@linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_ranks_end_with_their_launcher(command, number):
    process = started(["pardnn.run", *command, "--launch", "2"])
    ranks = descendants(process.pid)
    os.kill(process.pid, number)
    process.communicate(timeout=60)
    assert process.returncode == (-9 if number == signal.SIGKILL else 128 + 15)
    assert gone(ranks)


def test_peers_notice_without_a_launcher(graphs, tmp_path):
    """Nobody watches the ranks: the connection tells."""
    path, graph = graphs("gpt_sgd")
    placement = random_placement(graph, 2, 1, tmp_path / "p.tsv")
    options = {"graph": str(path), "placement": str(placement), "steps": 100000, "log": str(tmp_path / "log")}
    processes = start_ranks(tmp_path, 2, [options] * 2)
    log = tmp_path / "log/rank0.jsonl"
    end = time.monotonic() + 60
    while time.monotonic() < end and not (log.is_file() and log.read_text().count("\n") > 3):
        time.sleep(0.1)
    begin = time.monotonic()
    processes[1][0].kill()
    found = finish(processes)
    assert time.monotonic() - begin < SECONDS
    assert found.codes == [4, -9]
    assert found.err[0].startswith("pardnn.run: rank 0: ") and found.err[0].count("\n") == 1


@linux
def test_torchrun_ends_all_when_a_rank_is_killed(command):
    process = started(["torch.distributed.run", "--nproc-per-node", "2", "--standalone", "-m", "pardnn.run", *command])
    ranks = descendants(process.pid)
    os.kill(ranks[-1], signal.SIGKILL)
    process.communicate(timeout=90)
    assert process.returncode != 0
    assert gone(ranks)
