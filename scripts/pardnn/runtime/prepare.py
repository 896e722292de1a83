"""All that a rank reads and makes before the ranks agree: graph, plan, state to start from, inputs."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from ..atomic_file import check_target
from ..graph import Graph
from ..graph_file import read_extra
from ..torch_step.program import DATASET, Program, load_program
from .batches import Batches
from .errors import RunError
from .fingerprint import fingerprint
from .options import BACKENDS, Options
from .placement import Placement, read_placement
from .plan import StepPlan, plan_step
from .ranks import Ranks
from .seats import names_of_this_host, seated
from .state_file import State, read_state, state_of_step, synthetic_state


@dataclass
class Prepared:
    """``own``: this rank's device in the placement. ``first``: the number of the first step, past the start where a checkpoint goes on.

    ``settings``: what has to be the same on all ranks, by name.
    """

    graph: Graph
    program: Program
    plan: StepPlan
    start: State
    first: int
    batches: Batches
    device: torch.device
    own: int
    replica: int
    settings: dict[str, str]


def prepare(options: Options, ranks: Ranks, reached: int | None = None) -> Prepared:
    """Reads everything that this rank needs; ``reached``: the step that a checkpoint goes on from. Raises ValueError or OSError where something is wrong."""
    ranks.progress.does("reading the graph and its placement")
    graph, program = load_program(options.graph)
    ranks.progress.names = graph.names
    placement = read_placement(options.placement, graph)
    _check_ranks(placement, ranks, options)
    device = seated(ranks, options.placement, options.replicas, names_of_this_host()).device(BACKENDS[options.backend][1])
    replica, own = divmod(ranks.rank, placement.devices)
    plan = plan_step(program, graph, placement, only=[own], replicas=options.replicas, bucket_bytes=options.bucket, ahead=options.ahead)
    ranks.progress.does("making the state (--model, --state)")
    start = _start(options, program)
    ranks.progress.does("beginning with the batches (--data)")
    first = start.step if reached is None else reached
    if not start.step <= first <= start.step + options.steps:
        raise RunError(f"{options.checkpoint}: a checkpoint before step {first}, the run is of steps {start.step} to {start.step + options.steps - 1}")
    batches = Batches(program, _given(options, first), seed=options.seed, replica=replica, replicas=options.replicas)
    _check_save(options)
    settings = {"the graph": digest([fingerprint(graph) or "", *graph.names], read_extra(options.graph, DATASET) or b""),
                "the placement": digest([], placement.device.tobytes() + plan.placement.schedule.order.tobytes()),
                "the step to start from": str(start.step), "PyTorch": str(torch.__version__), **_told(options)}
    return Prepared(graph, program, plan, start, first, batches, device, own, replica, settings)


def digest(texts: list[str], raw: bytes) -> str:
    """A short word that differs where the contents do."""
    return hashlib.blake2b("\n".join(texts).encode() + b"\n" + raw, digest_size=6).hexdigest()


def _start(options: Options, program: Program) -> State:
    torch.manual_seed(options.seed)
    start = state_of_step(_model(options.model)) if options.model else State(note="no state given")
    if options.state is not None:
        return read_state(options.state, start)
    return start if options.model else synthetic_state(program, options.seed)


def _given(options: Options, skipped: int) -> Iterator[Any] | None:
    """The user's batches; a run that goes on sees those that follow."""
    torch.manual_seed(options.seed)
    if not options.data:
        return None
    given = _batches(options.data)
    next(itertools.islice(given, skipped, skipped), None)
    return given


def _told(options: Options) -> dict[str, str]:
    names = ("steps", "replicas", "seed", "sharded", "backend", "bucket", "ahead", "save", "state",
             "checkpoint", "checkpoint_steps", "heartbeat")
    return {"--" + k.replace("_", "-"): str(getattr(options, k)) for k in names} | options.labels


def _model(function: Callable[[], Any]) -> Any:
    from ..torch_step.step import as_step

    return as_step(_called("--model", function))


def _batches(function: Callable[[], Any]) -> Iterator[Any]:
    given = _called("--data", function)
    try:
        return iter(given)
    except TypeError as error:
        raise RunError(f"--data: expected a function that yields the inputs of each step, it returned {type(given).__name__}") from error


def _called(option: str, function: Callable[[], Any]) -> Any:
    """What the user's function returns; RunError with its place where it ends otherwise."""
    from ..capture_common import CaptureError
    from ..capture_common.places import first_line, place_of

    try:
        return function()
    except CaptureError:
        raise
    except (Exception, SystemExit) as error:
        raise RunError(f"{option}: {place_of(error)}: {first_line(error)}") from error


def _check_ranks(placement: Placement, ranks: Ranks, options: Options) -> None:
    wanted = placement.devices * options.replicas
    if ranks.world != wanted:
        replicas = f" x {options.replicas} replicas" if options.replicas > 1 else ""
        raise RunError(f"{options.placement}: needs {wanted} ranks ({placement.devices} devices{replicas}), there are {ranks.world}")


def _check_save(options: Options) -> None:
    if options.save and not options.sharded:
        check_target(options.save)
    elif options.save and not Path(options.save).absolute().parent.is_dir():
        raise RunError(f"{options.save}: its folder does not exist")
