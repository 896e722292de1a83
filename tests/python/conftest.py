"""Fixtures of all Python tests."""

from __future__ import annotations

import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def pardnn_binary() -> str:
    """The built program: environment PARDNN, else build/src/cli/pardnn."""
    program = pathlib.Path(os.environ.get("PARDNN") or ROOT / "build/src/cli/pardnn").resolve()
    if not os.access(program, os.X_OK):
        pytest.skip(f"no program at {program}: run scripts/test.sh, or set PARDNN")
    return str(program)
