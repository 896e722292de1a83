"""The machine of each number of devices: equal devices by options, or the first K devices of a machine file."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py

from ..graph import GraphBuilder
from ..graph_file import write_graph


class CurveError(ValueError):
    """What the user has to mend: one line. Exit code 3."""


def equal_devices(options: dict[str, str | None]) -> Callable[[int], list[str]]:
    """The program's options for K equal devices; ``options``: "memory", "bandwidth" and so on, None where not given."""
    given = [word for name, value in options.items() if value is not None for word in (f"--{name}", value)]
    return lambda devices: ["--devices", str(devices), *given]


def devices_of_file(program: str, machine: str, options: dict[str, str | None], folder: Path) -> Callable[[int], list[str]]:
    """The program's options for the first K devices of ``machine``, a file or a shipped one; written to ``folder``."""
    whole = machine_as_read(program, machine, folder)
    given = [word for name, value in options.items() if value is not None for word in (f"--{name}", value)]

    def options_for(devices: int) -> list[str]:
        count = len(whole["devices"])
        if devices > count:
            raise CurveError(f"--devices {devices}: the machine '{whole.get('name', machine)}' has {count}")
        part = folder / f"machine{devices}.json"
        part.write_text(json.dumps(first_devices(whole, devices)), encoding="utf-8")
        return ["--machine", str(part), *given]

    return options_for


def machine_as_read(program: str, machine: str, folder: Path) -> dict[str, Any]:
    """The machine as the program reads it: each device by itself. Out of the placement of a graph of one node."""
    builder = GraphBuilder("one node")
    builder.node("node", op="none", comp=1)
    graph, placement = folder / "one.h5", folder / "one-placed.h5"
    write_graph(graph, builder.build())
    command = [program, "partition", str(graph), "--machine", machine, "--preset", "fast", "-q", "-o", str(placement)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CurveError(f"--machine {machine}: {last_line(done.stderr)}")
    with h5py.File(placement, "r") as file:
        text = file.attrs["machine"]
    found: dict[str, Any] = json.loads(text.decode() if isinstance(text, bytes) else str(text))
    return found


def first_devices(machine: dict[str, Any], devices: int) -> dict[str, Any]:
    """The machine of the first ``devices`` devices; links by host stay, matrices are cut."""
    part = {"name": f"{machine.get('name', 'machine')}, {devices} of {len(machine['devices'])} devices", "devices": machine["devices"][:devices]}
    if devices > 1:
        part["links"] = {key: [row[:devices] for row in value[:devices]] if isinstance(value, list) else value for key, value in machine["links"].items()}
    return part


def last_line(text: str) -> str:
    """What a program said last, without its name."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("pardnn: error: ") if lines else "no message"
