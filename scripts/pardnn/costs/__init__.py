"""Costs of operations: measured on a device, modelled by a roofline, or taken from a trace."""

from .call import Cost, CostModel, How, OpCall, TensorSpec
from .spec import cost_model

__all__ = ["Cost", "CostModel", "How", "OpCall", "TensorSpec", "cost_model"]
