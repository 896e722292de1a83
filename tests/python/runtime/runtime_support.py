"""Runs of several ranks inside tests: processes forked from one that has torch loaded, and plain runs to compare with."""

from __future__ import annotations

import functools
import multiprocessing
import os
import pathlib
import random
import subprocess
from dataclasses import dataclass
from typing import Any

import runtime_models
import torch

from pardnn.costs import cost_model
from pardnn.graph import Graph
from pardnn.torch_step.capture import Capture, capture_step
from pardnn.torch_step.optimizers import capturable
from pardnn.torch_step.randomness import seeded_step
from pardnn.torch_step.state import module_state
from pardnn.torch_step.step import split_inputs, train_step

MODELS = pathlib.Path(runtime_models.__file__)
os.environ["PYTHONPATH"] = os.pathsep.join([str(MODELS.parent), str(MODELS.parents[3] / "scripts"), os.environ.get("PYTHONPATH", "")])  # of all ranks
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # as pardnn.run does; for processes that are started from here
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["torch", "torch.distributed", "torch._dynamo", "pardnn.runtime.worker", "pardnn.run", "runtime_models"])


@dataclass
class Result:
    """Exit codes and what each rank printed."""

    codes: list[int]
    out: list[str]
    err: list[str]


def run_ranks(folder: pathlib.Path, world: int, **options: Any) -> Result:
    """The ranks of ``pardnn.run`` with these options, as processes."""
    return finish(start_ranks(folder, world, [options] * world))


def start_ranks(folder: pathlib.Path, world: int, options: list[dict[str, Any]]) -> list[Any]:
    meeting = folder / f"meet{len(list(folder.iterdir()))}"
    processes = []
    for rank in range(world):
        process = _CONTEXT.Process(target=_rank, args=(rank, world, str(meeting), options[rank]))
        process.start()
        processes.append((process, meeting))
    return processes


def finish(processes: list[Any], seconds: float = 90.0) -> Result:
    for process, _ in processes:
        process.join(seconds)
    hung = [rank for rank, (process, _) in enumerate(processes) if process.is_alive()]
    for process, _ in processes:
        process.kill()
        process.join()
    assert not hung, f"ranks {hung} hang"
    read = lambda kind: [pathlib.Path(f"{meeting}.{rank}.{kind}").read_text() for rank, (_, meeting) in enumerate(processes)]
    return Result([process.exitcode for process, _ in processes], read("out"), read("err"))


def _rank(rank: int, world: int, meeting: str, options: dict[str, Any]) -> None:
    for number, kind in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{meeting}.{rank}.{kind}", os.O_WRONLY | os.O_CREAT), number)
    os.environ.update({"RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(rank), "PARDNN_RENDEZVOUS": meeting})
    torch.set_num_threads(1)
    from pardnn.run import _call
    from pardnn.runtime.options import Options
    from pardnn.runtime.worker import run

    given = {k: functools.partial(_call, v, []) if k in ("model", "data") and v else v for k, v in options.items()}
    code = run(Options(**{"timeout": 60.0, **given}))
    os._exit(code)


def function(name: str) -> str:
    return f"{MODELS}:{name}"


def capture(name: str, micro_batches: int = 1) -> Capture:
    """The captured step of a model of :mod:`runtime_models`."""
    torch.manual_seed(0)
    return capture_step(getattr(runtime_models, name)(), cost_model("roofline:V100"), micro_batches=micro_batches)


def partition(binary: str, graph: pathlib.Path, devices: int, target: pathlib.Path) -> pathlib.Path:
    subprocess.run([binary, "partition", str(graph), "--devices", str(devices), "--threads", "1", "-q", "-o", str(target)], check=True)
    return target


def random_placement(graph: Graph, devices: int, seed: int, target: pathlib.Path) -> pathlib.Path:
    """A random one that respects views and colocation groups, as a TSV file."""
    leader = list(range(graph.num_nodes))

    def find(n: int) -> int:
        while leader[n] != n:
            leader[n] = leader[leader[n]]
            n = leader[n]
        return n

    first: dict[int, int] = {}
    for n in range(graph.num_nodes):
        if graph.alias[n] >= 0:
            leader[find(n)] = find(int(graph.alias[n]))
        if graph.colocation[n] >= 0:
            leader[find(n)] = find(first.setdefault(int(graph.colocation[n]), n))
    draw = random.Random(seed)
    device: dict[int, int] = {}
    lines = [f"{graph.names[n]}\t{device.setdefault(find(n), draw.randrange(devices))}\n" for n in range(graph.num_nodes)]
    assert set(device.values()) == set(range(devices))
    target.write_text("".join(lines))
    return target


@dataclass
class Plain:
    """What plain eager steps in one process give: losses, all tensors by name, optimizer state."""

    losses: list[float]
    tensors: dict[str, torch.Tensor]
    optimizer: dict[str, Any]


def plain_run(name: str, data: str, steps: int, parts: int = 1, captured_form: bool = True, **sizes: Any) -> Plain:
    """Eager training with the seeds of a run; ``captured_form``: optimizers compute as in a captured step (see ``capturable``)."""
    torch.manual_seed(0)
    step = getattr(runtime_models, name)(**sizes)
    optimizer = step.optimizer(step.module.parameters())
    batches = runtime_models.DATA[data]()
    losses = []
    for number in range(steps):
        batch = next(batches)
        with capturable([optimizer] if captured_form else []), seeded_step(0, number):
            losses.append(float(train_step(step, optimizer, split_inputs(batch, parts))["loss"]))
    return Plain(losses, module_state(step.module), optimizer.state_dict())


def losses_in(text: str) -> list[float]:
    return [float(line.split("loss ")[1].split(",")[0]) for line in text.splitlines() if line.startswith("step ") and "loss" in line]


def apart(a: torch.Tensor, b: torch.Tensor) -> float:
    """The greatest difference, relative to the greatest element."""
    if not a.numel():
        return 0.0
    a, b = a.double(), b.double()
    return float((a - b).abs().max() / b.abs().max().clamp_min(1e-30))
