"""One rank of a measurement: all placements in one start of the processes, round after round, so that a machine that slows down slows all of them."""

from __future__ import annotations

import os
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from ..runtime.batches import Batches
from ..runtime.channels import GroupChannels
from ..runtime.engine import Engine
from ..runtime.errors import RankLost, RunError
from ..runtime.links import Machine
from ..runtime.placement import Placement, check_legal
from ..runtime.plan import StepPlan, plan_step
from ..runtime.ranks import Ranks, leave
from ..runtime.state_file import device_state, synthetic_state
from ..torch_step.program import load_program
from ..torch_step.replay import Runner
from .core_time import Event, NotedChannels, replayed
from .job import Job, Measured, read_job, write_results
from .messages import measure, without_ends, write_cost
from .others import busy_seconds, share_of_others
from .profile import Profile

MODULE = "pardnn.fidelity_run.rank"


def main() -> int:
    """The command line of a rank: the job's folder. Exit code 4 where another rank is lost."""
    folder = Path(sys.argv[1])
    ranks = Ranks.from_environment()
    try:
        job, candidates = read_job(folder)
        torch.set_num_threads(job.threads)
        ranks.join("gloo", timedelta(seconds=job.timeout))
        rank = _Rank(job, ranks)
        for candidate in candidates:
            check_legal(candidate.name, rank.graph, candidate.device)
            schedule = candidate.schedule
            rank.add(Placement(candidate.device, job.devices, schedule, rank.machine))
        rank.messages()
        for _ in range(job.rounds):
            for number in range(len(candidates)):
                rank.visit(number)
        rank.repeat_disturbed()
        if ranks.rank == 0:
            write_results(folder, rank.measured)
            write_cost(folder, rank.message)
            if rank.profile:
                rank.profile.write(folder)
        dist.barrier()
    except (RankLost, RunError, ValueError, OSError) as error:
        print(f"{MODULE}: rank {ranks.rank}: {' '.join(str(error).split())}", file=sys.stderr, flush=True)
        return 4 if isinstance(error, RankLost) else 3
    leave()
    return 0


class _Rank:
    def __init__(self, job: Job, ranks: Ranks) -> None:
        self.job, self.ranks = job, ranks
        self.graph, self.program = load_program(job.graph)
        self.machine = Machine.parse(job.machine)
        self.cpu = torch.device("cpu")
        self.start = synthetic_state(self.program, job.seed)
        self.plans: list[StepPlan] = []
        self.measured: list[Measured] = []
        self.profile = Profile(self.graph) if job.profile else None

    def add(self, placement: Placement) -> None:
        plan = plan_step(self.program, self.graph, placement, only=[self.ranks.rank])
        self.plans.append(plan)
        self.measured.append(Measured([], [], [0] * self.ranks.world, [0.0] * self.ranks.world, sum(not t.token for t in plan.transfers), plan.bytes_sent, []))

    def visit(self, number: int) -> None:
        """Steps of one placement, from the same state each time."""
        job, plan, found = self.job, self.plans[number], self.measured[number]
        own = plan.devices[self.ranks.rank]
        batches = Batches(self.program, None, seed=job.seed)
        channels = NotedChannels(self.ranks.rank, job.devices, 1, self.cpu, timedelta(seconds=job.timeout))
        runner = Runner(self.program, self.cpu, seed=job.seed)
        engine = Engine(self.program, own, channels, runner, device_state(self.program, self.start, set(own.residuals), self.cpu))
        if self.profile:
            self.profile.watch(runner)
        for step in range(job.warm_up + job.steps):
            batch = batches.of_step(step)
            inputs = {slot.index: batch(slot.index) for slot in self.program.inputs}
            runner.step = step
            dist.barrier()
            channels.begin()
            begin, used, busy = time.perf_counter(), time.process_time(), busy_seconds()
            made = engine.step(inputs.__getitem__)
            if self.profile:
                self.profile.step_over()
            channels.end()
            end, used = time.perf_counter(), time.process_time() - used
            times = self._everyones([begin, end, used])
            busy = self._everyones([busy_seconds() - busy])[0][0]
            if step >= job.warm_up:
                seconds = max(t[1] for t in times) - min(t[0] for t in times)  # all ranks are on one host, with one clock
                found.steps.append((seconds, share_of_others(busy, sum(t[2] for t in times), seconds, os.cpu_count() or 1)))
                found.core_steps.append(replayed(self._events(channels.events), self._link))
                found.cpu = [before + t[2] for before, t in zip(found.cpu, times)]
            if step == 0:
                found.losses = self._numbers(made)
        channels.close()
        found.peaks = [max(a, int(b[0])) for a, b in zip(found.peaks, self._everyones([engine.meter.peak]))]

    def repeat_disturbed(self) -> None:
        """More visits of placements with too few steps that count, as long as there is patience."""
        deadline = time.monotonic() + self.job.patience
        wanted = self.job.rounds * self.job.steps
        while True:
            missing = [n for n, m in enumerate(self.measured) if sum(share <= self.job.others for _, share in m.steps) < wanted]
            if not missing:
                return
            for number in missing:
                if self._everyones([deadline - time.monotonic()])[0][0] <= 0:  # rank 0's clock decides for all
                    return
                self.visit(number)

    def messages(self) -> None:
        """What messages cost, and what is left of them for the links."""
        channels = GroupChannels(self.ranks.rank, self.job.devices, 1, self.cpu, timedelta(seconds=self.job.timeout))
        self.message = measure(channels, self.ranks.rank, self._everyones)
        channels.close()
        self.links = without_ends(self.machine, self.message)

    def _everyones(self, own: list[float]) -> list[list[float]]:
        """The numbers of each rank."""
        numbers = [torch.zeros(len(own), dtype=torch.float64) for _ in range(self.ranks.world)]
        dist.all_gather(numbers, torch.tensor(own, dtype=torch.float64))
        return [[float(n) for n in theirs] for theirs in numbers]

    def _events(self, own: list[Event]) -> list[list[Event]]:
        """The events of each rank."""
        events: list[Any] = [None] * self.ranks.world
        dist.all_gather_object(events, own)
        return events

    def _link(self, source: int, target: int, size: int) -> float:
        """Seconds of a message beyond what its ends do."""
        return (int(self.links.latency[source, target]) + size / (int(self.links.bandwidth[source, target]) / 1e9)) / 1e9

    def _numbers(self, made: dict[str, torch.Tensor]) -> list[float]:
        """Outputs without dimensions, of whichever rank has them."""
        names = [name for name, ref in self.program.outputs if not self.program.spec(ref).shape]
        values = torch.tensor([float(made[n]) if n in made else 0.0 for n in names], dtype=torch.float64)
        if len(values):
            dist.all_reduce(values)
        return [float(v) for v in values]


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    if code:
        os._exit(code)  # threads of a network that is gone are not waited for
