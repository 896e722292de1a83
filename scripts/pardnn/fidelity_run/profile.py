"""Times of nodes as the runtime has them: those of operations in their places in a step, with what the runtime does between them.

The clock is that of the thread, which stands while other work has its core: times of one thread on a CPU, also where the machine is busy.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

from ..graph import Graph, Int64
from ..torch_step.replay import Runner
from ..torch_step.values import Ref

FILE = "profile.npy"


class Profile:
    """Of a step that one rank runs alone: a node lasts from its own start to that of the next, the last one to the step's end."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._started: list[tuple[float, int]] = []
        self._steps: list[np.ndarray] = []

    def watch(self, runner: Runner) -> None:
        """Notes the start of each node that ``runner`` runs."""
        run = runner.run_node

        def noted(node: int, values: Mapping[Ref, torch.Tensor]) -> list[torch.Tensor | None]:
            self._started.append((time.thread_time(), node))
            return run(node, values)

        runner.run_node = noted  # type: ignore[method-assign]

    def step_over(self) -> None:
        """The step that was noted ends now."""
        end = time.thread_time()
        seconds = np.zeros(self._graph.num_nodes)
        starts = [at for at, _ in self._started]
        for (at, node), after in zip(self._started, [*starts[1:], end]):
            seconds[node] = after - at
        self._steps.append(seconds)
        self._started.clear()

    def comp(self) -> Int64:
        """ns of each node: the median of the steps."""
        return np.asarray(np.rint(np.median(np.stack(self._steps), axis=0) * 1e9), dtype=np.int64)

    def write(self, folder: Path) -> None:
        np.save(folder / FILE, self.comp())


def read_profile(folder: Path) -> Int64:
    found: Int64 = np.load(folder / FILE)
    return found
