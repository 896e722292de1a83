"""Placement files (.h5, .tsv, .json) for one graph: read, held against the graph, and completed with the order of the emulated run."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from ..graph import Graph, Int64
from .errors import RunError
from .fingerprint import fingerprint
from .links import Machine
from .memory import roots
from .plan_file import Plan, read_plan
from .schedule import Schedule, deliveries, emulate, in_order


@dataclass
class Placement:
    """``device`` of each node, int64[V]; ``devices``: how many there are. ``schedule``: the emulated run, from the file or computed here."""

    device: Int64
    devices: int
    schedule: Schedule
    machine: Machine
    computed: bool = False


def read_placement(path: str | os.PathLike[str], graph: Graph) -> Placement:
    """Reads a placement of ``graph``, or that of a plan. Raises RunError where it is none, is of another graph, or breaks its rules."""
    plan = read_plan(path)
    if plan is not None and plan.file is None:
        found = _of_plan(plan, graph)
        check_legal(str(path), graph, found.device)
        return found
    if plan is not None and plan.file is not None:
        path = plan.file
    readers = {".h5": _read_hdf5, ".tsv": _read_tsv, ".json": _read_json}
    reader = readers.get(Path(path).suffix)
    if reader is None:
        raise RunError(f"{path}: expected a placement file that ends in .h5, .tsv or .json")
    if not Path(path).is_file():
        raise RunError(f"{path}: no such file")
    found = reader(str(path), graph)
    check_legal(str(path), graph, found.device)
    return found


def _of_plan(plan: Plan, graph: Graph) -> Placement:
    _check_fingerprint(plan.path, graph, plan.fingerprint)
    try:
        device, order, machine = plan.placed(graph)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, RunError):
            raise
        raise RunError(f"{plan.path}: a broken plan ({error!r})") from error
    return Placement(device, plan.devices, in_order(graph, device, machine, order), machine)


def placed(graph: Graph, device: Int64, devices: int) -> Placement:
    """A placement without a file, on equal devices: the order is that of an emulated run."""
    machine = Machine.equal(devices)
    return Placement(device, devices, emulate(graph, device, machine), machine, computed=True)


def check_legal(path: str, graph: Graph, device: Int64) -> None:
    """Devices are there; views, colocation groups and pinned nodes are respected."""
    if (device < 0).any():
        bad = int(np.flatnonzero(device < 0)[0])
        raise RunError(f"{path}: node '{graph.names[bad]}' is on device {device[bad]}")
    root = roots(graph)
    apart = np.flatnonzero(device != device[root])
    if len(apart):
        raise RunError(f"{path}: '{graph.names[apart[0]]}' is a view of '{graph.names[root[apart[0]]]}' but on another device")
    grouped = np.flatnonzero(graph.colocation >= 0)
    if len(grouped):
        first = np.full(int(graph.colocation.max()) + 1, -1)
        first[graph.colocation[grouped[::-1]]] = grouped[::-1]
        leader = first[graph.colocation[grouped]]
        split = np.flatnonzero(device[grouped] != device[leader])
        if len(split):
            raise RunError(f"{path}: '{graph.names[grouped[split[0]]]}' and '{graph.names[leader[split[0]]]}' belong together but are on two devices")
    moved = np.flatnonzero((graph.fixed >= 0) & (graph.fixed != device))
    if len(moved):
        raise RunError(f"{path}: '{graph.names[moved[0]]}' is on device {device[moved[0]]}, pinned to {graph.fixed[moved[0]]}")


def _check_fingerprint(path: str, graph: Graph, given: str) -> None:
    expected = fingerprint(graph)
    if expected is not None and given != expected:
        raise RunError(f"{path}: is for another graph (fingerprint {given[:12]}..., the graph has {expected[:12]}...); partition this graph again")


def _read_hdf5(path: str, graph: Graph) -> Placement:
    try:
        with h5py.File(path, "r") as file:
            if _text(file.attrs.get("format", "")) != "pardnn-placement":
                raise RunError(f"{path}: attribute 'format' is not 'pardnn-placement'")
            columns = {name: file[name][...].astype(np.int64) if name in file else None for name in ("device", "order", "start_ns")}
            attributes = {name: _text(file.attrs[name]) for name in ("graph_fingerprint", "machine", "links") if name in file.attrs}
            devices = int(file.attrs["devices"]) if "devices" in file.attrs else 0
    except OSError as error:
        raise RunError(f"{path}: not an HDF5 file that can be read ({error})") from error
    for name, column in columns.items():
        if column is None and name == "device":
            raise RunError(f"{path}: dataset /device is missing")
        if column is not None and column.shape != (graph.num_nodes,):
            raise RunError(f"{path}: /{name} has {column.size} entries, the graph has {graph.num_nodes} nodes; is it of another graph?")
    _check_fingerprint(path, graph, attributes.get("graph_fingerprint", ""))
    device, order, start = columns["device"], columns["order"], columns["start_ns"]
    assert device is not None
    devices = max(devices, int(device.max(initial=0)) + 1)
    try:
        machine = Machine.parse(attributes["machine"]) if "machine" in attributes else Machine.equal(devices)
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path}: attribute 'machine': {error!r}") from error
    if len(machine.speed) < devices:
        raise RunError(f"{path}: attribute 'machine' has {len(machine.speed)} devices, the placement {devices}")
    if order is None or start is None:
        return Placement(device, devices, emulate(graph, device, machine), machine, computed=True)
    if (order[graph.source] >= order[graph.target]).any() or len(np.unique(order)) < len(order):
        raise RunError(f"{path}: /order is no topological order of the graph")
    finish = start + machine.duration(graph.comp, device)
    delivered = deliveries(graph, device, machine, finish, order, attributes.get("links") == "ports")
    return Placement(device, devices, Schedule(order, start, finish, delivered), machine)


def _read_tsv(path: str, graph: Graph) -> Placement:
    entries: dict[str, int] = {}
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        name, tab, device = line.rpartition("\t")
        if not tab or not device.strip().isdigit():
            raise RunError(f"{path}:{number}: expected name<TAB>device index")
        entries[name] = int(device)
    return _named(path, graph, entries)


def _read_json(path: str, graph: Graph) -> Placement:
    try:
        content: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
        entries = {str(name): int(device) for name, device in content["placement"].items()}
        given = str(content.get("graph", {}).get("fingerprint", ""))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{path}: not a placement in JSON ({error!r})") from error
    if given:
        _check_fingerprint(path, graph, given)
    return _named(path, graph, entries, len(content.get("devices", [])))


def _named(path: str, graph: Graph, entries: dict[str, int], devices: int = 0) -> Placement:
    if len(entries) != graph.num_nodes:
        raise RunError(f"{path}: places {len(entries)} nodes, the graph has {graph.num_nodes}; is it of another graph?")
    missing = next((name for name in graph.names if name not in entries), None)
    if missing is not None:
        raise RunError(f"{path}: node '{missing}' of the graph is not placed; is it of another graph?")
    device = np.array([entries[name] for name in graph.names], dtype=np.int64)
    return placed(graph, device, max(devices, int(device.max(initial=0)) + 1))


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
