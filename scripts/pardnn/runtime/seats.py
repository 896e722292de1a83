"""Where a plan puts each rank: on which host, and on which device there."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .errors import RunError
from .plan_file import Plan, read_plan

if TYPE_CHECKING:
    from .ranks import Ranks


@dataclass(frozen=True)
class Seat:
    """``host``: the name that the plan gives, None where hosts have no names. ``local``: the device's number on its host."""

    host: str | None
    local: int


def seats(plan: Plan) -> list[Seat]:
    """In the order of ranks. Raises RunError where the plan is broken."""
    try:
        found = [Seat(None if r["host_name"] is None else str(r["host_name"]), int(r["local_device"])) for r in plan.content["ranks"]]
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(f"{plan.path}: a broken plan ({error!r} in its ranks)") from error
    if len(found) != plan.replicas * plan.devices:
        raise RunError(f"{plan.path}: a broken plan (it has {len(found)} ranks, expected {plan.replicas} x {plan.devices})")
    return found


def names_of_this_host(environment: Mapping[str, str] = os.environ) -> set[str]:
    """As Slurm calls it, and as it calls itself, with and without its domain."""
    own = socket.gethostname()
    return {own, own.split(".")[0], environment.get("SLURMD_NODENAME", own)}


def seated(ranks: Ranks, path: str, replicas: int, names: set[str]) -> Ranks:
    """``ranks`` with the device that the plan in ``path`` gives this one on its host, which goes by ``names``; as they are where there is no such plan.

    Raises RunError where the rank is on another host than planned. With other ``replicas`` than the plan's its places do not apply.
    """
    plan = read_plan(path)
    if plan is None or plan.replicas != replicas:
        return ranks
    seat = seats(plan)[ranks.rank]
    if seat.host is not None and seat.host not in names and seat.host.split(".")[0] not in names:
        raise RunError(f"{plan.path}: rank {ranks.rank} is planned on host '{seat.host}', this is {' or '.join(sorted(names))}; start the ranks on the hosts "
                       "that `python -m pardnn.plan_hosts` prints, or give the plan's hosts other names with --name")
    return replace(ranks, local=seat.local)


def renamed(plan: Plan, hosts: list[tuple[str, int]]) -> dict[str, Any]:
    """The plan's content with other names for its hosts, in its order: name and number of devices each. Raises RunError where they do not match."""
    content = plan.content
    try:
        own = [(int(h["host"]), int(h["devices"])) for h in content["hosts"]]
        if len(own) != len(hosts):
            raise RunError(f"{plan.path}: {len(hosts)} hosts are named, the plan has {len(own)}")
        for (_, devices), (name, given) in zip(own, hosts):
            if given != devices:
                raise RunError(f"{plan.path}: '{name}' has {given} devices, the plan's host has {devices}")
        name_of = {host: name for (host, _), (name, _) in zip(own, hosts)}
        return {**content, "hosts": [{**h, "name": name_of[h["host"]]} for h in content["hosts"]],
                "ranks": [{**r, "host_name": name_of[r["host"]]} for r in content["ranks"]]}
    except (KeyError, TypeError) as error:
        raise RunError(f"{plan.path}: a broken plan ({error!r} in its hosts)") from error
