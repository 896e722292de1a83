"""A rank that hangs ends the run within seconds and with one line; one that is slow does not. A rank that does not get on is named when others give up."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import signal
import socket
import sys
import threading
import time

import pytest

torch = pytest.importorskip("torch")

from runtime_support import finish, function, random_placement, run_ranks, start_ranks  # noqa: E402
from test_lost_ranks import SECONDS, descendants, gone, started  # noqa: E402

from pardnn.runtime.account import culprit, told  # noqa: E402
from pardnn.runtime.beacon import Beacon  # noqa: E402
from pardnn.runtime.heartbeat import Heartbeat, targets  # noqa: E402
from pardnn.runtime.progress import ALL, Progress, State  # noqa: E402

LIMIT = 2  # s of the heartbeats here
STOPPED = (rf"pardnn.run: rank {{}} \(host \S+, process {{}}\) has not answered for {LIMIT} s: it is stopped, or its host or network is down; "
           r"it was last heard in step \d+( at node '[^']+'|, [a-z ()-]+)(, waiting for (rank \d+|all others))?; all ranks are ended\n")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@pytest.fixture
def command(graphs, tmp_path):
    path, graph = graphs("gpt_sgd")
    placement = random_placement(graph, 2, 1, tmp_path / "p.tsv")
    return [str(path), str(placement), "--steps", "100000", "--threads", "1", "--heartbeat", str(LIMIT)]


def rank_of(pid):
    words = dict(w.split("=", 1) for w in open(f"/proc/{pid}/environ").read().split("\0") if "=" in w)
    return int(words.get("RANK", words.get("OMPI_COMM_WORLD_RANK", -1)))


def stopped(process, number):
    """Stops rank ``number``; what the run says then, and the process of that rank."""
    ranks = [p for p in descendants(process.pid) if b"pardnn.run" in open(f"/proc/{p}/cmdline", "rb").read() and rank_of(p) >= 0]
    pid = next(p for p in ranks if rank_of(p) == number)
    time.sleep(1.0)  # until the heartbeats have told of the steps
    begin = time.monotonic()
    os.kill(pid, signal.SIGSTOP)
    _, errors = process.communicate(timeout=60)
    assert LIMIT <= time.monotonic() - begin < LIMIT + SECONDS
    assert process.returncode != 0
    assert gone(ranks)
    return errors, pid


@linux
@pytest.mark.parametrize("number", [0])
def test_launcher_ends_all_when_a_rank_is_stopped(number, command):
    process = started(["pardnn.run", *command, "--launch", "2"])
    errors, pid = stopped(process, number)
    assert process.returncode == 4
    assert re.fullmatch(STOPPED.format(number, pid), errors)


@linux
def test_torchrun_ends_all_when_a_rank_is_stopped(command):
    errors, pid = stopped(started(["torch.distributed.run", "--nproc-per-node", "2", "--standalone", "-m", "pardnn.run", *command]), 1)
    assert len(re.findall(STOPPED.format(1, pid), errors)) == 1


@linux
@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun")
def test_mpirun_ends_all_when_a_rank_is_stopped(command):
    process = started(["pardnn.run", *command], before=["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"])
    errors, pid = stopped(process, 0)
    assert len(re.findall(STOPPED.format(0, pid), errors)) == 1


def options_of(graphs, folder, devices, **more):
    path, graph = graphs("gpt_sgd")
    placement = random_placement(graph, devices, 1, folder / "p.tsv")
    return {"graph": str(path), "placement": str(placement), "steps": 100000, "log": str(folder / "log"), "heartbeat": float(LIMIT), **more}


def wait_for_steps(folder):
    log = folder / "log/rank0.jsonl"
    end = time.monotonic() + 60
    while time.monotonic() < end and not (log.is_file() and log.read_text().count("\n") > 3):
        time.sleep(0.1)
    time.sleep(1.0)  # until the heartbeats have told of them


@pytest.mark.parametrize("number", [0, 2])
def test_peers_notice_without_a_launcher(number, graphs, tmp_path):
    """Whichever rank of three it is: one of the others says so, all end, and so does the stopped one as it goes on."""
    processes = start_ranks(tmp_path, 3, [options_of(graphs, tmp_path, 3)] * 3)
    wait_for_steps(tmp_path)
    begin = time.monotonic()
    os.kill(processes[number][0].pid, signal.SIGSTOP)
    found = finish(processes)
    assert time.monotonic() - begin < LIMIT + SECONDS
    assert found.codes == [4, 4, 4]
    assert re.fullmatch(STOPPED.format(number, processes[number][0].pid), "".join(found.err))


def test_a_run_that_is_stopped_as_a_whole_goes_on(graphs, tmp_path):
    """As when a job is suspended: nobody was awake to miss the others."""
    processes = start_ranks(tmp_path, 2, [options_of(graphs, tmp_path, 2)] * 2)
    wait_for_steps(tmp_path)
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for process, _ in processes:
            os.kill(process.pid, number)
        time.sleep(2 * LIMIT)
    before = (tmp_path / "log/rank0.jsonl").read_text().count("\n")
    time.sleep(1.0)
    assert (tmp_path / "log/rank0.jsonl").read_text().count("\n") > before
    processes[1][0].kill()
    found = finish(processes)
    assert found.codes == [4, -9]


def test_one_of_three_tells_that_another_was_killed(graphs, tmp_path):
    processes = start_ranks(tmp_path, 3, [options_of(graphs, tmp_path, 3)] * 3)
    wait_for_steps(tmp_path)
    processes[0][0].kill()
    found = finish(processes)
    assert found.codes == [-9, 4, 4]
    errors = "".join(found.err)
    assert errors.count("\n") == 1
    assert re.search(r"; rank 0 \(host \S+, process \d+\) is gone, it was last heard in step \d+", errors)


def test_a_slow_rank_does_not_end_the_run(graphs, tmp_path):
    """It keeps Python's lock for four times the limit."""
    options = options_of(graphs, tmp_path, 2, steps=4, data=function("sleeps"), heartbeat=1.0)
    options["graph"], options["model"] = str(graphs("gpt")[0]), function("gpt")
    random_placement(graphs("gpt")[1], 2, 1, tmp_path / "p.tsv")
    found = run_ranks(tmp_path, 2, **options)
    assert found.codes == [0, 0] and found.err == ["", ""]
    rows = [json.loads(line) for line in (tmp_path / "log/rank0.jsonl").read_text().splitlines()]
    assert max(row["seconds"] for row in rows if "step" in row) > 3, "rank 0 has waited for it"


@pytest.mark.parametrize(("devices", "heartbeat"), [(3, float(LIMIT)), (2, 0.0)])
def test_a_rank_that_does_not_get_on_is_named(devices, heartbeat, graphs, tmp_path):
    """It answers the heartbeat, so the timeout ends the run; the line says what it was at. Without a heartbeat it knows only who was missed."""
    options = options_of(graphs, tmp_path, devices, data=function("loops"), timeout=5.0, heartbeat=heartbeat)
    options["graph"], options["model"] = str(graphs("gpt")[0]), function("gpt")
    random_placement(graphs("gpt")[1], devices, 1, tmp_path / "p.tsv")
    processes = start_ranks(tmp_path, devices, [options] * devices)
    if not heartbeat:
        processes[0][0].join(60)
        processes[1][0].kill()
        found = finish(processes)
        assert found.codes == [4, -9]
        assert re.fullmatch(r"pardnn.run: rank 0: no connection to rank 1 any more \([^()]*\)\n", found.err[0])
        return
    found = finish(processes)
    assert found.codes == [4] * devices
    errors = "".join(found.err)
    assert errors.count("\n") == 1
    assert re.search(r"; rank 1 \(host \S+, process \d+\) has been busy for \d+ s in step 2, taking a batch \(--data\)\n", errors)


def test_ranks_that_are_done_stay_until_all_are(monkeypatch):
    """So one that is stopped at the very end is noticed, too; here the ranks are in one process."""
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    beacons = [Beacon(rank, Progress().state()) for rank in range(3)]
    addresses = {rank: beacon.address for rank, beacon in enumerate(beacons)}
    heartbeats = [Heartbeat(beacon, addresses, LIMIT, Progress()) for beacon in beacons]
    ends = [threading.Thread(target=heartbeat.close) for heartbeat in heartbeats]
    for end in ends[:2]:
        end.start()
        end.join(1.0)
        assert end.is_alive()
    ends[2].start()
    begin = time.monotonic()
    for end in ends:
        end.join(10.0)
        assert not end.is_alive()
    assert time.monotonic() - begin < 2.0


def test_an_address_where_nobody_listens_is_no_rank_that_hangs(monkeypatch, capsys):
    """It is said, and the run goes on."""
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    beacon = Beacon(0, Progress().state())
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    nobody = dataclasses.replace(beacon.address, rank=1, port=port)
    heartbeat = Heartbeat(beacon, {0: beacon.address, 1: nobody}, 0.5, Progress())
    time.sleep(1.5)
    heartbeat.stop()
    assert re.fullmatch(r"pardnn.run: rank 0 does not reach rank 1 \(host .*\) at 127.0.0.1:\d+ and cannot watch it \(.*refused\)\n", capsys.readouterr().err)


def state(waits=None, still=1.0):
    return State(3, "x", "running", waits, still)


@pytest.mark.parametrize(("missed", "answers", "expected"), [
    (1, {1: state()}, 1),
    (1, {1: state(waits=2), 2: state(waits=3), 3: state()}, 3),
    (1, {1: state(waits=2), 2: "is gone"}, 2),
    (1, {1: state(waits=0), 2: state(still=2.0), 3: state(still=5.0)}, 3),
    (None, {1: state(waits=ALL), 2: state(still=9.0), 3: "does not answer"}, 3),
    (1, {1: state(waits=ALL), 2: state(waits=ALL), 3: state(waits=1)}, None),
    (1, {1: None}, None),
    (None, {1: None, 2: None, 3: None}, None),
])
def test_who_keeps_the_others_waiting(missed, answers, expected):
    """Of ranks 0 to 3, as rank 0 sees it; each is asked once."""
    asked = []

    def ask(rank):
        asked.append(rank)
        return answers[rank]

    found = culprit(missed, 0, range(4), ask)
    assert (None if found is None else found[0]) == expected
    assert len(asked) == len(set(asked)) and 0 not in asked


def test_words():
    assert told("rank 2", state()) == "rank 2 has been busy for 1 s in step 3 at node 'x'"
    assert told("rank 2", "is gone") == "rank 2 is gone"
    progress = Progress()
    progress.does("reading the graph", waits=ALL)
    assert progress.state().words() == "before its first step, reading the graph, waiting for all others"
    progress.step, progress.node, progress.waits, progress.names = 7, 1, 4, ("a", "b")
    assert progress.state().words() == "in step 7 at node 'b', waiting for rank 4"
    time.sleep(0.02)
    assert progress.state().still >= 0.02
    progress.node = 0
    assert progress.state().still == 0.0


@pytest.mark.parametrize("ranks", [[0, 1], [0, 1, 2], [1, 4, 5, 9], list(range(40))])
def test_every_rank_is_asked_by_another(ranks):
    asked = {to for rank in ranks for to in targets(rank, ranks)}
    assert asked == set(ranks)
    assert all(rank not in targets(rank, ranks) and len(targets(rank, ranks)) <= 3 for rank in ranks)
