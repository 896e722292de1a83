"""Ranks of different starters in torchrun's words, pairs in rounds, memory of control groups."""

from __future__ import annotations

import itertools
import pathlib

import pytest

from pardnn.machine.job import FIRST_PORT, PORTS, JobError, first_host, torchrun_words
from pardnn.machine.memory import host_memory
from pardnn.machine.rounds import rounds_of_pairs

OPEN_MPI = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
            "OMPI_MCA_ess_base_jobid": "7"}
SRUN = {"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "4", "SLURM_LOCALID": "1", "SLURM_STEP_NODELIST": "gpu[07-08]", "SLURM_JOB_ID": "12", "SLURM_STEP_ID": "0"}


def test_torchrun_and_single_processes_are_left_alone() -> None:
    assert torchrun_words({"RANK": "0", "WORLD_SIZE": "2", **OPEN_MPI}) == {}
    assert torchrun_words({}) == {}
    # A batch script, not a step: Slurm numbers it, but it is one process.
    assert torchrun_words({"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_LOCALID": "0"}) == {}
    with pytest.raises(JobError, match="WORLD_SIZE is not set"):
        torchrun_words({"RANK": "0"})


def test_open_mpi_on_one_host_meets_there() -> None:
    words = torchrun_words(OPEN_MPI)
    assert {k: words[k] for k in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR")} == \
        {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "MASTER_ADDR": "127.0.0.1"}
    assert FIRST_PORT <= int(words["MASTER_PORT"]) < FIRST_PORT + PORTS
    other = torchrun_words({**OPEN_MPI, "OMPI_COMM_WORLD_RANK": "0"})
    assert other["MASTER_PORT"] == words["MASTER_PORT"]
    assert torchrun_words({**OPEN_MPI, "OMPI_MCA_ess_base_jobid": "8"})["MASTER_PORT"] != words["MASTER_PORT"]


def test_many_hosts_need_an_address() -> None:
    many = {**OPEN_MPI, "OMPI_COMM_WORLD_SIZE": "4"}
    with pytest.raises(JobError, match="MASTER_ADDR"):
        torchrun_words(many)
    words = torchrun_words({**many, "MASTER_ADDR": "head", "MASTER_PORT": "1234"})
    assert "MASTER_ADDR" not in words and "MASTER_PORT" not in words


def test_srun_and_mpich() -> None:
    words = torchrun_words(SRUN)
    assert (words["RANK"], words["WORLD_SIZE"], words["LOCAL_RANK"], words["MASTER_ADDR"]) == ("3", "4", "1", "gpu07")
    words = torchrun_words({"PMI_RANK": "0", "PMI_SIZE": "2", "MPI_LOCALRANKID": "0", "MPI_LOCALNRANKS": "2"})
    assert (words["RANK"], words["MASTER_ADDR"]) == ("0", "127.0.0.1")
    # srun --mpi=pmi2 sets both; only Slurm knows the place on the host.
    words = torchrun_words({**SRUN, "PMI_RANK": "3", "PMI_SIZE": "4"})
    assert (words["RANK"], words["WORLD_SIZE"], words["LOCAL_RANK"], words["MASTER_ADDR"]) == ("3", "4", "1", "gpu07")


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(JobError, match="OMPI_COMM_WORLD_RANK is 'x'"):
        torchrun_words({**OPEN_MPI, "OMPI_COMM_WORLD_RANK": "x"})
    with pytest.raises(JobError, match="is 2, but"):
        torchrun_words({**OPEN_MPI, "OMPI_COMM_WORLD_RANK": "2"})


@pytest.mark.parametrize(("nodes", "first"), [("a", "a"), ("a,b", "a"), ("gpu[07-09,12],login1", "gpu07"), ("r[1-2]n[3,5]-ib,x", "r1n3-ib"), ("", "")])
def test_first_host(nodes: str, first: str) -> None:
    assert first_host(nodes) == first


@pytest.mark.parametrize("ranks", [0, 1, 2, 3, 4, 5, 8, 9, 16])
def test_rounds_hold_each_pair_once_and_no_rank_twice(ranks: int) -> None:
    rounds = rounds_of_pairs(ranks)
    assert sorted(itertools.chain(*rounds)) == list(itertools.combinations(range(ranks), 2))
    for pairs in rounds:
        busy = list(itertools.chain(*pairs))
        assert len(busy) == len(set(busy))
    assert len(rounds) == (0 if ranks < 2 else ranks - 1 + ranks % 2)


def system(root: pathlib.Path, cgroup: str, limits: dict[str, str]) -> pathlib.Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text("MemTotal:        1000 kB\nMemFree: 5 kB\n")
    (root / "proc/self/cgroup").write_text(cgroup)
    for name, text in limits.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")
    return root


def test_memory_is_that_of_the_tightest_group(tmp_path: pathlib.Path) -> None:
    base = "sys/fs/cgroup"
    two = system(tmp_path / "two", "0::/job/step\n", {f"{base}/job/step/memory.max": "max", f"{base}/job/memory.max": "500000"})
    assert host_memory(two) == (500000, "control group")
    one = system(tmp_path / "one", "5:cpu:/\n9:hugetlb,memory:/job\n", {f"{base}/memory/job/memory.limit_in_bytes": "300000"})
    assert host_memory(one) == (300000, "control group")
    inside = system(tmp_path / "inside", "0::/\n", {f"{base}/memory.max": "200000"})
    assert host_memory(inside) == (200000, "control group")


def test_memory_without_a_limit_is_the_hosts(tmp_path: pathlib.Path) -> None:
    assert host_memory(system(tmp_path / "a", "0::/gone\n", {})) == (1024000, "host")
    huge = {"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712"}
    assert host_memory(system(tmp_path / "b", "3:memory:/\n", huge)) == (1024000, "host")
