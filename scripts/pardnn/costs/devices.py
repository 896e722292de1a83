"""Accelerators by name: published peaks, bandwidth and memory, each with its source.

Rates are per second (floating-point operations, a multiply and an add being two; bytes), dense, without structured sparsity.
Launch overheads are in no data sheet: 5 us per operation is what a framework's eager dispatch and a kernel launch take together
when the queue runs short, and 1 us what the host needs for a view. Both are assumptions, the same for all devices.
"""

from __future__ import annotations

from dataclasses import dataclass

_GIB = 2**30


@dataclass(frozen=True)
class Device:
    """One accelerator. ``None``: the device has no such unit, and the type runs at the rate of ``fp32``.

    ``fp64``, ``fp32``: vector units. ``fp64_tensor``, ``tf32``, ``fp16``, ``bf16``, ``fp8``: matrix units.
    ``bandwidth``: bytes/s of device memory. ``capacity``: bytes. ``launch_ns``: per operation. ``view_ns``: per view.
    """

    name: str
    fp64: float
    fp64_tensor: float | None
    fp32: float
    tf32: float | None
    fp16: float
    bf16: float | None
    fp8: float | None
    bandwidth: float
    capacity: int
    source: str
    launch_ns: int = 5000
    view_ns: int = 1000

    def matrix_peak(self, dtype: str, float32_as: str = "fp32") -> float:
        """FLOP/s of matrix products on tensors of ``dtype`` (``float32``, ...). ``float32_as``: fp32, tf32, bf16 or fp16, for float32 tensors."""
        if dtype in ("float64", "complex128"):
            return self.fp64_tensor or self.fp64
        if dtype == "float16":
            return self.fp16
        if dtype == "bfloat16":
            return self.bf16 or self.fp32
        if dtype.startswith("float8"):
            return self.fp8 or self.fp16
        return getattr(self, float32_as) or self.fp32

    def vector_peak(self, dtype: str) -> float:
        """FLOP/s of everything else."""
        return self.fp64 if dtype in ("float64", "complex128") else self.fp32


# Data sheets give Tensor Core rates of H100 and H200 "with sparsity": half of that is dense.
_V100 = "NVIDIA V100 Tensor Core GPU data sheet (SXM2, 32 GB HBM2)"
_A100 = "NVIDIA A100 Tensor Core GPU data sheet (SXM)"
_H100 = "NVIDIA H100 Tensor Core GPU data sheet (SXM; Tensor Core rates halved: dense)"
_H200 = "NVIDIA H200 Tensor Core GPU data sheet (SXM; Tensor Core rates halved: dense)"

DEVICES: tuple[Device, ...] = (
    Device("V100-SXM2-32GB",
           fp64=7.8e12, fp64_tensor=None,  # 7.8 TFLOPS double precision; no FP64 Tensor Core
           fp32=15.7e12,  # 15.7 TFLOPS single precision
           tf32=None, bf16=None, fp8=None,  # first generation of Tensor Cores: FP16 only
           fp16=125e12,  # 125 TFLOPS Tensor performance
           bandwidth=900e9,  # 900 GB/s
           capacity=32 * _GIB, source=_V100),
    Device("A100-SXM-40GB",
           fp64=9.7e12, fp64_tensor=19.5e12,  # 9.7, 19.5 TFLOPS
           fp32=19.5e12, tf32=156e12, fp16=312e12, bf16=312e12, fp8=None,  # 19.5, 156, 312, 312 TFLOPS
           bandwidth=1555e9,  # 1,555 GB/s
           capacity=40 * _GIB, source=_A100),
    Device("A100-SXM-80GB",
           fp64=9.7e12, fp64_tensor=19.5e12,  # 9.7, 19.5 TFLOPS
           fp32=19.5e12, tf32=156e12, fp16=312e12, bf16=312e12, fp8=None,  # 19.5, 156, 312, 312 TFLOPS
           bandwidth=2039e9,  # 2,039 GB/s
           capacity=80 * _GIB, source=_A100),
    Device("H100-SXM-80GB",
           fp64=34e12, fp64_tensor=67e12,  # 34, 67 TFLOPS
           fp32=67e12,  # 67 TFLOPS
           tf32=494.5e12, fp16=989.5e12, bf16=989.5e12, fp8=1979e12,  # 989, 1979, 1979, 3958 with sparsity
           bandwidth=3350e9,  # 3.35 TB/s
           capacity=80 * _GIB, source=_H100),
    Device("H200-SXM-141GB",
           fp64=34e12, fp64_tensor=67e12,  # 34, 67 TFLOPS
           fp32=67e12,  # 67 TFLOPS
           tf32=494.5e12, fp16=989.5e12, bf16=989.5e12, fp8=1979e12,  # 989, 1979, 1979, 3958 with sparsity
           bandwidth=4800e9,  # 4.8 TB/s
           capacity=int(141e9), source=_H200),  # 141 GB, of 144 GB in the stacks: decimal, unlike the others
)

_SHORT = {"v100": "V100-SXM2-32GB", "a100": "A100-SXM-80GB", "a100-40gb": "A100-SXM-40GB", "a100-80gb": "A100-SXM-80GB",
          "h100": "H100-SXM-80GB", "h100-sxm": "H100-SXM-80GB", "h200": "H200-SXM-141GB"}


def device(name: str) -> Device:
    """The device of that name, in any case; ``V100``, ``A100`` (80 GB), ``A100-40GB``, ``H100`` and ``H200`` will do. Raises ValueError naming all."""
    full = _SHORT.get(name.lower(), name).lower()
    for known in DEVICES:
        if known.name.lower() == full:
            return known
    raise ValueError(f"device '{name}': unknown; expected one of {', '.join(['V100', 'A100', 'A100-40GB', 'H100', 'H200', *(d.name for d in DEVICES)])}")


def table() -> str:
    """All devices, one a line, for people: TFLOP/s, GB/s, GiB, and the source."""
    rows = [("device", "fp32", "tf32", "fp16", "bf16", "fp64", "GB/s", "GiB", "launch us", "source")]
    rate = lambda r: "-" if r is None else f"{r / 1e12:g}"  # noqa: E731
    for d in DEVICES:
        rows.append((d.name, rate(d.fp32), rate(d.tf32), rate(d.fp16), rate(d.bf16), rate(d.fp64_tensor or d.fp64), f"{d.bandwidth / 1e9:g}",
                     f"{d.capacity / _GIB:.4g}", f"{d.launch_ns / 1e3:g}", d.source))
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]) - 1)]
    return "\n".join("  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:-1], widths[1:])), row[-1]]) for row in rows)
