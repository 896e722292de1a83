"""Costs of a capture's nodes, with the shares of nodes and of time that are measured, modelled and guessed."""

from __future__ import annotations

import math

from ..costs import Cost, CostModel, How, OpCall
from .errors import CaptureError


class Costing:
    """Asks a cost model, or takes measured times, and keeps the tally.

    ``unknown_ns``: taken, and counted as guessed, where a time is negative or not a number; None refuses such a node.
    """

    def __init__(self, model: CostModel, unknown_ns: int | None = None) -> None:
        self.model = model
        self.unknown_ns = unknown_ns
        self.nodes = {how: 0 for how in How}
        self.ns = {how: 0 for how in How}
        self.flops = 0
        self.unknown = 0

    def modelled(self, name: str, call: OpCall) -> Cost:
        """The model's cost of a call at node ``name``."""
        return self.tallied(name, self.model.cost(call), call.flops)

    def measured(self, name: str, ns: float, temp: int, flops: int | None) -> Cost:
        """A time that a profile gives for node ``name``, in ns, and its workspace in bytes."""
        return self.tallied(name, Cost(ns=ns if ns != ns else math.ceil(ns), temp=temp, how=How.MEASURED), flops)  # type: ignore[arg-type]

    def tallied(self, name: str, cost: Cost, flops: int | None = None) -> Cost:
        """Counts a cost; ``flops`` where they are known better than the cost tells them."""
        if not cost.ns >= 0:
            if self.unknown_ns is None:
                raise CaptureError(f"node '{name}': its time is unknown ({cost.ns}); --unknown-cost NS gives one for such nodes")
            self.unknown += 1
            cost = Cost(ns=self.unknown_ns, temp=cost.temp, flops=cost.flops, how=How.GUESSED)
        self.nodes[cost.how] += 1
        self.ns[cost.how] += cost.ns
        self.flops += flops if flops is not None else cost.flops
        return cost

    def line(self) -> str:
        """One line: shares of the costed nodes and of the time by where the times come from."""
        nodes, ns = sum(self.nodes.values()), sum(self.ns.values())
        share = lambda part, whole: 100 * part / whole if whole else 0.0  # noqa: E731
        parts = [f"{how.value} {share(self.nodes[how], nodes):.1f} % of nodes, {share(self.ns[how], ns):.1f} % of time" for how in How]
        return "; ".join(parts) + (f"; unknown times taken as {self.unknown_ns} ns: {self.unknown}" if self.unknown else "")
