"""Plans of ``pardnn plan`` (JSON, format pardnn-plan): replicas, buckets, and the placement of one replica."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..graph import Graph, Int64
from .errors import RunError
from .links import Machine

FORMAT = "pardnn-plan"


@dataclass
class Plan:
    """``replicas`` of ``devices`` devices; ``bucket`` bytes of gradients are averaged at once. ``file``: the placement's, None where it stands in the plan."""

    path: str
    replicas: int
    devices: int
    bucket: int
    fingerprint: str
    file: str | None
    content: dict[str, Any]

    def placed(self, graph: Graph) -> tuple[Int64, Int64, Machine]:
        """Device and place in the order of each node, and the machine of replica 0, of a plan that holds its placement."""
        device, order = (np.array(self.content[name], dtype=np.int64) for name in ("placement", "order"))
        for name, column in (("placement", device), ("order", order)):
            if column.shape != (graph.num_nodes,):
                raise RunError(f"{self.path}: \"{name}\" has {column.size} entries, the graph has {graph.num_nodes} nodes; is it of another graph?")
        if device.max(initial=0) >= self.devices or (order[graph.source] >= order[graph.target]).any() or len(np.unique(order)) < len(order):
            raise RunError(f"{self.path}: \"placement\" or \"order\" does not suit the graph")
        whole = Machine.parse(json.dumps(self.content["machine"]))
        slice_ = np.array([r["machine_device"] for r in self.content["ranks"] if r["replica"] == 0], dtype=np.int64)
        return device, order, Machine(whole.speed[slice_], whole.latency[np.ix_(slice_, slice_)], whole.bandwidth[np.ix_(slice_, slice_)])


def read_plan(path: str | os.PathLike[str]) -> Plan | None:
    """The plan in a file, None where the file is no plan. Raises RunError where it is a broken one."""
    if Path(path).suffix != ".json" or not Path(path).is_file():
        return None
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise RunError(f"{path}: not JSON ({error})") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        return None
    try:
        if content["version"] != 1:
            raise RunError(f"{path}: version {content['version']} of a plan is not known (1 is)")
        if not isinstance(content["placement"], str | list):
            raise TypeError("placement")
        file = str(Path(path).parent / content["placement"]) if isinstance(content["placement"], str) else None
        return Plan(str(path), int(content["replicas"]), int(content["devices_per_replica"]), int(content["bucket_bytes"]),
                    str(content["graph"]["fingerprint"]), file, content)
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(f"{path}: a broken plan ({error!r})") from error
