"""The hosts of a plan's ranks: ``python -m pardnn.plan_hosts plan.json`` prints the host of each rank, a line each, as a hostfile has them.

``--name A:8,B:8`` first gives the plan's hosts other names, in its order; numbers of devices are checked. A job that is requeued on other nodes runs
its plan there.
"""

from __future__ import annotations

import argparse
import json
import sys

from .atomic_file import write_text
from .runtime.errors import RunError
from .runtime.plan_file import Plan, read_plan
from .runtime.seats import renamed, seats


def main(arguments: list[str] | None = None) -> int:
    """The command line; exit code 0, or 3 with one line on standard error."""
    parser = argparse.ArgumentParser(prog="python -m pardnn.plan_hosts", description="Prints the host of each rank of a plan.")
    parser.add_argument("plan", metavar="PLAN.json", help="a plan of pardnn plan, with names of hosts (--hosts)")
    parser.add_argument("--name", metavar="HOST:DEVICES,...", help="give the plan's hosts these names, in its order")
    told = parser.parse_args(arguments)
    try:
        plan = _plan(told.plan)
        if told.name is not None:
            write_text(told.plan, json.dumps(renamed(plan, [_named(word) for word in told.name.split(",")])) + "\n")
            plan = _plan(told.plan)
        hosts = [seat.host for seat in seats(plan)]
        if None in hosts:
            raise RunError(f"{told.plan}: its hosts have no names; pardnn plan --hosts A:8,B:8 or --name gives them some")
    except (RunError, OSError) as error:
        print(f"pardnn.plan_hosts: {error}", file=sys.stderr)
        return 3
    print("\n".join(str(host) for host in hosts))
    return 0


def _plan(path: str) -> Plan:
    plan = read_plan(path)
    if plan is None:
        raise RunError(f"{path}: expected a plan of pardnn plan (.json)")
    return plan


def _named(word: str) -> tuple[str, int]:
    name, _, devices = word.rpartition(":")
    if not name or not devices.isdigit():
        raise RunError(f"--name: '{word}': expected HOST:DEVICES")
    return name, int(devices)


if __name__ == "__main__":
    sys.exit(main())
