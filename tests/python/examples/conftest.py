"""The examples as modules: files under scripts/examples, beside each other as they are when one of them is run."""

from __future__ import annotations

import importlib
import pathlib
import sys
from collections.abc import Callable
from types import ModuleType

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "scripts/examples"


@pytest.fixture(scope="session")
def example() -> Callable[[str], ModuleType]:
    """``example("gpt2")`` is scripts/examples/gpt2.py."""
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    return importlib.import_module
