"""Sessions that run a placed GraphDef as it is: each node where it is placed, nothing folded, fused or moved."""

from __future__ import annotations

from typing import Any

from .device_names import devices_used
from .errors import PlaceError


def session_config(devices: int, kind: str = "cpu", *, threads: int | None = None, soft_placement: bool = False) -> Any:
    """A ConfigProto for ``devices`` logical devices on the CPU, or for the first ``devices`` GPUs.

    Grappler, constant folding and soft placement are off: the graph that runs is the graph that was placed. ``threads``: of each pool of
    TensorFlow's, its own choice by default; 1 makes sums reproducible. ``soft_placement``: nodes without a kernel on their device go elsewhere.
    """
    import tensorflow as tf

    tf1 = tf.compat.v1
    config = tf1.ConfigProto(allow_soft_placement=soft_placement)
    if kind == "cpu":
        config.device_count["CPU"] = devices
        config.device_count["GPU"] = 0
    else:
        config.gpu_options.visible_device_list = ",".join(map(str, range(devices)))
    if threads is not None:
        config.inter_op_parallelism_threads = config.intra_op_parallelism_threads = threads
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = tf1.OptimizerOptions.L0
    config.graph_options.optimizer_options.global_jit_level = tf1.OptimizerOptions.OFF
    return config


def placed_session(definition: Any, devices: int | None = None, *, threads: int | None = None, soft_placement: bool = False,
                   config: Any = None) -> Any:
    """A session (``tf.compat.v1.Session``) of a placed GraphDef, whose nodes have their own names.

    ``devices``: how many there are, as many as the nodes name by default. ``config``: a ConfigProto instead of :func:`session_config`'s; its
    devices are then the caller's matter. PlaceError where a node names a device that is not there.
    """
    import tensorflow as tf

    tf1 = tf.compat.v1
    used = devices_used(node.device for node in definition.node)
    unplaced = next((node.name for node in definition.node if not node.device), None)
    if unplaced is not None:
        raise PlaceError(f"node '{unplaced}' has no device: expected a GraphDef that pardnn.place_tensorflow has placed")
    kind = "gpu" if "gpu" in used else "cpu"
    needed = used[kind] + 1
    there = len(tf.config.list_physical_devices("GPU")) if kind == "gpu" and config is None else needed
    if devices is not None:
        there = min(there, devices) if kind == "gpu" else devices
    if needed > there:
        raise PlaceError(f"the GraphDef is placed on {needed} devices ({kind}), there are {there}")
    graph = tf.Graph()
    with graph.as_default():
        tf1.import_graph_def(definition, name="")
    return tf1.Session(graph=graph, config=config or session_config(there, kind, threads=threads, soft_placement=soft_placement))
