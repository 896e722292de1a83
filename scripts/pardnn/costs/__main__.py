"""``python -m pardnn.costs``: the devices that a roofline is known of, or what a profiler's trace holds."""

from __future__ import annotations

import sys

from ..command_line import WRONG, Parser, whole
from ..graph import printable
from . import devices, spec
from .trace import TraceModel


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0, or 3 with one line on standard error for what the user has to mend."""
    parser = Parser(prog="python -m pardnn.costs", description=__doc__, epilog=f"cost models: {', '.join(spec.KNOWN)}")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--devices", action="store_true", help="published peaks (TFLOP/s), bandwidth and memory of the devices, with sources")
    what.add_argument("--trace", metavar="FILE", help="summary of a torch.profiler trace (export_chrome_trace, .json or .json.gz)")
    parser.add_argument("--top", type=whole(0), default=10, metavar="N", help="operations to list of a trace (default: %(default)s)")
    options = parser.parse_args(arguments)
    if options.devices:
        print(devices.table())
        return 0
    try:
        model = spec.cost_model(f"trace:{options.trace}")
    except ValueError as error:
        print(f"pardnn.costs: {printable(str(error))}", file=sys.stderr)
        return WRONG
    assert isinstance(model, TraceModel)
    print("\n".join([*model.summary, *model.top(options.top)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
