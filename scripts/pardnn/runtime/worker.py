"""One rank of a run: prepares, agrees with the others, runs the steps, saves."""

from __future__ import annotations

import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

from ..torch_step.randomness import op_seed
from ..torch_step.replay import Runner
from .channels import GroupChannels
from .checkpoint import Checkpoint, step_reached
from .engine import Engine
from .errors import RankLost, RunError
from .first_batch import batch_of_step
from .heartbeat import Heartbeat, begin
from .options import BACKENDS, Options
from .prepare import prepare
from .progress import ALL
from .ranks import Ranks, agree, everyones, leave
from .report import description, summary
from .saving import save_run
from .signals import Stop
from .state_file import device_state
from .step_log import StepLog


def run(options: Options) -> int:
    """Runs this process's rank; the exit code. Errors that all ranks share are printed by rank 0, others by the rank that has them."""
    ranks = Ranks.from_environment()
    heartbeat: Heartbeat | None = None
    try:
        ranks.join(BACKENDS[options.backend][0], timedelta(seconds=options.timeout))
        heartbeat = begin(ranks, options.heartbeat, ranks.progress)
        code = _Worker(options, ranks).run()
    except RunError as error:
        if ranks.rank == 0:
            print(f"pardnn.run: {error}", file=sys.stderr, flush=True)
        return 3
    except RankLost as error:
        if heartbeat:
            heartbeat.lost(error)
        else:
            print(f"pardnn.run: rank {ranks.rank}: {error}", file=sys.stderr, flush=True)
        return 4
    except BaseException:
        if heartbeat:
            heartbeat.stop()
        raise
    if heartbeat:
        heartbeat.close()
    leave()
    return code


class _Worker:
    def __init__(self, options: Options, ranks: Ranks) -> None:
        self.options, self.ranks = options, ranks
        if options.threads:
            torch.set_num_threads(options.threads)
        problem, prepared, state = None, None, {}
        runner: Runner | None = None
        self.checkpoint: Checkpoint | None = None
        reached = step_reached(options.checkpoint, ranks)
        try:
            prepared = prepare(options, ranks, reached)
            own = set(prepared.plan.devices[prepared.own].residuals)
            state = device_state(prepared.program, prepared.start, own, prepared.device)
            if options.checkpoint is not None:
                self.checkpoint = Checkpoint(options.checkpoint, ranks, prepared.settings)
                if reached is not None:
                    self.checkpoint.restore(reached, state)
            seed = options.seed if not prepared.replica else op_seed(options.seed, prepared.replica, 1 << 40)
            runner = Runner(prepared.program, prepared.device, seed=seed)
        except (ValueError, OSError) as error:
            problem = " ".join(str(error).split())
        agree(ranks, problem, prepared.settings if prepared else {})
        assert prepared is not None and runner is not None
        self.stop = Stop(ranks) if self.checkpoint else None
        self.p = prepared
        self.plan = prepared.plan.devices[prepared.own]
        self.channels = GroupChannels(ranks.rank, prepared.plan.placement.devices, options.replicas, prepared.device,
                                      timedelta(seconds=options.timeout), ranks.progress)
        self.runner = runner
        budget = options.memory if options.memory is not None else self.plan.emulated_peak
        self.engine = Engine(prepared.program, self.plan, self.channels, runner, state, replicas=options.replicas, budget=budget, progress=ranks.progress)
        self.times: list[float] = []
        self.log = StepLog(options.log, ranks.rank, goes_on=reached is not None)

    def run(self) -> int:
        """The steps; 0, or 128 + the number of the signal that ended them."""
        self._describe()
        end = self.p.start.step + self.options.steps
        stopped, number = 0, self.p.first
        while number < end and not stopped:
            self._step(number)
            number += 1
            stopped = self._kept(number, end)
        self._summary()
        if self.options.save and not stopped:
            save_run(self.p, self.ranks, self.engine.state, self.options.save, end, sharded=self.options.sharded)
        self.channels.close()
        self.log.close()
        if stopped and self.ranks.rank == 0:
            print(f"stopped     by signal {stopped} before step {number}; the same command goes on from {self.options.checkpoint}", flush=True)
        return 128 + stopped if stopped else 0

    def _kept(self, step: int, end: int) -> int:
        """Writes the checkpoint where it is due before ``step``; the signal that ends the run there, 0 where none does."""
        if self.checkpoint is None or self.stop is None or (step == end and not self.options.save):
            return 0
        stopped = self.stop.agreed()
        every = self.options.checkpoint_steps
        if stopped or (every and step < end and (step - self.p.start.step) % every == 0):
            self.checkpoint.save(step, self.engine.state)
        return stopped

    def _step(self, number: int) -> None:
        self.ranks.progress.step = number
        batch = batch_of_step(self.p, self.ranks, number)
        self.ranks.progress.does("running")
        self.runner.step = number
        begin = time.perf_counter()
        made = self.engine.step(batch)
        if self.p.device.type == "cuda":
            torch.cuda.synchronize()
        seconds = time.perf_counter() - begin
        self.times.append(seconds)
        told = self._outputs(made)
        self.log.write({"step": number, "seconds": seconds, "peak_bytes": self.engine.meter.peak, "live_bytes": self.engine.meter.live, **told})
        if self.ranks.rank == 0:
            words = ", ".join(f"{name} {value:.6f}" for name, value in told.items())
            print(f"step {number}: {words}{', ' if words else ''}{seconds * 1e3:.1f} ms", flush=True)

    def _outputs(self, made: dict[str, torch.Tensor]) -> dict[str, float]:
        """Numbers that the step returned, means over the replicas, on every rank."""
        specs = [(name, self.p.program.spec(ref)) for name, ref in self.p.program.outputs]
        names = [name for name, spec in specs if not spec.shape]
        if not names:
            return {}
        values = torch.tensor([float(made[n]) if n in made else 0.0 for n in names], dtype=torch.float64)
        self.ranks.progress.does("averaging the outputs", waits=ALL)
        if self.ranks.world > 1:
            try:
                dist.all_reduce(values)
            except RuntimeError as error:
                raise RankLost(f"a rank is gone ({' '.join(str(error).split())[-160:]})") from error
        self.ranks.progress.waits = None
        return {n: float(v) / self.options.replicas for n, v in zip(names, values)}

    def _describe(self) -> None:
        plan, placement = self.p.plan, self.p.plan.placement
        self.log.write({"rank": self.ranks.rank, "device": self.p.own, "replica": self.p.replica, "nodes": len(self.plan.nodes),
                        "emulated_peak_bytes": self.plan.emulated_peak, "emulated_ns": placement.schedule.makespan,
                        "waiting_bytes": self.plan.waiting, "bucket_peak_bytes": self.plan.buckets.peak if self.plan.buckets else 0})
        if self.ranks.rank == 0:
            print("\n".join(description(self.p.graph.name, plan, self.plan, self.options.replicas, self.options.bucket)))
            note = self.p.start.note if self.p.first == self.p.start.step else f"as kept in {self.options.checkpoint}"
            print(f"state       {note}; first step {self.p.first}", flush=True)

    def _summary(self) -> None:
        self.ranks.progress.does("summing up")
        meter = self.engine.meter
        steady = self.times[min(self.options.warm_up, len(self.times) - 1):] if self.times else []
        mine = {"nodes": len(self.plan.nodes), "peak": meter.peak, "emulated": self.plan.emulated_peak, "waiting": self.plan.waiting,
                "bucket": self.plan.buckets.peak if self.plan.buckets else 0, "ms": sum(steady) / len(steady) * 1e3 if steady else 0.0}
        everyone = everyones(self.ranks, mine)
        self.log.write({"mean_ms": mine["ms"], "steady_steps": len(steady), "peak_bytes": meter.peak, "waits_for_memory": self.engine.stalls})
        if self.ranks.rank == 0:
            print("\n".join(summary(everyone, self.p.plan.placement.devices, len(steady), len(self.times) - len(steady))), flush=True)
