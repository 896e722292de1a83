"""Which rank this process is, told by whatever started it: torchrun, Open MPI, MPICH and its kin, or srun.

The result is always in the words of torchrun (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT), which PyTorch reads.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass


class JobError(ValueError):
    """Environment variables that do not say who the ranks are, or where they meet. Exit code 3."""


@dataclass(frozen=True)
class Starter:
    """What one way of starting ranks calls them. ``identity``: variables that are equal on all ranks of a job and differ between jobs."""

    name: str
    rank: tuple[str, ...]
    world: tuple[str, ...]
    local: tuple[str, ...]
    local_world: tuple[str, ...]
    identity: tuple[str, ...]


# Slurm comes last: mpirun inside of a job has both. SLURM_STEP_NUM_TASKS is set by srun alone, SLURM_NTASKS in a batch script as well.
STARTERS = (
    Starter("Open MPI", ("OMPI_COMM_WORLD_RANK",), ("OMPI_COMM_WORLD_SIZE",), ("OMPI_COMM_WORLD_LOCAL_RANK",), ("OMPI_COMM_WORLD_LOCAL_SIZE",),
            ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "OMPI_MCA_orte_hnp_uri")),
    Starter("MPICH", ("PMI_RANK",), ("PMI_SIZE",), ("MPI_LOCALRANKID", "PALS_LOCAL_RANKID", "SLURM_LOCALID"), ("MPI_LOCALNRANKS", "PALS_LOCAL_SIZE"),
            ("PMI_JOBID", "PMI_KVSNAME", "PALS_APID", "HYDRA_LAUNCHER_JOBID")),
    Starter("srun", ("SLURM_PROCID",), ("SLURM_STEP_NUM_TASKS",), ("SLURM_LOCALID",), (), ("SLURM_JOB_ID", "SLURM_STEP_ID")),
)
FIRST_PORT, PORTS = 20000, 10000  # below the ports that Linux hands out by itself


def torchrun_words(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables to add to ``environment`` so that torchrun could have set them; none if it did, or if the process stands alone.

    Raises JobError where a rank has no number, or where ranks on several hosts are not told where to meet.
    """
    if "RANK" in environment or "WORLD_SIZE" in environment:
        missing = [name for name in ("RANK", "WORLD_SIZE") if name not in environment]
        if missing:
            raise JobError(f"{missing[0]} is not set, but {'WORLD_SIZE' if missing[0] == 'RANK' else 'RANK'} is: torchrun sets both")
        return {}
    for starter in STARTERS:
        world = _number(environment, starter.world)
        rank = _number(environment, starter.rank)
        if world is None or rank is None:
            continue
        if not 0 <= rank < world:
            raise JobError(f"{starter.rank[0]} is {rank}, but {starter.world[0]} is {world}")
        local = _number(environment, starter.local)
        words = {"RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(rank if local is None else local)}
        return words if world == 1 else words | _meeting(environment, starter, world)
    return {}


def first_host(nodes: str) -> str:
    """The first host of a list as Slurm writes it: ``gpu[07-09,12],login1`` gives ``gpu07``."""
    first = re.match(r"[^,\[]*(?:\[[^\]]*\][^,\[]*)*", nodes)
    return re.sub(r"\[(\w+)[^\]]*\]", r"\1", first.group(0)) if first else ""


def _number(environment: Mapping[str, str], names: tuple[str, ...]) -> int | None:
    for name in names:
        if name in environment:
            if not environment[name].isdigit():
                raise JobError(f"{name} is '{environment[name]}', expected a number")
            return int(environment[name])
    return None


def _meeting(environment: Mapping[str, str], starter: Starter, world: int) -> dict[str, str]:
    """Address and port of rank 0, as far as they are not set. Every rank finds the same."""
    words = {}
    if "MASTER_ADDR" not in environment:
        nodes = environment.get("SLURM_STEP_NODELIST") or environment.get("SLURM_JOB_NODELIST") or ""
        if _number(environment, starter.local_world) == world:
            words["MASTER_ADDR"] = "127.0.0.1"
        elif nodes:
            words["MASTER_ADDR"] = first_host(nodes)
        else:
            raise JobError(f"{starter.name} started {world} ranks; MASTER_ADDR has to name the host of rank 0 (mpirun -x MASTER_ADDR=HOST)")
    if "MASTER_PORT" not in environment:
        told = [f"{name}={environment[name]}" for name in starter.identity if name in environment]
        words["MASTER_PORT"] = str(FIRST_PORT + zlib.crc32(" ".join(told).encode()) % PORTS)
    return words
