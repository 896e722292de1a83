"""Steps captured with a profile and partitioned, each made once."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


class Case(NamedTuple):
    """A step, what 20 plain steps of it give, its captured graph, and the folder of its files."""

    step: Any
    losses: list[bytes]
    variables: dict[str, Any]
    graph: Any
    folder: Path
    binary: str

    def __repr__(self) -> str:
        return self.folder.name

    def placement(self, devices: int) -> Path:
        path = self.folder / f"p{devices}.h5"
        return path if path.is_file() else partitioned(self.binary, self.folder, devices)


def partitioned(binary: str, folder: Path, devices: int) -> Path:
    """The partitioner's placement of g.h5 on devices of which one alone would do, with links without latency, so that all are used."""
    path = folder / f"p{devices}.h5"
    told = subprocess.run([binary, "info", str(folder / "g.h5"), "--json", "-"], check=True, capture_output=True, text=True).stdout
    peak = json.loads(told)["single_device_peak_bytes"]
    subprocess.run([binary, "partition", str(folder / "g.h5"), "--devices", str(devices), "--memory", f"{peak}B", "--headroom", "0",
                    "--latency", "0us", "--preset", "fast", "-o", str(path)], check=True, capture_output=True)
    return path


STEPS = 20


@pytest.fixture(scope="session")
def partition(pardnn_binary: str) -> Callable[[Path, int], Path]:
    """Partitions the g.h5 of a folder."""
    return lambda folder, devices: partitioned(pardnn_binary, folder, devices)


@pytest.fixture(scope="session")
def case(pardnn_binary: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Case]:
    """Gives the case of a model of tfrun_models by its name."""
    tf = pytest.importorskip("tensorflow")
    made: dict[str, Case] = {}

    def of(name: str) -> Case:
        if name not in made:
            made[name] = _case(tf.compat.v1, name, tmp_path_factory.mktemp(name), pardnn_binary)
        return made[name]

    return of


def _case(tf1: Any, name: str, folder: Path, binary: str) -> Case:
    import tfrun_models

    from pardnn import write_graph
    from pardnn.capture_tensorflow import capture_graph_def
    from pardnn.place_tensorflow import session_config, variable_values

    step = getattr(tfrun_models, name)()
    (folder / "step.pb").write_bytes(step.graph_def.SerializeToString())
    graph = tf1.Graph()
    with graph.as_default():
        tf1.import_graph_def(step.graph_def, name="")
    with tf1.Session(graph=graph, config=session_config(1, threads=1)) as session:
        losses = tfrun_models.trained(session, step, STEPS)
        variables = variable_values(session)
        profile = tfrun_models.traced(session, step)
    captured = capture_graph_def(step.graph_def, fetches=[f.split(":")[0] for f in step.fetches], profile=profile, cut_loops=name == "looped",
                                 unknown_dim=16)  # lists of functional loops tell no shapes
    write_graph(folder / "g.h5", captured)
    return Case(step, losses, variables, captured, folder, binary)
