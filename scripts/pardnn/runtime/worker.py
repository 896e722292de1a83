"""One rank of a run: prepares, agrees with the others, runs the steps, saves."""

from __future__ import annotations

import hashlib
import itertools
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, TextIO

import torch
import torch.distributed as dist

from ..atomic_file import check_target
from ..graph import Graph
from ..graph_file import read_extra
from ..torch_step.program import DATASET, Program, load_program
from ..torch_step.randomness import op_seed
from ..torch_step.replay import Runner
from .batches import Batches
from .channels import GroupChannels
from .engine import Engine
from .errors import RankLost, RunError
from .fingerprint import fingerprint
from .placement import Placement, read_placement
from .plan import StepPlan, plan_step
from .ranks import Ranks, agree
from .report import description, summary
from .state_file import SHARD, State, content_of, device_state, gathered, read_state, save, state_of_step, synthetic_state

BACKENDS = {"gloo": ("gloo", "cpu"), "nccl": ("cpu:gloo,cuda:nccl", "cuda")}


@dataclass
class Options:
    """What a run is told; sizes in bytes, times in seconds. ``model`` and ``data``: the user's functions, or None."""

    graph: str
    placement: str
    steps: int = 10
    replicas: int = 1
    seed: int = 0
    model: Callable[[], Any] | None = None
    state: str | None = None
    data: Callable[[], Any] | None = None
    save: str | None = None
    sharded: bool = False
    log: str | None = None
    backend: str = "gloo"
    bucket: int = 25 * 10**6
    ahead: int = 0
    memory: int | None = None
    warm_up: int = 3
    threads: int | None = None
    timeout: float = 600.0
    labels: dict[str, str] = field(default_factory=dict)


@dataclass
class Prepared:
    """All that a rank reads before the ranks agree."""

    graph: Graph
    program: Program
    plan: StepPlan
    start: State
    batches: Batches
    device: torch.device
    own: int
    replica: int
    settings: dict[str, str]


def run(options: Options) -> int:
    """Runs this process's rank; the exit code. Errors that all ranks share are printed by rank 0, others by the rank that has them."""
    from sys import stderr

    ranks = Ranks.from_environment()
    try:
        ranks.join(BACKENDS[options.backend][0], timedelta(seconds=options.timeout))
        _Worker(options, ranks).run()
    except RunError as error:
        if ranks.rank == 0:
            print(f"pardnn.run: {error}", file=stderr, flush=True)
        return 3
    except RankLost as error:
        print(f"pardnn.run: rank {ranks.rank}: {error}", file=stderr, flush=True)
        return 4
    dist.destroy_process_group()
    return 0


def prepare(options: Options, ranks: Ranks) -> Prepared:
    """Reads everything that this rank needs. Raises ValueError or OSError where something is wrong."""
    graph, program = load_program(options.graph)
    placement = read_placement(options.placement, graph)
    _check_ranks(placement, ranks, options)
    device = ranks.device(BACKENDS[options.backend][1])
    replica, own = divmod(ranks.rank, placement.devices)
    plan = plan_step(program, graph, placement, only=[own], replicas=options.replicas, bucket_bytes=options.bucket, ahead=options.ahead)
    torch.manual_seed(options.seed)
    start = state_of_step(_model(options.model)) if options.model else State(note="no state given")
    if options.state is not None:
        start = read_state(options.state, start)
    elif options.model is None:
        start = synthetic_state(program, options.seed)
    torch.manual_seed(options.seed)
    given: Iterator[Any] | None = _batches(options.data) if options.data else None
    if given is not None:  # a run that goes on sees the batches that follow
        next(itertools.islice(given, start.step, start.step), None)
    batches = Batches(program, given, seed=options.seed, replica=replica, replicas=options.replicas)
    if options.save and not options.sharded:
        check_target(options.save)
    elif options.save and not Path(options.save).absolute().parent.is_dir():
        raise RunError(f"{options.save}: its folder does not exist")
    settings = {"the graph": _digest([fingerprint(graph) or "", *graph.names], read_extra(options.graph, DATASET) or b""),
                "the placement": _digest([], placement.device.tobytes() + plan.placement.schedule.order.tobytes()),
                "the step to start from": str(start.step), "PyTorch": str(torch.__version__), **_told(options)}
    return Prepared(graph, program, plan, start, batches, device, own, replica, settings)


def _told(options: Options) -> dict[str, str]:
    return {"--" + k.replace("_", "-"): str(getattr(options, k))
            for k in ("steps", "replicas", "seed", "sharded", "backend", "bucket", "ahead", "save", "state")} | options.labels


def _model(function: Callable[[], Any]) -> Any:
    from ..torch_step.step import as_step

    return as_step(_called("--model", function))


def _called(option: str, function: Callable[[], Any]) -> Any:
    """What the user's function returns; RunError with its place where it ends otherwise."""
    from ..capture_common.command import first_line, place_of

    try:
        return function()
    except (ValueError, OSError):
        raise
    except (Exception, SystemExit) as error:
        raise RunError(f"{option}: {place_of(error)}: {first_line(error)}") from error


def _batches(function: Callable[[], Any]) -> Iterator[Any]:
    given = _called("--data", function)
    try:
        return iter(given)
    except TypeError as error:
        raise RunError(f"--data: expected a function that yields the inputs of each step, it returned {type(given).__name__}") from error


def _digest(texts: list[str], raw: bytes) -> str:
    return hashlib.blake2b("\n".join(texts).encode() + b"\n" + raw, digest_size=6).hexdigest()


def _check_ranks(placement: Placement, ranks: Ranks, options: Options) -> None:
    wanted = placement.devices * options.replicas
    if ranks.world != wanted:
        replicas = f" x {options.replicas} replicas" if options.replicas > 1 else ""
        raise RunError(f"{options.placement}: needs {wanted} ranks ({placement.devices} devices{replicas}), there are {ranks.world}")


class _Worker:
    def __init__(self, options: Options, ranks: Ranks) -> None:
        self.options, self.ranks = options, ranks
        if options.threads:
            torch.set_num_threads(options.threads)
        problem, prepared, state = None, None, {}
        runner: Runner | None = None
        try:
            prepared = prepare(options, ranks)
            own = {n for n in prepared.plan.devices[prepared.own].residuals}
            state = device_state(prepared.program, prepared.start, own, prepared.device)
            seed = options.seed if not prepared.replica else op_seed(options.seed, prepared.replica, 1 << 40)
            runner = Runner(prepared.program, prepared.device, seed=seed)
        except (ValueError, OSError) as error:
            problem = " ".join(str(error).split())
        agree(ranks, problem, prepared.settings if prepared else {})
        assert prepared is not None and runner is not None
        self.p = prepared
        self.plan = prepared.plan.devices[prepared.own]
        self.channels = GroupChannels(ranks.rank, prepared.plan.placement.devices, options.replicas, prepared.device, timedelta(seconds=options.timeout))
        self.runner = runner
        self.budget = options.memory if options.memory is not None else self.plan.emulated_peak
        self.engine = Engine(prepared.program, self.plan, self.channels, self.runner, state, replicas=options.replicas, budget=self.budget)
        self.times: list[float] = []
        self.log: TextIO | None = None

    def run(self) -> None:
        self._describe()
        first = self.p.start.step
        for number in range(first, first + self.options.steps):
            self._step(number)
        self._summary()
        if self.options.save:
            self._save(first + self.options.steps)
        self.channels.close()
        if self.log:
            self.log.close()

    def _step(self, number: int) -> None:
        batch = self._batch(number)
        self.runner.step = number
        begin = time.perf_counter()
        made = self.engine.step(batch)
        if self.p.device.type == "cuda":
            torch.cuda.synchronize()
        seconds = time.perf_counter() - begin
        self.times.append(seconds)
        told = self._outputs(made)
        self._write({"step": number, "seconds": seconds, "peak_bytes": self.engine.meter.peak, "live_bytes": self.engine.meter.live, **told})
        if self.ranks.rank == 0:
            words = ", ".join(f"{name} {value:.6f}" for name, value in told.items())
            print(f"step {number}: {words}{', ' if words else ''}{seconds * 1e3:.1f} ms", flush=True)

    def _batch(self, number: int) -> Callable[[int], torch.Tensor]:
        """The step's inputs; a rank that has none says so to all."""
        problem, batch = None, None
        try:
            batch = self.p.batches.of_step(number)
            for slot in self.p.program.inputs:
                batch(slot.index)
        except ValueError as error:
            problem = " ".join(str(error).split())
        if number == self.p.start.step:
            agree(self.ranks, problem, {} if batch is None else {"the first batch": self._batch_digest(batch)})
        elif problem is not None:
            raise RankLost(problem)
        assert batch is not None
        return batch

    def _batch_digest(self, batch: Callable[[int], torch.Tensor]) -> str:
        """Equal on all ranks of a replica; replicas have batches of their own, so each rank tells that of rank 0's replica only."""
        if self.p.replica:
            found: list[Any] = [None]
        else:
            data = b"".join(batch(i).contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() for i in sorted({s.index for s in self.p.program.inputs}))
            found = [_digest([], data)]
        everyone: list[Any] = [None] * self.ranks.world
        dist.all_gather_object(everyone, found[0])
        return str(found[0] or everyone[0])

    def _outputs(self, made: dict[str, torch.Tensor]) -> dict[str, float]:
        """Numbers that the step returned, means over the replicas, on every rank."""
        specs = [(name, self.p.program.spec(ref)) for name, ref in self.p.program.outputs]
        names = [name for name, spec in specs if not spec.shape]
        if not names:
            return {}
        values = torch.tensor([float(made[n]) if n in made else 0.0 for n in names], dtype=torch.float64)
        if self.ranks.world > 1:
            try:
                dist.all_reduce(values)
            except RuntimeError as error:
                raise RankLost(f"a rank is gone ({' '.join(str(error).split())[-160:]})") from error
        return {n: float(v) / self.options.replicas for n, v in zip(names, values)}

    # -- words ----------------------------------------------------------------------------------------------------------------------

    def _describe(self) -> None:
        plan, placement = self.p.plan, self.p.plan.placement
        self._write({"rank": self.ranks.rank, "device": self.p.own, "replica": self.p.replica, "nodes": len(self.plan.nodes),
                     "emulated_peak_bytes": self.plan.emulated_peak, "emulated_ns": placement.schedule.makespan,
                     "bucket_peak_bytes": self.plan.buckets.peak if self.plan.buckets else 0})
        if self.ranks.rank == 0:
            print("\n".join(description(self.p.graph.name, plan, self.plan, self.options.replicas, self.options.bucket)))
            print(f"state       {self.p.start.note}; first step {self.p.start.step}", flush=True)

    def _summary(self) -> None:
        meter = self.engine.meter
        steady = self.times[min(self.options.warm_up, len(self.times) - 1):] if self.times else []
        mine = {"nodes": len(self.plan.nodes), "peak": meter.peak, "emulated": self.plan.emulated_peak,
                "bucket": self.plan.buckets.peak if self.plan.buckets else 0, "ms": sum(steady) / len(steady) * 1e3 if steady else 0.0}
        everyone: list[Any] = [None] * self.ranks.world
        dist.all_gather_object(everyone, mine)
        self._write({"mean_ms": mine["ms"], "steady_steps": len(steady), "peak_bytes": meter.peak, "waits_for_memory": self.engine.stalls})
        if self.ranks.rank == 0:
            print("\n".join(summary(everyone, self.p.plan.placement.devices, len(steady), len(self.times) - len(steady))), flush=True)

    def _write(self, row: dict[str, Any]) -> None:
        if self.options.log is None:
            return
        if self.log is None:
            Path(self.options.log).mkdir(parents=True, exist_ok=True)
            self.log = open(Path(self.options.log) / f"rank{self.ranks.rank}.jsonl", "w", encoding="utf-8")
        self.log.write(json.dumps(row) + "\n")
        self.log.flush()

    # -- state ----------------------------------------------------------------------------------------------------------------------

    def _save(self, step: int) -> None:
        """Replica 0's state: gathered on rank 0, or a file per rank. Parameters are equal on all replicas; batch statistics are replica 0's."""
        if self.p.replica:
            return
        program, start, path = self.p.program, self.p.start, self.options.save
        assert path is not None
        if self.options.sharded:
            Path(path).mkdir(parents=True, exist_ok=True)
            own = {ref: t.cpu() for ref, t in self.engine.state.items()}
            save(Path(path) / SHARD.format(self.ranks.rank), content_of(program, own, start, step))
            return
        owner = {n: int(d) for n, d in enumerate(self.p.plan.placement.device)}
        found = gathered(program, self.engine.state, owner, self.ranks.rank, _send, _receive)
        if found is not None:
            save(path, content_of(program, found, start, step))
            print(f"saved       {path}", flush=True)


def _send(tensor: torch.Tensor, target: int) -> None:
    _transferred(lambda: dist.send(tensor.cpu(), target), target)


def _receive(tensor: torch.Tensor, source: int) -> None:
    _transferred(lambda: dist.recv(tensor, source), source)


def _transferred(action: Callable[[], Any], peer: int) -> None:
    try:
        action()
    except RuntimeError as error:
        raise RankLost(f"no connection to rank {peer} any more ({' '.join(str(error).split())[-160:]})") from error


__all__ = ["Options", "run"]
