"""What a captured graph file holds, to be compared with ``counts``: residuals, which of them the step changes, and FLOPs of its products."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from pardnn.costs import OpCall
from pardnn.costs.flops import matrix_flops
from pardnn.graph import Graph, Kind
from pardnn.torch_step.build import tensor_spec
from pardnn.torch_step.program import Call, Program, load_program
from pardnn.torch_step.values import Atom, Ref, map_args


@dataclass(frozen=True)
class GraphCounts:
    """``changed``: residuals that some operation writes. ``flops``: of matrix products and convolutions; ``products``: how many operations these are."""

    nodes: int
    edges: int
    residuals: int
    residual_bytes: int
    changed: int
    gradients: int
    flops: int
    products: int


def graph_counts(path: str | os.PathLike[str]) -> GraphCounts:
    """Reads the graph and its program. O(V + E)."""
    graph, program = load_program(path)
    flops = [f for call in program.calls if call is not None and (f := matrix_flops(op_call(program, call))) is not None]
    return GraphCounts(nodes=graph.num_nodes, edges=graph.num_edges, residuals=int((graph.kind == Kind.RESIDUAL).sum()), residual_bytes=graph.residual_bytes(),
                       changed=len(changed_residuals(graph, program)), gradients=int((graph.gradient_of >= 0).sum()), flops=sum(flops), products=len(flops))


def op_call(program: Program, call: Call) -> OpCall:
    """The call as cost models are told it, from shapes in the program."""

    def leaf(value: object) -> object:
        if isinstance(value, Ref):
            return tensor_spec(program.spec(value))
        return value.text if isinstance(value, Atom) else value

    return OpCall(op=call.op, args=map_args(call.args, leaf), kwargs={key: map_args(value, leaf) for key, value in call.kwargs.items()},
                  outputs=tuple(tensor_spec(spec) for spec in call.outputs if spec is not None))


def changed_residuals(graph: Graph, program: Program) -> set[int]:
    """Residuals that reference nodes mutate, and the running statistics (arguments 3 and 4) that batch norms update beside their output."""
    changed = {_root(graph, int(n)) for n in np.flatnonzero(graph.kind == Kind.REFERENCE)}
    for call in program.calls:
        if call is not None and "batch_norm" in call.op and "backward" not in call.op:
            changed |= {ref.node for ref in call.args[3:5] if isinstance(ref, Ref) and graph.kind[ref.node] == Kind.RESIDUAL}
    return changed


def _root(graph: Graph, node: int) -> int:
    """The end of a node's alias chain."""
    while graph.alias[node] >= 0:
        node = int(graph.alias[node])
    return node
