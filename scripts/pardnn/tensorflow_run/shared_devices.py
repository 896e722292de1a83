"""Which nodes of a GraphDef TensorFlow keeps on one device: the whole graph's groups, not only those of the step."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ..disjoint_sets import DisjointSets
from ..tensorflow_step.flat_graph import FlatGraph

_RESOURCE = 20  # DT_RESOURCE


class _Argument(NamedTuple):
    """One input argument of an operation: how many tensors, and of which types, it takes is in the node's attributes."""

    is_ref: bool
    type: int
    type_attr: str
    number_attr: str
    type_list_attr: str


class Groups:
    """``leader[n]``: the first node of the group of node n. ``unknown``: nodes whose operation this TensorFlow does not know."""

    def __init__(self, graph: FlatGraph) -> None:
        """Together are: nodes of one ``_class`` loc:@NAME and NAME itself; what hands out a reference or a resource and what takes it. O(nodes + edges)."""
        sets: DisjointSets[int] = DisjointSets()
        self.unknown: list[str] = []
        index = {name: n for n, name in enumerate(graph.names)}
        first_of_class: dict[str, int] = {}
        for n, node in enumerate(graph.nodes):
            for place in node.attr["_class"].list.s if "_class" in node.attr else ():
                name = place.decode(errors="replace")
                if name.startswith("loc:@"):
                    sets.join(n, first_of_class.setdefault(name, index.get(name[5:], n)))
            data = graph.data(n)
            for position in self._sharing(node):
                if position < len(data):
                    sets.join(n, data[position][0])
        self.leader = [sets.find(n) for n in range(len(graph))]

    def _sharing(self, node: Any) -> list[int]:
        arguments = _arguments(node.op)
        if arguments is None:
            self.unknown.append(node.name)
            return []
        return sharing_inputs(node, arguments) if arguments else []


def sharing_inputs(node: Any, arguments: list[_Argument]) -> list[int]:
    """Positions of the inputs of ``node`` that are references or handles of resources."""
    found: list[int] = []
    position = 0
    for argument in arguments:
        if argument.type_list_attr:
            types = list(node.attr[argument.type_list_attr].list.type)
        else:
            kind = node.attr[argument.type_attr].type if argument.type_attr else argument.type
            types = [kind] * (node.attr[argument.number_attr].i if argument.number_attr else 1)
        found.extend(position + i for i, kind in enumerate(types) if argument.is_ref or kind == _RESOURCE)
        position += len(types)
    return found


@cache
def _arguments(op: str) -> list[_Argument] | None:
    """The input arguments of ``op``; none where no input can be a reference or a resource; None where the operation is unknown."""
    from tensorflow.python.framework import op_def_registry

    definition = op_def_registry.get(op)
    if definition is None:
        return None
    arguments = [_Argument(a.is_ref, a.type, a.type_attr, a.number_attr, a.type_list_attr) for a in definition.input_arg]
    able = any(a.is_ref or a.type == _RESOURCE or a.type_attr or a.type_list_attr for a in arguments)
    return arguments if able else []
