"""The largest batch that fits on K devices, and how fast it is: ``python -m pardnn.batch_curve MODEL.py:function --batches 8,16,32 --devices 1,2,4 ...``.

The model's function is captured at several batch sizes (its argument ``--batch-name``) and placed by the pardnn program: ``fast`` finds the edge,
``default`` tries to push it out and gives the speed there.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .command_line import Parser
from .curve.judge import QUICK, THOROUGH, Judge, Point, capture_with
from .curve.largest import Verdict, largest_fitting
from .curve.machines import CurveError, devices_of_file, equal_devices
from .curve.report import csv_text, svg_text, table_lines
from .program_path import program_path
from .atomic_file import write_text

MODULE = "pardnn.batch_curve"


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code: 0, or 3 for what the user has to mend."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    cut = given.index("--") if "--" in given else len(given)
    told = _parser().parse_args(given[:cut])
    try:
        _run(told, given[cut + 1:])
    except (ValueError, OSError) as error:
        print(f"{MODULE}: {' '.join(str(error).split())}", file=sys.stderr)
        return 3
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog=f"python -m {MODULE}", description="The largest batch that fits on K devices, by captures at several batch sizes.",
                                     epilog="What follows -- goes to python -m pardnn.capture_torch: ... -- --optimizer adam --costs roofline:A100")
    parser.add_argument("model", metavar="MODEL.py:function", help="as for pardnn.capture_torch; takes the batch size as an argument")
    sizes = parser.add_mutually_exclusive_group(required=True)
    sizes.add_argument("--batches", metavar="B,...", help="batch sizes to choose from")
    sizes.add_argument("--largest", type=int, metavar="B", help="all whole numbers up to this one, by bisection")
    parser.add_argument("--devices", required=True, metavar="K,...", help="numbers of devices")
    parser.add_argument("--batch-name", default="batch", metavar="NAME", help="the function's argument that is the batch size (batch)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings", help="another argument of the function; may be repeated")
    parser.add_argument("--machine", metavar="FILE|NAME", help="the first K devices of this machine; else K equal ones by the options below")
    for option, what in (("memory", "of each device, 16GiB"), ("bandwidth", "of every link"), ("latency", "of every link"), ("links", "free or ports"),
                         ("headroom", "share of memory left free")):
        parser.add_argument(f"--{option}", metavar="X", help=f"{what}; as for pardnn partition")
    parser.add_argument("--policy", metavar="WORD", help="fifo or priority; as for pardnn partition")
    parser.add_argument("--threads", metavar="N", help="threads of the program")
    parser.add_argument("--all", action="store_true", help="judge all of --batches, not only those that find the largest")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the captured graphs there")
    parser.add_argument("-o", "--output", required=True, metavar="CURVE.csv", help="all that was judged")
    parser.add_argument("--plot", metavar="CURVE.svg", help="largest batch and samples per second over devices")
    parser.add_argument("-q", "--quiet", action="store_true", help="no lines about the progress")
    return parser


def _run(told: argparse.Namespace, more: list[str]) -> None:
    devices = _numbers("--devices", told.devices)
    batches = _numbers("--batches", told.batches) if told.batches else range(1, _at_least_one("--largest", told.largest) + 1)
    if told.all and not told.batches:
        raise CurveError("--all judges all of --batches; there are none")
    if told.machine is None and told.memory is None:
        raise CurveError("without --memory or --machine memory is unlimited, and every batch fits")
    for path, ending in ((told.output, ".csv"), (told.plot, ".svg")):
        if path is not None and (Path(path).suffix != ending or not Path(path).absolute().parent.is_dir()):
            raise CurveError(f"{path}: expected a file that ends in {ending}, in a folder that exists")
    if told.keep and not Path(told.keep).is_dir():
        raise CurveError(f"--keep {told.keep}: no such folder")
    with tempfile.TemporaryDirectory(prefix="pardnn-curve-") as scratch:
        judge = _judge(told, more, Path(scratch), devices)
        largest = {k: found for k in devices if (found := _largest(judge, k, batches)) is not None}
        if told.all:
            for k in devices:
                for batch in batches:
                    judge.point(k, batch, QUICK)
    _report(told, judge, devices, batches, largest)


def _judge(told: argparse.Namespace, more: list[str], scratch: Path, devices: Sequence[int]) -> Judge:
    program = program_path()
    links = {"links": told.links, "headroom": told.headroom}
    if told.machine is None:
        machine = equal_devices({"memory": told.memory, "bandwidth": told.bandwidth, "latency": told.latency, **links})
    else:
        for option in ("memory", "bandwidth", "latency"):
            if getattr(told, option) is not None:
                raise CurveError(f"--{option} and --machine: the machine says it")
        machine = devices_of_file(program, told.machine, links, scratch)
        machine(max(devices))
    options = [word for name in ("policy", "threads") if getattr(told, name) is not None for word in (f"--{name}", getattr(told, name))]
    said = (lambda text: None) if told.quiet else (lambda text: print(text, file=sys.stderr, flush=True))
    folder = Path(told.keep) if told.keep else scratch
    return Judge(program, folder, capture_with(told.model, told.settings, told.batch_name, more), machine, options, said)


def _largest(judge: Judge, devices: int, batches: Sequence[int]) -> int | None:
    """The largest batch that fits, judged thoroughly as well."""
    def verdict(index: int, thorough: bool) -> Verdict:
        point = judge.point(devices, batches[index], THOROUGH if thorough else QUICK)
        return Verdict(point.fits, point.proven)

    index = largest_fitting(len(batches), verdict)
    if index < 0:
        return None
    judge.point(devices, batches[index], THOROUGH)
    return batches[index]


def _report(told: argparse.Namespace, judge: Judge, devices: Sequence[int], batches: Sequence[int], largest: dict[int, int]) -> None:
    judged = sorted({(k, batch) for k, batch, _ in judge.points})
    points = [point for k, batch in judged if (point := judge.best(k, batch)) is not None]
    best: dict[int, Point | None] = {k: judge.best(k, largest[k]) if k in largest else None for k in devices}
    write_text(told.output, csv_text(points, largest))
    if told.plot:
        write_text(told.plot, svg_text(best, told.model.rpartition("/")[2]))
    for line in table_lines(best):
        print(line)
    at_end = [str(k) for k in devices if largest.get(k) == batches[-1]]
    if at_end:
        print(f"note        the largest batch that was allowed, {batches[-1]}, fits on {', '.join(at_end)} devices: larger ones may")
    print(f"judged      {len(judge.points)} placements of {len(judge.samples)} captures; written {', '.join(p for p in (told.output, told.plot) if p)}")


def _numbers(option: str, text: str) -> list[int]:
    """"1,2,4": ascending, each once."""
    words = text.split(",")
    if not all(word.strip().isdigit() and int(word) > 0 for word in words):
        raise CurveError(f"{option} {text}: expected whole numbers above 0 with commas between")
    return sorted({int(word) for word in words})


def _at_least_one(option: str, value: int) -> int:
    if value < 1:
        raise CurveError(f"{option} {value}: expected at least 1")
    return value


if __name__ == "__main__":
    sys.exit(main())
