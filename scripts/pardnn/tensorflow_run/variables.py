"""Values of a session's variables, by node name, in and out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..tensorflow_step.op_kinds import REF_VARIABLES, VARIABLES
from .errors import PlaceError

_SCOPE = "pardnn_state"  # of the nodes that are added to the graph, each once


def variable_values(session: Any) -> dict[str, Any]:
    """The value of each variable, as an array. All must have one: run the graph's initialiser or :func:`set_variables` first."""
    reads = {op.name: _node(session, op, "read") for op in _variables(session).values()}
    return session.run(reads)


def set_variables(session: Any, values: Mapping[str, Any]) -> None:
    """Gives the named variables these values (arrays), on their own devices. PlaceError on a name that is no variable of the graph."""
    variables = _variables(session)
    unknown = next((name for name in values if name not in variables), None)
    if unknown is not None:
        raise PlaceError(f"variable '{unknown}': the graph has none of this name")
    assigned = {name: _node(session, variables[name], "assign") for name in values}
    session.run(list(assigned.values()), {session.graph.get_tensor_by_name(f"{_SCOPE}/value/{name}:0"): value for name, value in values.items()})


def _variables(session: Any) -> dict[str, Any]:
    return {op.name: op for op in session.graph.get_operations() if op.type in VARIABLES}


def _node(session: Any, variable: Any, what: str) -> Any:
    """The tensor that reads ``variable`` or the operation that assigns it, made where it is missing."""
    import tensorflow as tf

    graph, name = session.graph, f"{_SCOPE}/{what}/{variable.name}"
    by_reference = variable.type in REF_VARIABLES
    if what == "read" and by_reference:
        return variable.outputs[0]
    try:
        made = graph.get_operation_by_name(name)
        return made.outputs[0] if what == "read" else made
    except KeyError:
        pass
    dtype, raw = variable.get_attr("dtype"), tf.raw_ops
    with graph.as_default(), graph.device(variable.device):
        if what == "read":
            return raw.ReadVariableOp(resource=variable.outputs[0], dtype=dtype, name=name)
        shape = tf.TensorShape(variable.get_attr("shape"))
        value = tf.compat.v1.placeholder(dtype, shape, name=f"{_SCOPE}/value/{variable.name}")
        if by_reference:
            return raw.Assign(ref=variable.outputs[0], value=value, name=name).op
        return raw.AssignVariableOp(resource=variable.outputs[0], value=value, name=name)
