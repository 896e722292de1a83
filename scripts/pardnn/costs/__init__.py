"""Costs of operations: measured on a device, modelled by a roofline, or taken from a trace."""

from .call import Cost, CostModel, How, OpCall, TensorSpec

__all__ = ["Cost", "CostModel", "How", "OpCall", "TensorSpec"]
