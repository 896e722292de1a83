"""A TF1 training step and its profile, made once."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

BATCH, WIDTHS = 64, (256, 512, 512, 10)


class Step(NamedTuple):
    """``graph_def``, the RunMetadata of one step of ``fetches``, and bytes of the variables."""

    graph_def: Any
    metadata: Any
    fetches: list[str]
    variable_bytes: int

    def __repr__(self) -> str:
        return f"Step of {len(self.graph_def.node)} nodes"


def run_with_trace(graph: Any, init: Any, fetches: list[Any], feeds: dict[Any, Any]) -> Any:
    """RunMetadata of the second run of ``fetches``, one operation at a time, the graph as it is."""
    import tensorflow as tf

    tf1 = tf.compat.v1
    config = tf1.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    metadata = tf1.RunMetadata()
    with tf1.Session(graph=graph, config=config) as session:
        session.run(init)
        session.run(fetches, feeds)
        session.run(fetches, feeds, options=tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE), run_metadata=metadata)
    return metadata


@pytest.fixture(scope="session")
def mlp() -> Step:
    """Three dense layers with Adam on reference variables, in a session."""
    np, tf = pytest.importorskip("numpy"), pytest.importorskip("tensorflow")
    tf1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        tf1.set_random_seed(1)
        x = tf1.placeholder(tf.float32, [BATCH, WIDTHS[0]], name="x")
        y = tf1.placeholder(tf.int32, [BATCH], name="y")
        h = x
        for i, (a, b) in enumerate(zip(WIDTHS, WIDTHS[1:])):
            with tf1.variable_scope(f"l{i}", use_resource=False):
                h = tf.nn.bias_add(tf.matmul(h, tf1.get_variable("w", [a, b])), tf1.get_variable("b", [b]))
            h = tf.nn.relu(h, name=f"l{i}/Relu") if i < 2 else h
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=h, labels=y), name="loss")
        train = tf1.train.AdamOptimizer(1e-3).minimize(loss, name="train")
        init = tf1.global_variables_initializer()
        size = sum(4 * v.shape.num_elements() for v in tf1.global_variables())
    feeds = {x: np.random.RandomState(0).rand(BATCH, WIDTHS[0]), y: np.zeros(BATCH)}
    return Step(graph.as_graph_def(), run_with_trace(graph, init, [train, loss], feeds), ["train", "loss"], size)


@pytest.fixture(scope="session")
def convnet() -> Step:
    """Convolutions and momentum on resource variables, inside a tf.function that calls another, in a session."""
    np, tf = pytest.importorskip("numpy"), pytest.importorskip("tensorflow")
    tf1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        shapes = [(3, 3, 3, 32), (3, 3, 32, 32), (3, 3, 32, 64)]
        weights = [tf.Variable(tf.random.normal(s, stddev=0.1, seed=i), name=f"w{i}") for i, s in enumerate(shapes)]
        slots = [tf.Variable(tf.zeros(s), name=f"m{i}") for i, s in enumerate(shapes)]

        @tf.function
        def layer(h: Any, w: Any) -> Any:
            return tf.nn.relu(tf.nn.conv2d(h, w, 1, "SAME"))

        @tf.function
        def step(x: Any) -> Any:
            with tf.GradientTape() as tape:
                h = x
                for w in weights:
                    h = layer(h, w)
                loss = tf.nn.l2_loss(h)
            for w, m, g in zip(weights, slots, tape.gradient(loss, weights)):
                tf.raw_ops.ResourceApplyMomentum(var=w.handle, accum=m.handle, lr=0.1, grad=g, momentum=0.9)
            return loss

        x = tf1.placeholder(tf.float32, [8, 32, 32, 3], name="x")
        out = tf.identity(step(x), name="out")
        init = tf1.global_variables_initializer()
    metadata = run_with_trace(graph, init, [out], {x: np.random.RandomState(0).rand(8, 32, 32, 3)})
    return Step(graph.as_graph_def(), metadata, ["out"], 2 * 4 * (864 + 9216 + 18432))
