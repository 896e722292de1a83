"""What the captures of TensorFlow, ONNX and JAX share: costs with their coverage, protobuf files as streams, command lines."""

from .costing import Costing
from .errors import CaptureError
from .report import Report

__all__ = ["CaptureError", "Costing", "Report"]
