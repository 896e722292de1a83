"""Which TensorFlow operations hold memory, forward it, or change it."""

from __future__ import annotations

from functools import cache
from typing import Any

REF_VARIABLES = frozenset({"Variable", "VariableV2"})
VARIABLES = REF_VARIABLES | {"VarHandleOp"}
# A Const's kernel holds its tensor from the session's start to its end.
RESIDUALS = VARIABLES | {"Const"}

# Output 0 is the buffer of input 0 (kernels that forward it whatever its reference count).
ALIASES = frozenset({
    "Identity", "RefIdentity", "Reshape", "ExpandDims", "Squeeze", "StopGradient", "PreventGradient", "Snapshot", "ReadVariableOp", "Bitcast",
    "CheckNumerics", "CheckNumericsV2", "EnsureShape", "PlaceholderWithDefault", "Enter", "RefEnter", "Exit", "RefExit", "NextIteration",
    "RefNextIteration", "Switch", "RefSwitch", "LoopCond", "Print", "PrintV2", "DebugGradientIdentity", "OptimizationBarrier", "Copy"})
# Kernels that write their result into an input of the same size when nothing else holds it (element by element).
IN_PLACE = frozenset("""
    Add AddV2 Sub Mul Div RealDiv FloorDiv Maximum Minimum Pow SquaredDifference MulNoNan DivNoNan Abs Neg Square Sqrt Rsqrt Exp Log Log1p Expm1 Tanh
    Sigmoid Sin Cos Erf Sign Floor Ceil Round Reciprocal Inv Softplus Relu Relu6 LeakyRelu Elu Selu ReluGrad Relu6Grad BiasAdd AddN Softmax
    LogSoftmax""".split())
LOOP_BACK = frozenset({"NextIteration", "RefNextIteration"})

# Operations that take a resource handle and leave the resource as it is.
RESOURCE_READS = frozenset({
    "ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "VarIsInitializedOp", "Identity", "Switch", "Merge", "Enter", "Exit",
    "NextIteration", "IdentityN", "_ReadVariablesOp", "DisableCopyOnRead"})
_REF_READS = frozenset({"RefIdentity", "RefSwitch", "RefEnter", "RefExit", "RefMerge", "RefNextIteration", "RefSelect", "IsVariableInitialized"})
_GRADIENT_ARGUMENTS = ("grad", "delta", "gradient")


@cache
def _op_def(op: str) -> Any:
    from tensorflow.python.framework import op_def_registry

    return op_def_registry.get(op)


def mutates_ref(op: str) -> bool:
    """True if ``op`` takes its first input by reference and changes it (``Assign``, ``ApplyAdam``, ``ScatterUpdate``)."""
    definition = _op_def(op)
    return bool(definition and definition.input_arg and definition.input_arg[0].is_ref and op not in _REF_READS)


def mutates_resource(op: str) -> bool:
    """True if ``op``, given a variable's handle, may change the variable: anything that is not known to read alone."""
    return op not in RESOURCE_READS and op not in VARIABLES


def ref_inputs(op: str) -> int:
    """How many of the leading inputs ``op`` takes by reference."""
    definition = _op_def(op)
    count = 0
    for argument in definition.input_arg if definition else ():
        if not argument.is_ref:
            break
        count += 1
    return count


@cache
def gradient_argument(op: str) -> int:
    """The position of an update's gradient among its inputs (``ApplyAdam``: 9), or -1 where ``op`` takes none."""
    definition = _op_def(op)
    if not definition or "Apply" not in op:
        return -1
    for position, argument in enumerate(definition.input_arg):
        if argument.name in _GRADIENT_ARGUMENTS:
            return position
    return -1
