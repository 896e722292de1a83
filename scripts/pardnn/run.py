"""Runs a placed training step over processes: ``python -m pardnn.run GRAPH.h5 PLACEMENT.h5 --launch 4``, or the same without ``--launch`` under torchrun."""

from __future__ import annotations

import argparse
import functools
import os
import sys
from typing import TYPE_CHECKING, Any

from .command_line import Parser

if TYPE_CHECKING:
    from .runtime.options import Options


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code: 0; 3 for what the user has to mend; 4 where a rank is lost; 128 + n where signal n stopped it."""
    given = sys.argv[1:] if arguments is None else arguments
    told = _parser().parse_args(given)
    if told.launch is not None:
        if told.launch < 1:
            print(f"pardnn.run: --launch {told.launch}: expected a number of processes", file=sys.stderr)
            return 3
        from .runtime.launch import launch

        return launch(_without_launch(given), told.launch, kept=told.checkpoint is not None)
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # PyTorch warns, at length, of each connection to a rank that is gone
    try:
        import torch  # noqa: F401
    except ImportError as error:
        print(f"pardnn.run: PyTorch is not installed ({error})", file=sys.stderr)
        return 3
    from .runtime.worker import run

    from .machine.job import torchrun_words

    try:
        options = _options(told)
        os.environ.update(torchrun_words(os.environ))
    except ValueError as error:
        print(f"pardnn.run: {error}", file=sys.stderr)
        return 3
    code = run(options)
    sys.stdout.flush()
    if code:
        os._exit(code)  # threads of a network that is gone are not waited for
    return code


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m pardnn.run", description="Runs a captured and placed training step, a process per device.")
    parser.add_argument("graph", metavar="GRAPH.h5", help="a graph file of python -m pardnn.capture_torch")
    parser.add_argument("placement", metavar="PLACEMENT", help="its placement: .h5 (with the order of its run), .tsv or .json, or a plan (.json)")
    parser.add_argument("--launch", type=int, metavar="N", help="start N processes on this machine; without it torchrun or the like has to")
    parser.add_argument("--replicas", type=int, metavar="R", help="data-parallel copies of the placement: R x devices ranks (the plan's, else 1)")
    parser.add_argument("--steps", type=int, default=10, help="steps to run (10)")
    parser.add_argument("--seed", type=int, default=0, help="of random operations, synthetic inputs and the model (0)")
    parser.add_argument("--model", metavar="FILE.py:FUNCTION", help="the function that was captured: initial parameters and buffers are its module's")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="arguments", help="an argument of --model's function; may be repeated")
    parser.add_argument("--state", metavar="FILE", help="state to start from: a file of torch.save, or a folder of --sharded")
    parser.add_argument("--data", metavar="FILE.py:FUNCTION",
                        help="FUNCTION() yields the inputs of each step from step 0 on, for all replicas; default: seeded synthetic ones")
    parser.add_argument("--save", metavar="FILE", help="write the state after the last step, gathered on rank 0")
    parser.add_argument("--sharded", action="store_true", help="--save names a folder and each rank writes its own part")
    parser.add_argument("--checkpoint", metavar="FOLDER", help="SIGTERM, SIGUSR1 and SIGINT end the run after the step, with its state kept here (exit code "
                        "128 + n); the same command goes on from it, to the last bit, until --steps in all are done")
    parser.add_argument("--checkpoint-steps", type=int, default=0, metavar="N", help="keep the state after every N steps, too (0: only when stopped)")
    parser.add_argument("--log", metavar="FOLDER", help="a file of JSON lines per rank: steps, seconds, bytes")
    parser.add_argument("--backend", choices=("gloo", "nccl"), default="gloo", help="gloo: CPUs; nccl: a GPU per rank (gloo)")
    parser.add_argument("--bucket", metavar="SIZE", help="gradients averaged at once (the plan's, else 25MB)")
    parser.add_argument("--memory", metavar="SIZE", help="live bytes from which a rank waits for its sends (its emulated peak)")
    parser.add_argument("--ahead", type=int, default=0, metavar="N", help="receives begin N operations earlier than emulated, with more memory (0)")
    parser.add_argument("--warm-up", type=int, default=3, metavar="N", help="steps that the mean leaves out (3)")
    parser.add_argument("--threads", type=int, help="threads of each rank")
    parser.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS", help="a rank that waits longer for another gives up (600)")
    parser.add_argument("--heartbeat", type=float, default=30.0, metavar="SECONDS",
                        help="a rank whose process does not answer for so long is lost; long operations do not matter; 0: off (30)")
    return parser


def _without_launch(given: list[str]) -> list[str]:
    """The arguments for the ranks."""
    kept: list[str] = []
    skip = False
    for word in given:
        if skip or word.startswith("--launch="):
            skip = False
        elif word == "--launch":
            skip = True
        else:
            kept.append(word)
    return kept


_FOR_EVER = 1e9  # s


def _options(told: argparse.Namespace) -> Options:
    from .runtime.plan_file import read_plan
    from .runtime.options import Options

    plan = read_plan(told.placement)
    if told.replicas is None:
        told.replicas = plan.replicas if plan else 1
    if told.bucket is None:
        told.bucket = str(plan.bucket) if plan else "25MB"
    for name, least in (("replicas", 1), ("steps", 0), ("ahead", 0), ("warm_up", 0), ("checkpoint_steps", 0)):
        if getattr(told, name) < least:
            raise ValueError(f"--{name.replace('_', '-')} {getattr(told, name)}: expected at least {least}")
    if not 0 < told.timeout < _FOR_EVER:
        raise ValueError(f"--timeout {told.timeout:g}: expected seconds")
    if told.heartbeat and not 1 <= told.heartbeat < _FOR_EVER:
        raise ValueError(f"--heartbeat {told.heartbeat:g}: expected at least 1 second, or 0")
    if told.checkpoint_steps and told.checkpoint is None:
        raise ValueError("--checkpoint-steps: expected --checkpoint FOLDER, too")
    return Options(
        graph=told.graph, placement=told.placement, steps=told.steps, replicas=told.replicas, seed=told.seed,
        model=functools.partial(_call, told.model, told.arguments) if told.model else None, state=told.state,
        data=functools.partial(_call, told.data, []) if told.data else None, save=told.save, sharded=told.sharded, log=told.log, backend=told.backend,
        bucket=_bytes("--bucket", told.bucket), ahead=told.ahead, memory=None if told.memory is None else _bytes("--memory", told.memory),
        warm_up=told.warm_up, threads=told.threads, timeout=told.timeout, heartbeat=told.heartbeat,
        checkpoint=told.checkpoint, checkpoint_steps=told.checkpoint_steps,
        labels={"--model": f"{told.model} {told.arguments}", "--data": str(told.data)})


def _call(function: str, arguments: list[str]) -> Any:
    """What the user's function returns."""
    from .capture_common.user_function import check_arguments, load_function, settings

    call, values = load_function(function), settings(arguments)
    check_arguments(call, values, function)
    return call(**values)


_UNITS = {"": 1, "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def _bytes(option: str, text: str) -> int:
    number = text.strip().rstrip("BKkMGi")
    unit = text.strip()[len(number):]
    try:
        return int(float(number) * _UNITS[unit])
    except (ValueError, KeyError):
        raise ValueError(f"{option} {text}: expected a size like 25MB or 64MiB") from None


if __name__ == "__main__":
    sys.exit(main())
