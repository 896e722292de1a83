"""What else the cores of this host do, so that a step that others disturbed does not count."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

_BUSY = (0, 1, 2, 7)  # columns of /proc/stat: user, nice, system, stolen by the host; not interrupts, which messages cause


def busy_seconds(stat: Path = Path("/proc/stat")) -> float:
    """Seconds of all cores since the start, spent on processes; 0 where the system does not tell, so that nothing ever seems disturbed."""
    try:
        columns = stat.read_text(encoding="ascii").splitlines()[0].split()[1:]
        return sum(int(columns[i]) for i in _BUSY) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return 0.0


def share_of_others(busy: float, own: float, elapsed: float, cores: int) -> float:
    """Of the cores' time: what was busy, s, without what the ranks used themselves."""
    return max(0.0, busy - own) / (elapsed * cores)


def undisturbed(steps: Sequence[tuple[float, float]], most: float, wanted: int) -> tuple[list[float], int]:
    """Of (seconds, share of others): the seconds of all steps with at most ``most`` for others, or where these are fewer than ``wanted``, of the
    ``wanted`` least disturbed ones; and how many of them were disturbed."""
    quiet = [seconds for seconds, share in steps if share <= most]
    if len(quiet) >= wanted:
        return quiet, 0
    least = sorted(steps, key=lambda s: (s[1], s[0]))[:wanted]
    return [seconds for seconds, _ in least], sum(share > most for _, share in least)
