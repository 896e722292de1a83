"""Graphs of training steps for the partitioner ``pardnn``: files, captures from frameworks, costs, and placed runs.

Importing this package needs numpy and h5py only; each capture imports its framework when it is used.
"""

from .graph import Edge, Graph, GraphBuilder, Kind
from .graph_file import GraphFileError, read_graph, write_graph

__all__ = ["Edge", "Graph", "GraphBuilder", "GraphFileError", "Kind", "read_graph", "write_graph"]
