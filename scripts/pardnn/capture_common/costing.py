"""Costs of a capture's nodes, tallied by where they come from."""

from __future__ import annotations

from ..costs import Cost, CostModel, Coverage, How, OpCall, UnknownCostError
from .errors import CaptureError


class Costing:
    """Asks a cost model, or takes measured times, and keeps the tally in ``coverage``.

    ``unknown_ns``: taken, and counted as guessed, where a time is negative or not a number; None refuses such a node.
    """

    def __init__(self, model: CostModel, unknown_ns: int | None = None) -> None:
        self.model = model
        self.coverage = Coverage(unknown_ns)

    def modelled(self, name: str, call: OpCall) -> Cost:
        """The model's cost of a call at node ``name``. FLOPs are the model's, else those that the capture knows."""
        cost = self.model.cost(call)
        return self.tallied(name, cost, call.op, cost.flops or call.flops)

    def measured(self, name: str, ns: float, temp: int, op: str, flops: int | None) -> Cost:
        """A time that a profile gives for node ``name``, in ns, and its workspace in bytes."""
        return self.tallied(name, Cost(ns=ns, temp=temp, how=How.MEASURED), op, flops)  # type: ignore[arg-type]

    def tallied(self, name: str, cost: Cost, op: str = "", flops: int | None = None) -> Cost:
        """Counts a cost; ``flops`` where they are known better than the cost tells them. Raises CaptureError where its time is unknown and may not be."""
        try:
            return self.coverage.count(name, cost, op, flops)
        except UnknownCostError as error:
            raise CaptureError(str(error)) from error
