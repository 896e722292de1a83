"""Costs from a device's published rates: an operation takes its launch, and then the longer of its arithmetic and its memory traffic.

Roofline model: Williams, Waterman and Patterson, Communications of the ACM 52(4), 2009.
"""

from __future__ import annotations

from dataclasses import dataclass

from .call import Cost, How, OpCall
from .devices import Device
from .flops import matrix_flops, unfolded_elements
from .op_names import OpName, op_name
from .traffic import traffic

_LEAST = 1e-6  # share of a published rate
FLOAT32_AS = ("fp32", "tf32", "bf16", "fp16")
_MATRIX_WORDS = ("matmul", "mat_mul", "gemm", "conv", "dot_general", "einsum", "attention", "lstm", "gru", "rnn", "_mm")


@dataclass(frozen=True)
class Efficiency:
    """Shares of the published rates that large operations reach.

    The defaults are conventions, not measurements of each device: dense products in cuBLAS and cuDNN reach half to nine tenths of the peak,
    streaming kernels three quarters to nine tenths of the bandwidth. 0.6 and 0.75 lie on the careful side of both.
    """

    compute: float = 0.6
    bandwidth: float = 0.75


class RooflineModel:
    """time = launch + max(flops / (peak * compute), bytes / (bandwidth * share)); views take ``view_ns``, reservations of memory the same.

    ``float32_as``: how matrix products of float32 tensors run: ``fp32``, ``tf32``, or ``bf16`` and ``fp16`` as under autocast (the traffic stays that of
    float32). Other types run at their own peak. A cost is MODELLED where the operation's FLOPs or its memory traffic are known, GUESSED from the
    size of its inputs and outputs where it is unknown. :attr:`Cost.flops` counts matrix products, convolutions and attention as
    ``torch.utils.flop_counter`` does, or what the capture passed; elementwise work (one per element) counts in the time alone.

    ``workspace``: bytes that a convolution may take, as its unfolded windows (im2col) at most; 0 by default, since what libraries take depends
    on the algorithm that they pick, and live tensors don't show it. Workspaces of sorts and of an embedding's gradient are counted always.
    """

    def __init__(self, device: Device, float32_as: str = "fp32", efficiency: Efficiency = Efficiency(), workspace: int = 0) -> None:
        if float32_as not in FLOAT32_AS:
            raise ValueError(f"float32 products as '{float32_as}': expected one of {', '.join(FLOAT32_AS)}")
        if float32_as != "fp32" and getattr(device, float32_as) is None:
            raise ValueError(f"{device.name} has no {float32_as} matrix units")
        if not (_LEAST <= efficiency.compute <= 1 and _LEAST <= efficiency.bandwidth <= 1):
            raise ValueError(f"efficiency {efficiency}: expected shares from {_LEAST} to 1")
        self.device = device
        self.float32_as = float32_as
        self.efficiency = efficiency
        self.workspace = workspace

    def cost(self, call: OpCall) -> Cost:
        """Time in ns, workspace in bytes, FLOPs. O(tensors of the call)."""
        if call.is_view:
            return Cost(self.device.view_ns)
        exact = matrix_flops(call)
        flops = call.flops if exact is None else exact
        moved = traffic(call)
        if not moved.bytes and moved.known and not flops:
            return Cost(self.device.view_ns)
        seconds = max(self._arithmetic(call, flops, exact is not None), moved.bytes / (self.device.bandwidth * self.efficiency.bandwidth))
        how = How.MODELLED if moved.known or flops is not None else How.GUESSED
        return Cost(self.device.launch_ns + int(seconds * 1e9), moved.temp + self._unfolded(call), flops or 0, how)

    def temp(self, call: OpCall) -> int:
        """Workspace alone, in bytes."""
        return traffic(call).temp + self._unfolded(call)

    def _unfolded(self, call: OpCall) -> int:
        return min(self.workspace, unfolded_elements(call) * call.inputs()[0].itemsize) if self.workspace and call.inputs() else 0

    def _arithmetic(self, call: OpCall, flops: int | None, exact: bool) -> float:
        """Seconds. ``exact``: ``flops`` are those of a matrix product; else the operation's name must tell."""
        dtype = _dtype(call)
        work = flops if flops is not None else max((t.elements for t in (*call.inputs(), *call.outputs)), default=0)
        matrix = exact or flops is not None and _is_matrix(op_name(call.op))
        peak = self.device.matrix_peak(dtype, self.float32_as) if matrix else self.device.vector_peak(dtype)
        if matrix and dtype.startswith("complex"):
            work *= 4  # each product of complex numbers is four of real ones
        return work / (peak * self.efficiency.compute)


def _is_matrix(name: OpName) -> bool:
    return name.base == "mm" or "convert" not in name.base and any(word in name.base for word in _MATRIX_WORDS)


def _dtype(call: OpCall) -> str:
    """The type that decides the rate: the first floating-point input's, else the first such output's."""
    tensors = (*call.inputs(), *call.outputs)
    return next((t.dtype for t in tensors if t.dtype.startswith(("float", "bfloat", "complex"))), tensors[0].dtype if tensors else "float32")
