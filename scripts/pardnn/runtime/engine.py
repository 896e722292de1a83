"""Runs the plan of one device: its nodes on tensors, step after step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..torch_step.program import Program
from ..torch_step.replay import Runner, input_value, over_storage
from ..torch_step.values import Ref
from .channels import Channels, compact, expanded, lies_together
from .errors import RankLost
from .meter import Meter
from .plan import DevicePlan, Transfer
from .progress import ALL, Progress

_AVERAGE_FAILED = "the average of gradients over replicas failed"


class Engine:
    """``state``: values of this device's residuals, updated in place. ``budget``: live bytes that sends under way may not exceed while waiting helps."""

    def __init__(self, program: Program, plan: DevicePlan, channels: Channels | None, runner: Runner, state: dict[Ref, torch.Tensor], *,
                 replicas: int = 1, budget: int | None = None, progress: Progress | None = None) -> None:
        self.program, self.plan, self.runner, self.state = program, plan, runner, state
        self.progress = progress or Progress()
        self.meter = Meter()
        for tensor in state.values():
            self.meter.take(tensor)
        self.stalls = 0
        self._channels = channels
        self._replicas = replicas
        self._budget = plan.emulated_peak if budget is None else budget
        self._slots = {slot.ref.node: slot for slot in program.inputs}
        self._reads = {n: self._read(n) for n in plan.nodes}
        self._residual = frozenset(plan.residuals)

    def _read(self, node: int) -> list[Ref]:
        call = self.program.calls[node]
        return call.reads() if call is not None else []

    def step(self, inputs: Callable[[int], torch.Tensor]) -> dict[str, torch.Tensor]:
        """One step; ``inputs(number)`` gives input ``number`` of the step. Returns those outputs that are made here, by name."""
        return _Step(self, inputs).run()


class _Step:
    """What is alive during one step."""

    def __init__(self, engine: Engine, inputs: Callable[[int], torch.Tensor]) -> None:
        self.engine, self.plan, self.meter, self.inputs = engine, engine.plan, engine.meter, inputs
        self.values: dict[Ref, torch.Tensor] = dict(engine.state)
        self.uses, self.copies, self.apart = dict(engine.plan.uses), dict(engine.plan.copies), dict(engine.plan.apart)
        self.held: dict[int, list[Ref]] = {}
        self.sending: dict[int, tuple[Transfer, torch.Tensor | None, bool]] = {}
        self.buckets: dict[int, tuple[torch.Tensor, Any, int]] = {}
        self.coming: dict[int, torch.Tensor] = {}

    def run(self) -> dict[str, torch.Tensor]:
        plan, progress = self.plan, self.engine.progress
        for position, node in enumerate(plan.nodes):
            progress.node = node
            for transfer in plan.posts.get(position, ()):
                self._settle(transfer.bytes, transfer.posted - 1, transfer.posted)
                self._post(transfer)
            self._average_before(position)
            self._settle(plan.mem.get(node, 0), plan.starts[position], plan.starts[position])
            for transfer in plan.waits.get(position, ()):
                self._arrive(transfer)
            self._node(node, plan.starts[position])
            self._launch_after(position)
        self._average_before(len(plan.nodes))
        while self.sending:
            self._sent(block=True)
        found = {name: self.values[ref].detach().clone() for name, ref in self.engine.program.outputs if ref in self.values and self._here(ref)}
        for name, ref in self.engine.program.outputs:
            if name in found:
                self._release(ref.node)
        return found

    def _here(self, ref: Ref) -> bool:
        return ref.node in self.engine._reads

    # -- nodes --------------------------------------------------------------------------------------------------------------------

    def _node(self, node: int, at: int) -> None:
        engine, plan = self.engine, self.plan
        if node not in engine._residual:
            if node in engine._slots:
                slot = engine._slots[node]
                outputs: Sequence[torch.Tensor | None] = [input_value(slot, self.inputs(slot.index), engine.runner.device)]
            else:
                outputs = engine.runner.run_node(node, self.values)
            lasting = plan.root[node] in engine._residual
            kept = self.held.setdefault(plan.root[node], [])
            for index, tensor in enumerate(outputs):
                ref = Ref(node, index)
                if tensor is None:
                    continue
                if lasting:
                    self.values[ref] = tensor
                    continue
                self._keep(ref, tensor)
                if ref in plan.read and ref not in self.apart:
                    kept.append(ref)
            for index, tensor in enumerate(outputs):
                if tensor is not None and not lasting and Ref(node, index) not in plan.read:
                    self._drop(Ref(node, index))  # nobody reads it
            del outputs
            for ref in engine._reads[node]:
                self._read(ref)
            self._release(node)
        if plan.buckets is None or node not in plan.buckets.home:  # averages are sent later
            self._send(node, at)

    def _keep(self, ref: Ref, tensor: torch.Tensor) -> None:
        self.values[ref] = tensor
        self.meter.take(tensor)

    def _drop(self, ref: Ref) -> None:
        self.meter.drop(self.values.pop(ref))

    def _read(self, ref: Ref) -> None:
        if ref in self.copies:
            self.copies[ref] -= 1
            if not self.copies[ref]:
                self._drop(ref)
            return
        if ref in self.apart:
            self.apart[ref] -= 1
            if not self.apart[ref]:
                self._drop(ref)
        self._release(ref.node)

    def _release(self, node: int) -> None:
        """One use of the node's buffer is over."""
        root = self.plan.root[node]
        if root not in self.uses:
            return
        self.uses[root] -= 1
        if not self.uses[root]:
            for ref in self.held.pop(root, ()):
                self._drop(ref)

    # -- transfers ----------------------------------------------------------------------------------------------------------------

    def _post(self, transfer: Transfer) -> None:
        assert self.engine._channels is not None
        spec = None if transfer.token else self.engine.program.spec(transfer.ref)
        flat = self.engine._channels.post(transfer, spec)
        if spec is not None:
            self._keep(transfer.ref, expanded(flat, spec))
        else:
            self.coming[id(transfer)] = flat

    def _arrive(self, transfer: Transfer) -> None:
        assert self.engine._channels is not None
        self.engine._channels.wait(transfer)
        self.coming.pop(id(transfer), None)

    def _send(self, node: int, at: int) -> None:
        """``at``: ns of the emulated run up to which all receives have begun."""
        for transfer in self.plan.sends.get(node, ()):
            assert self.engine._channels is not None
            flat, lent = None, False
            if not transfer.token:
                value, spec = self.values[transfer.ref], self.engine.program.spec(transfer.ref)
                lent = lies_together(value, spec)
                if not lent:
                    self._settle(transfer.bytes, at, at)
                flat = compact(value, spec)
                self.meter.take(flat)
                del value
                if not lent:  # a copy is sent: the value itself may go
                    self._release(transfer.ref.node)
            self.sending[id(transfer)] = (transfer, flat, lent)
            self.engine._channels.send(transfer, flat)

    def _sent(self, block: bool) -> None:
        assert self.engine._channels is not None
        for transfer in self.engine._channels.done(block):
            _, flat, lent = self.sending.pop(id(transfer))
            if flat is not None:
                self.meter.drop(flat)
            if lent:
                self._release(transfer.ref.node)

    def _settle(self, needed: int, left: int, over: int) -> None:
        """Waits for sends that left by ``left`` and are over by ``over`` (ns) in the emulated run, if ``needed`` bytes more would be more than the device
        has. The other rank has begun to receive these by then, so no two ranks wait for each other (see :mod:`.plan`).
        """
        if not self.sending:
            return
        self._sent(block=False)
        while self.meter.live + needed > self.engine._budget and any(
                t.delivered is not None and t.taken <= left and t.delivered <= over for t, flat, _ in self.sending.values() if flat is not None):
            self.engine.stalls += 1
            self._sent(block=True)

    # -- averages over replicas ---------------------------------------------------------------------------------------------------

    def _launch_after(self, position: int) -> None:
        if self.plan.buckets is not None:
            for number in self.plan.buckets.launch.get(self.plan.nodes[position], ()):
                self._settle(self.plan.buckets.buckets[number].bytes, self.plan.starts[position], self.plan.starts[position])
                self._launch(number)

    def _launch(self, number: int) -> None:
        """Averages a bucket, while other nodes run."""
        assert self.plan.buckets is not None and self.engine._channels is not None
        bucket = self.plan.buckets.buckets[number]
        flat = torch.empty(bucket.elements, dtype=getattr(torch, bucket.dtype), device=self.engine.runner.device)
        self.meter.take(flat)
        for g, offset in zip(bucket.members, bucket.offsets):
            gradient = self.values[self.plan.buckets.value[g]]
            torch.div(gradient, self.engine._replicas, out=flat[offset:offset + gradient.numel()].view(gradient.shape))
        self.buckets[number] = (flat, self.engine._channels.average(flat), len(bucket.members))

    def _average_before(self, position: int) -> None:
        if self.plan.buckets is None:
            return
        for g in self.plan.buckets.finish.get(position, ()):
            self._finish(g)
            self._send(g, self.plan.starts[position - 1])

    def _finish(self, g: int) -> None:
        """The gradient becomes its average over the replicas."""
        assert self.plan.buckets is not None
        number = self.plan.buckets.home[g]
        bucket = self.plan.buckets.buckets[number]
        flat, work, left = self.buckets[number]
        if work is not None:
            wait_for(work, self.engine.progress)
        offset = bucket.offsets[bucket.members.index(g)]
        gradient = self.values[self.plan.buckets.value[g]]
        average = flat[offset:offset + gradient.numel()].view(gradient.shape)
        if g not in self.plan.buckets.in_place:
            self._renew(g)
            gradient = self.values[self.plan.buckets.value[g]]
        with torch.no_grad():
            gradient.copy_(average)
        self.buckets[number] = (flat, None, left - 1)
        if left == 1:
            self.meter.drop(flat)
            del self.buckets[number]

    def _renew(self, g: int) -> None:
        """New memory for a gradient whose old content is still needed by others."""
        assert self.plan.buckets is not None
        old = self.values[self.plan.buckets.value[g]]
        fresh = old.untyped_storage().clone()
        base = torch.empty(0, dtype=torch.uint8, device=old.device).set_(fresh)  # type: ignore[call-overload]
        for ref in [r for r in self.held[self.plan.root[g]] if r.node == g]:
            spec = self.engine.program.spec(ref)
            renewed = over_storage(base, spec)
            self.meter.take(renewed)
            self.meter.drop(self.values[ref])
            self.values[ref] = renewed


def wait_for(work: Any, progress: Progress) -> None:
    """Ends a collective operation."""
    progress.waits = ALL
    try:
        work.wait()
    except RuntimeError as error:
        raise RankLost(f"{_AVERAGE_FAILED} ({' '.join(str(error).split())[-160:]})") from error
    progress.waits = None
