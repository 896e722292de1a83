"""The examples as modules (files under scripts/examples, beside each other as they are when one is run), and their small captures, made once."""

from __future__ import annotations

import importlib
import pathlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "scripts/examples"


@pytest.fixture(scope="session")
def example() -> Callable[[str], ModuleType]:
    """``example("gpt2")`` is scripts/examples/gpt2.py."""
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))
    return importlib.import_module


@pytest.fixture(scope="session")
def small_step(example: Callable[[str], ModuleType]) -> Callable[[str], Any]:
    """``small_step("gpt2")``: the small training step, the same at each call."""
    import torch

    def make(name: str) -> Any:
        torch.manual_seed(1)
        return example(name).small()

    return make


@pytest.fixture(scope="module")
def small_graph(small_step: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, int], pathlib.Path]:
    """``small_graph("gpt2", 2)``: the file of the small step captured with two micro-batches."""
    from pardnn.costs import cost_model
    from pardnn.torch_step.capture import capture_step

    folder = tmp_path_factory.mktemp("graphs")

    def capture(name: str, parts: int) -> pathlib.Path:
        path = folder / f"{name}-{parts}.h5"
        if not path.exists():
            capture_step(small_step(name), cost_model("roofline:V100"), micro_batches=parts).write(path)
        return path

    return capture
