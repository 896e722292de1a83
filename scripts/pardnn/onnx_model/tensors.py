"""Shapes and sizes of the tensors of an ONNX graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..capture_common import CaptureError, Report
from ..costs import TensorSpec

_STRING_BYTES = 24


@lru_cache(maxsize=64)
def _dtype(number: int) -> tuple[str, int]:
    """Name and bytes of an element; types below a byte count one byte."""
    import onnx

    if number not in onnx.TensorProto.DataType.values():
        raise CaptureError(f"tensor type {number} is none that ONNX {onnx.__version__} knows")
    name = onnx.TensorProto.DataType.Name(number).lower()
    if name == "string":
        return name, _STRING_BYTES
    if name == "undefined":
        return name, 0
    return {"float": "float32", "double": "float64"}.get(name, name), onnx.helper.tensor_dtype_to_np_dtype(number).itemsize


def initializer_spec(tensor: Any) -> TensorSpec:
    """What a TensorProto holds by its dimensions, whether or not its values are there."""
    return TensorSpec(tuple(tensor.dims), *_dtype(tensor.data_type))


@dataclass
class Tensors:
    """Specs by name. ``unknown_dim``: size taken, and counted, for unknown dimensions; None refuses them."""

    unknown_dim: int | None
    report: Report
    specs: dict[str, TensorSpec] = field(default_factory=dict)
    _types: dict[str, Any] = field(default_factory=dict)

    def add_graph(self, graph: Any) -> None:
        """What a graph, or the body of a node, declares and what was inferred for it."""
        for value in (*graph.input, *graph.output, *graph.value_info):
            if value.name not in self._types or value.type.tensor_type.HasField("shape"):
                self._types[value.name] = value.type
        for tensor in graph.initializer:
            self.specs[tensor.name] = initializer_spec(tensor)

    def of(self, name: str) -> TensorSpec:
        """The tensor's spec. CaptureError naming the tensor if its shape is unknown and may not be."""
        if name not in self.specs:
            self.specs[name] = self._resolved(name, self._types.get(name))
        return self.specs[name]

    def _resolved(self, name: str, kind: Any) -> TensorSpec:
        if kind is not None and kind.WhichOneof("value") not in (None, "tensor_type"):
            self.report.count("sequences, maps and optional values, whose size is unknown and taken as 0 B", name)
            return TensorSpec((), "undefined", 0)
        known = kind is not None and kind.tensor_type.HasField("shape")
        dims = [d.dim_value if d.HasField("dim_value") else None for d in kind.tensor_type.shape.dim] if known else None
        dtype = _dtype(kind.tensor_type.elem_type) if kind is not None and kind.tensor_type.elem_type else ("float32", 4)
        if dims is not None and None not in dims:
            return TensorSpec(tuple(d for d in dims if d is not None), *dtype)
        if self.unknown_dim is None:
            raise CaptureError(self._complaint(name, kind if known else None))
        if dims is None:
            self.report.count("tensors of unknown rank, taken as one element", name)
            return TensorSpec((), *dtype)
        self.report.count(f"tensors with unknown dimensions, each taken as {self.unknown_dim}", name)
        return TensorSpec(tuple(self.unknown_dim if d is None else d for d in dims), *dtype)

    @staticmethod
    def _complaint(name: str, kind: Any) -> str:
        if kind is None:
            return f"tensor '{name}' has unknown rank: expected a model whose shapes can be inferred, or --unknown-dim N"
        dims = kind.tensor_type.shape.dim
        text = ", ".join(str(d.dim_value) if d.HasField("dim_value") else d.dim_param or "?" for d in dims)
        symbol = next((d.dim_param for d in dims if d.dim_param and not d.dim_param.startswith("unk__")), None)
        return f"tensor '{name}' has shape [{text}]: expected --dim {symbol or f'{name}[0]'}=SIZE, or --unknown-dim N"
