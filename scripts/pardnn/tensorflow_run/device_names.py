"""Device indices as TensorFlow writes them: ``/device:GPU:2``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ..capture_common import Report
from .assign import Assignment
from .errors import PlaceError
from .kernels import has_gpu_kernel, knows_gpus

KINDS = ("cpu", "gpu")
HOST = "/device:CPU:0"
_DEVICE = re.compile(r"/device:(CPU|GPU):(\d+)$")


def device_names(definition: Any, found: Assignment, kind: str, report: Report, runs_on_gpu: Callable[[Any], bool] | None = None) -> list[str]:
    """The device of each node. On GPUs a node without a kernel there is on the host, and with it all that TensorFlow keeps on its device.

    ``runs_on_gpu``: says of a NodeDef if it has such a kernel; as this TensorFlow tells by default.
    """
    if kind not in KINDS:
        raise PlaceError(f"kind of device '{kind}': expected {' or '.join(KINDS)}")
    names = [f"/device:{kind.upper()}:{device}" for device in found.device]
    replaced = [node.name for node in definition.node if node.device]
    report.count("nodes whose own device is replaced", replaced[0] if replaced else "", len(replaced))
    if kind == "cpu":
        return names
    if runs_on_gpu is None and not knows_gpus():
        report.note("this TensorFlow has no kernels for GPUs: which nodes have none is not known, and none is put on the host")
        return names
    test = runs_on_gpu or has_gpu_kernel
    on_host = {leader for node, leader in zip(definition.node, found.leader) if not test(node)}
    moved = [n for n, leader in enumerate(found.leader) if leader in on_host]
    report.count("nodes on the host, as they or their group have no kernel for GPUs", definition.node[moved[0]].name if moved else "", len(moved))
    for n in moved:
        names[n] = HOST
    return names


def devices_used(names: Iterable[str]) -> dict[str, int]:
    """The highest index of each kind of device among ``names``, by ``cpu`` and ``gpu``."""
    used: dict[str, int] = {}
    for name in set(names):
        match = _DEVICE.search(name)
        if match:
            kind = match.group(1).lower()
            used[kind] = max(used.get(kind, 0), int(match.group(2)))
    return used


def counts(names: Iterable[str]) -> list[tuple[str, int]]:
    """How many nodes each device has, by kind and index."""
    found = Counter(name.removeprefix("/device:").lower() for name in names)
    return sorted(found.items(), key=lambda entry: (entry[0].split(":")[0], int(entry[0].split(":")[1])))
