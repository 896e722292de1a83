"""Measured times on disk: a JSON file with a section for each device, software version and number of threads that times were measured on."""

from __future__ import annotations

import json
from pathlib import Path

from ..atomic_file import write_text
from .call import OpCall, TensorSpec

_FORMAT, _VERSION = "pardnn-costs", 1


class CostCache:
    """Times in ns of calls on one device. ``path`` None: kept in memory alone. Sections of other devices are left as they are."""

    def __init__(self, path: Path | None, section: str) -> None:
        """Raises ValueError where ``path`` is there and holds something else."""
        self.path = path
        self._section = section
        self._sections = _read(path) if path is not None and path.exists() else {}
        self._times = self._sections.setdefault(section, {})
        self.changed = False

    def __len__(self) -> int:
        return len(self._times)

    def get(self, key: str) -> int | None:
        return self._times.get(key)

    def put(self, key: str, ns: int) -> None:
        self._times[key] = ns
        self.changed = True

    def save(self) -> None:
        """Writes the file, whole or not at all, if there is anything new; times that others have added meanwhile are kept. Raises OSError."""
        if self.path is None or not self.changed:
            return
        sections = _read(self.path) if self.path.exists() else {}
        for name, times in self._sections.items():
            sections.setdefault(name, {}).update(times)
        content = {"format": _FORMAT, "version": _VERSION, "unit": "ns", "devices": {n: dict(sorted(t.items())) for n, t in sorted(sections.items())}}
        write_text(self.path, json.dumps(content, indent=1) + "\n")
        self.changed = False


def _read(path: Path) -> dict[str, dict[str, int]]:
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path}: no cache of costs ({error}); remove it, or name another file") from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise ValueError(f"{path}: no cache of costs (expected 'format': '{_FORMAT}')")
    if content.get("version") != _VERSION:
        raise ValueError(f"{path}: a cache of costs of version {content.get('version')}; expected {_VERSION}")
    devices: dict[str, dict[str, int]] = content.get("devices") or {}
    for times in devices.values() if isinstance(devices, dict) else (None,):
        if not isinstance(times, dict) or not all(isinstance(ns, int) and ns >= 0 for ns in times.values()):
            raise ValueError(f"{path}: a cache of costs whose 'devices' are damaged (expected times in whole ns by device and call)")
    return devices


def call_text(call: OpCall) -> str:
    """All of a call that its time depends on, on one line: operation, shapes, strides, types, plain arguments."""
    parts = [_text(a) for a in call.args] + [f"{name}={_text(value)}" for name, value in sorted(call.kwargs.items())]
    return f"{call.op}({', '.join(parts)})"


def _text(value: object) -> str:
    if isinstance(value, TensorSpec):
        strides = "" if value.strides is None or value.strides == dense_strides(value.shape) else "@" + "x".join(map(str, value.strides))
        return f"{value.dtype}[{'x'.join(map(str, value.shape))}]{strides}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_text, value)) + "]"
    return repr(value) if isinstance(value, (str, float)) else str(value)


def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Of a row-major tensor, in elements."""
    strides = [1] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        strides[d] = strides[d + 1] * max(shape[d + 1], 1)
    return tuple(strides)
