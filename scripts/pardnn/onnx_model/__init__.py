"""ONNX models as graphs for the partitioner."""
