"""Costs of operations: measured on a device, modelled by a roofline, or taken from a trace."""

from .call import Cost, CostModel, How, OpCall, TensorSpec
from .coverage import Coverage, UnknownCostError, finish
from .spec import cost_model
from .trace_events import TraceError

__all__ = ["Cost", "CostModel", "Coverage", "How", "OpCall", "TensorSpec", "TraceError", "UnknownCostError", "cost_model", "finish"]
