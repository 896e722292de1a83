"""A placement that is a chain of modules, as split points for torch.distributed.pipelining."""

from __future__ import annotations

from dataclasses import dataclass

from ..graph import Graph
from ..torch_step.program import Program
from .errors import RunError
from .modules import forward_modules, prefixes, tensor_names
from .placement import Placement


@dataclass
class Split:
    """``begins``: for each stage but the first, the module with which it begins. ``devices``: device of each stage."""

    begins: list[str]
    devices: list[int]


def pipeline_split(graph: Graph, program: Program, placement: Placement) -> Split:
    """The split. Raises RunError where the forward pass is no chain: a device comes twice, changes inside a module, or lacks its parameters."""
    modules = forward_modules(program, graph)
    if program.micro_batches > 1:
        raise RunError(f"graph '{graph.name}' has {program.micro_batches} micro-batches in it; capture one of one, the pipeline splits the batch itself")
    device = placement.device.tolist()
    nodes = [n for n, path in modules.items() if path and graph.comp[n] > 0]
    begins: list[str] = []
    stages: list[int] = []
    seen: set[str] = set()
    for n in nodes:
        if not stages or device[n] != stages[-1]:
            if device[n] in stages:
                raise RunError(f"no chain: the forward pass comes back to device {device[n]} at '{graph.names[n]}'")
            if stages:
                outer = [p for p in prefixes(modules[n]) if p and p not in seen]
                if not outer:
                    raise RunError(f"no chain of modules: device {stages[-1]} changes to {device[n]} inside module '{modules[n]}', at '{graph.names[n]}'")
                begins.append(outer[-1])
            stages.append(device[n])
        seen.update(prefixes(modules[n]))
    if not stages:
        raise RunError(f"graph '{graph.name}' has no operations in modules")
    _check_tensors(graph, program, device, set(nodes))
    return Split(begins, stages)


def _check_tensors(graph: Graph, program: Program, device: list[int], forward: set[int]) -> None:
    """Parameters are where they are used, at one place."""
    used: dict[int, set[int]] = {}
    names = {node: name for name, node in reversed(list(tensor_names(program).items()))}
    through: dict[int, int] = {node: node for node in names}
    for n, call in enumerate(program.calls):
        if call is None:
            continue
        for ref in call.reads():
            node = through.get(ref.node)
            if node is not None and n in forward:
                used.setdefault(node, set()).add(device[n])
                if graph.alias[n] >= 0:
                    through[n] = node
    for node, devices in used.items():
        if len(devices) > 1:
            raise RunError(f"no chain: '{names[node]}' is used on devices {', '.join(map(str, sorted(devices)))}")
        if device[node] not in devices:
            raise RunError(f"no chain: '{names[node]}' is on device {device[node]}, used on device {min(devices)}")
