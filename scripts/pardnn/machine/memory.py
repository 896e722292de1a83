"""How much memory a device has: a GPU's own, or a share of what this host lets its processes use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def host_memory(root: Path = Path("/")) -> tuple[int, str]:
    """Bytes that the processes here may use together, and where the number is from: the tightest control group above them, or the host.

    ``root``: where /proc and /sys are. Raises OSError where the system tells neither.
    """
    total = _total(root / "proc/meminfo")
    limits = [(size, "control group") for size in _limits(root) if size < total]
    return min([*limits, (total, "host")])


def _total(meminfo: Path) -> int:
    for line in meminfo.read_text(encoding="ascii").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{meminfo}: has no line MemTotal")


def _limits(root: Path) -> Iterator[int]:
    """The limits of all control groups that this process is in, version 2 (0::/path) and 1 (n:memory:/path)."""
    for line in _lines(root / "proc/self/cgroup"):
        _, controllers, path = (line.split(":", 2) + ["", ""])[:3]
        if controllers and "memory" not in controllers.split(","):
            continue
        base, file = ("sys/fs/cgroup/memory", "memory.limit_in_bytes") if controllers else ("sys/fs/cgroup", "memory.max")
        inside = PurePosixPath(path.lstrip("/"))
        for group in (inside, *inside.parents):
            for text in _lines(root / base / group / file)[:1]:
                if text.strip().isdigit():  # "max": no limit
                    yield int(text)


def _lines(path: Path) -> list[str]:
    """No lines where there is no such file: in a container the folders above its own are not there."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
