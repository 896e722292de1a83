"""Training steps for sessions: small, with random initial values, dropout and optimizer state; and how they are run and traced."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1


class Step(NamedTuple):
    """``graph_def``; names of what a step computes, the loss being the last; ``init``; ``feeds(i)``: by tensor name, of step i."""

    graph_def: Any
    fetches: list[str]
    init: str
    feeds: Any

    def __repr__(self) -> str:
        return f"Step of {len(self.graph_def.node)} nodes"


def mlp() -> Step:
    """Dense layers with dropout and Adam on reference variables; a saver, and an evaluation that no step runs."""
    with tf.Graph().as_default() as graph:
        tf1.set_random_seed(1)
        x, y = tf1.placeholder(tf.float32, [32, 48], name="x"), tf1.placeholder(tf.int32, [32], name="y")
        h = x
        widths = (48, 64, 64, 64, 10)
        for i, (a, b) in enumerate(zip(widths, widths[1:])):
            with tf1.variable_scope(f"l{i}", use_resource=False):
                h = tf.nn.bias_add(tf.matmul(h, tf1.get_variable("w", [a, b])), tf1.get_variable("b", [b], initializer=tf1.zeros_initializer()))
                h = tf1.nn.dropout(tf.nn.relu(h), rate=0.1, seed=i) if b > 10 else h
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(logits=h, labels=y), name="loss")
        tf1.train.AdamOptimizer(1e-2).minimize(loss, name="train")
        tf.reduce_mean(tf.cast(tf.equal(tf.argmax(h, 1, tf.int32), y), tf.float32), name="accuracy")
        tf1.train.Saver()
        tf1.global_variables_initializer()
    return Step(graph.as_graph_def(), ["train", "loss:0"], "init", lambda i: {"x:0": _random(i, 32, 48), "y:0": np.arange(32) % 10})


def rnn() -> Step:
    """A gated recurrent net, unrolled, with momentum on resource variables and clipped gradients."""
    steps, batch, width = 4, 16, 32
    with tf.Graph().as_default() as graph:
        tf1.set_random_seed(2)
        x = tf1.placeholder(tf.float32, [steps, batch, width], name="x")
        weights = {name: tf1.get_variable(name, [2 * width, width], use_resource=True) for name in ("reset", "update", "new")}
        out = tf1.get_variable("out", [width, 1], use_resource=True)
        h = tf.zeros([batch, width])
        for t in range(steps):
            both = tf.concat([x[t], h], 1)
            r, z = tf.sigmoid(tf.matmul(both, weights["reset"])), tf.sigmoid(tf.matmul(both, weights["update"]))
            h = z * h + (1 - z) * tf.tanh(tf.matmul(tf.concat([x[t], r * h], 1), weights["new"]))
        loss = tf.reduce_mean(tf.square(tf.matmul(h, out) - 1), name="loss")
        variables = tf1.trainable_variables()
        gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 1.0)
        tf1.train.MomentumOptimizer(0.1, 0.9).apply_gradients(zip(gradients, variables), name="train")
        tf1.global_variables_initializer()
    return Step(graph.as_graph_def(), ["train", "loss:0"], "init", lambda i: {"x:0": _random(i, steps, batch, width)})


def convnet() -> Step:
    """Convolutions and momentum, inside a tf.function that calls another, called in a session."""
    with tf.Graph().as_default() as graph:
        shapes = [(3, 3, 3, 8), (3, 3, 8, 8), (3, 3, 8, 16)]
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
                loss = tf.reduce_mean(tf.square(h - 0.5))
            for w, m, g in zip(weights, slots, tape.gradient(loss, weights)):
                tf.raw_ops.ResourceApplyMomentum(var=w.handle, accum=m.handle, lr=0.1, grad=g, momentum=0.9)
            return loss

        tf.identity(step(tf1.placeholder(tf.float32, [4, 16, 16, 3], name="x")), name="loss")
        tf1.global_variables_initializer()
    return Step(graph.as_graph_def(), ["loss:0"], "init", lambda i: {"x:0": _random(i, 4, 16, 16, 3)})


def looped() -> Step:
    """A while loop of TF1 (Enter, Merge, Switch, NextIteration, Exit), whose gradient is another, with plain descent."""
    v2 = tf1.control_flow_v2_enabled()
    tf1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            tf1.set_random_seed(3)
            x = tf1.placeholder(tf.float32, [8, 16], name="x")
            w = tf1.get_variable("w", [16, 16], use_resource=True)
            _, h = tf1.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, w))), [tf.constant(0), x])
            loss = tf.reduce_mean(tf.square(h - 0.5), name="loss")
            tf1.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
            tf1.global_variables_initializer()
    finally:
        if v2:
            tf1.enable_control_flow_v2()
    return Step(graph.as_graph_def(), ["train", "loss:0"], "init", lambda i: {"x:0": _random(i, 8, 16)})


def functional() -> Step:
    """Loops and choices of TensorFlow 2 (While, If), whose bodies are functions that read a variable's handle."""
    with tf.Graph().as_default() as graph:
        tf1.set_random_seed(4)
        x = tf1.placeholder(tf.float32, [8, 16], name="x")
        w, v = (tf1.get_variable(name, [16, 16], use_resource=True) for name in "wv")
        _, h = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, w))), [tf.constant(0), tf.matmul(x, v)], maximum_iterations=3)
        h = tf.cond(tf.reduce_sum(h) > 0, lambda: tf.matmul(h, v), lambda: -h)
        loss = tf.reduce_mean(tf.square(h - 0.5), name="loss")
        tf1.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
        tf1.global_variables_initializer()
    return Step(graph.as_graph_def(), ["train", "loss:0"], "init", lambda i: {"x:0": _random(i, 8, 16)})


def _random(seed: int, *shape: int) -> Any:
    return np.random.RandomState(seed).rand(*shape).astype(np.float32)


def traced(session: Any, step: Step) -> Any:
    """RunMetadata of one step, with the graphs that each device ran."""
    metadata = tf1.RunMetadata()
    options = tf1.RunOptions(trace_level=tf1.RunOptions.FULL_TRACE, output_partition_graphs=True)
    session.run(step.fetches, step.feeds(0), options=options, run_metadata=metadata)
    return metadata


def trained(session: Any, step: Step, steps: int) -> list[bytes]:
    """The loss of each of ``steps`` steps from the initial values, as bytes."""
    session.run(step.init)
    return [session.run(step.fetches, step.feeds(i))[-1].tobytes() for i in range(steps)]
