"""Where the pardnn program is."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

_BUILT = "build/src/cli/pardnn"  # in the checkout that this package lies in


def program_path() -> str:
    """The program: environment PARDNN, else on PATH, else the one that is built in this checkout. Raises FileNotFoundError, one line."""
    told = os.environ.get("PARDNN")
    if told:
        if not _runs(Path(told)):
            raise FileNotFoundError(f"PARDNN={told}: no program there")
        return str(Path(told).resolve())
    found = shutil.which("pardnn")
    if found:
        return found
    built = Path(__file__).resolve().parents[2] / _BUILT
    if _runs(built):
        return str(built)
    raise FileNotFoundError(f"no program pardnn: neither the environment's PARDNN, nor one on PATH, nor {_BUILT} in the checkout")


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
