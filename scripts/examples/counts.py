"""Parameters, residual bytes and FLOPs of one training step of each example, in closed form, by hand: nothing here looks at a model or at a graph.

What counts as FLOPs: products of matrices and convolutions, a multiply and an add being two, as ``pardnn.costs`` counts them; bias, norms, activation
functions and the optimizer's arithmetic do not. A product of sizes m x k x n costs 2mkn forward, and twice as much backward (the gradients of both
operands), unless an operand needs no gradient: the first layer of images or numbers, and states that are zero at the start. So a product of matrices is three
operations, a convolution two (one gives both gradients). Attention that is one
operation (``scaled_dot_product_attention``) computes its scores again in the backward pass: five products there, not four.

What counts as residual: parameters (tied ones once), buffers, and the optimizer's state with one ``step`` counter of 4 bytes for each parameter tensor.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

FLOAT, BOOL, INT64 = 4, 1, 8
"""Bytes of an element."""


class Optimizer(NamedTuple):
    """``moments``: tensors of the parameter's own size kept for each; ``step``: whether each has a counter."""

    moments: int
    step: bool


SGD, MOMENTUM, ADAM = Optimizer(0, False), Optimizer(1, False), Optimizer(2, True)


@dataclass(frozen=True)
class Counts:
    """``parameters``: elements, in ``weights`` tensors. ``residual_bytes`` in ``residuals`` tensors, of which ``constant`` are buffers that no step changes.

    ``flops``: of one step, in ``products`` operations if it is not split into micro-batches (else so many times as many).
    """

    parameters: int
    weights: int
    residual_bytes: int
    residuals: int
    constant: int
    flops: int
    products: int


def counted(parameters: Iterable[int], optimizer: Optimizer, flops: int, products: int, changing: Iterable[tuple[int, int]] = (),
            constant: Iterable[tuple[int, int]] = (), itemsize: int = FLOAT) -> Counts:
    """From the elements of each parameter tensor, and (elements, bytes of one) of each buffer that the step changes or leaves alone."""
    parameters, changing, constant = list(parameters), list(changing), list(constant)
    size = sum(parameters) * itemsize * (1 + optimizer.moments) + len(parameters) * FLOAT * optimizer.step
    return Counts(sum(parameters), len(parameters), size + sum(n * b for n, b in changing + constant),
                  len(parameters) * (1 + optimizer.moments + optimizer.step) + len(changing) + len(constant), len(constant), flops, products)


def linear(inputs: int, outputs: int) -> list[int]:
    """Weight and bias."""
    return [inputs * outputs, outputs]


def norm(width: int) -> list[int]:
    return [width, width]


def word_rnn(*, layers: int, hidden: int, length: int, vocabulary: int, batch: int, **_: Any) -> Counts:
    """Per word: one product [1, 2H] x [2H, 4H] for each layer, and the output layer. The embedding asks for gradients, so all products cost three times."""
    parameters = [vocabulary * hidden, *linear(2 * hidden, 4 * hidden) * layers, *linear(hidden, vocabulary)]
    macs = batch * length * (layers * 8 * hidden**2 + hidden * vocabulary)
    return counted(parameters, ADAM, 6 * macs, 3 * (layers * length + 1))


def char_crn(*, layers: int, hidden: int, length: int, word: int, vocabulary: int, characters: int, embedding: int, scale: float, batch: int,
             **_: Any) -> Counts:
    """Per word: filter i of width w meets the word at ``word`` - w + 1 places; four square products of the highways; the LSTM; the output layer."""
    filters = [(w, round(n * scale)) for w, n in zip((1, 2, 3, 4, 5, 6, 7), (50, 100, 150, 200, 200, 200, 200))]
    features = sum(n for _, n in filters)
    parameters = [characters * embedding]
    for width, n in filters:
        parameters += linear(embedding * width, n)
    parameters += linear(features, features) * 4 + linear(features + hidden, 4 * hidden) + linear(2 * hidden, 4 * hidden) * (layers - 1)
    parameters += linear(hidden, vocabulary)
    macs = sum(embedding * w * n * (word - w + 1) for w, n in filters) + 4 * features**2
    macs += (features + hidden) * 4 * hidden + (layers - 1) * 8 * hidden**2 + hidden * vocabulary
    return counted(parameters, SGD, 6 * batch * length * macs, 2 * len(filters) + 3 * (4 + layers * length + 1))


def wide_resnet(*, units: int, widening: int, size: int, classes: int, batch: int, **_: Any) -> Counts:
    """Per image: a 3 x 3 convolution from a to b channels costs 9ab products at each place of its output; the stem has no gradient of the images."""
    parameters, norms, macs, convolutions = [27 * 16], [], 0, 1
    inputs, side = 16, size
    for group in range(3):
        outputs = 16 * 2**group * widening
        for unit in range(units):
            if group and not unit:
                side = (side + 1) // 2
            norms += [inputs, outputs]
            parameters += [9 * inputs * outputs, 9 * outputs**2]
            macs += side**2 * (9 * inputs * outputs + 9 * outputs**2)
            convolutions += 2
            if inputs != outputs or (group and not unit):
                parameters.append(inputs * outputs)
                macs += side**2 * inputs * outputs
                convolutions += 1
            inputs = outputs
    norms.append(inputs)
    parameters += [n for width in norms for n in norm(width)] + linear(inputs, classes)
    buffers = [b for width in norms for b in ((width, FLOAT), (width, FLOAT), (1, INT64))]
    return counted(parameters, MOMENTUM, batch * (4 * size**2 * 27 * 16 + 6 * (macs + inputs * classes)), 2 * convolutions + 3, changing=buffers)


def transformer(*, layers: int, width: int, inner: int, vocabulary: int, length: int, batch: int, **_: Any) -> Counts:
    """Per token: an attention is 4D^2, and 2TD with the T tokens it sees; feed-forward is 2DF; the output layer is the embedding, DV."""
    attention, ffn = linear(width, width) * 4, linear(width, inner) + linear(inner, width)
    parameters = [vocabulary * width] * 2 + layers * (norm(width) * 2 + attention + ffn) + layers * (norm(width) * 3 + attention * 2 + ffn) + norm(width) * 2
    macs = layers * (3 * (4 * width**2 + 2 * length * width) + 2 * (2 * width * inner)) + width * vocabulary
    return counted(parameters, ADAM, 6 * batch * length * macs, 3 * (22 * layers + 1), constant=[(length * width, FLOAT), (length**2, BOOL)])


def gpt2(*, layers: int, width: int, vocabulary: int, length: int, batch: int, **_: Any) -> Counts:
    """Parameters: VD + TD + L(12D^2 + 13D) + 2D. Per token: L(12D^2 + 2TD) + DV."""
    block = norm(width) * 2 + linear(width, 3 * width) + linear(width, width) + linear(width, 4 * width) + linear(4 * width, width)
    parameters = [vocabulary * width, length * width, *block * layers, *norm(width)]
    macs = layers * (12 * width**2 + 2 * length * width) + width * vocabulary
    return counted(parameters, ADAM, 6 * batch * length * macs, 3 * (6 * layers + 1), constant=[(length**2, BOOL)])


def llama(*, layers: int, width: int, heads: int, groups: int, inner: int, vocabulary: int, length: int, batch: int, dtype: str, **_: Any) -> Counts:
    """Per token: L(2D^2 + 2DG + 3DF) + DV, G being the width of keys; attention is one operation: 2 products forward, 5 backward, of T^2 D each."""
    keys = width // heads * groups
    itemsize = {"float32": 4, "bfloat16": 2}[dtype]
    block = [width, width**2, width * keys, width * keys, width**2, width, width * inner, width * inner, inner * width]
    parameters = [vocabulary * width, *block * layers, width, width * vocabulary]
    macs = layers * (2 * width**2 + 2 * width * keys + 3 * width * inner) + width * vocabulary
    flops = 6 * batch * length * macs + layers * batch * 2 * 7 * length**2 * width
    return counted(parameters, ADAM, flops, (3 * 7 + 2) * layers + 3, constant=[(length * (width // heads // 2), itemsize)] * 2, itemsize=itemsize)


def moe(*, layers: int, width: int, inner: int, experts: int, chosen: int, slack: float, vocabulary: int, length: int, batch: int, micro_batches: int,
        **_: Any) -> Counts:
    """Every second layer has experts: each multiplies all of its places, full or not."""
    sparse = layers // 2
    ffn = linear(width, inner) + linear(inner, width)
    block = norm(width) * 2 + linear(width, 3 * width) + linear(width, width)
    parameters = [vocabulary * width, length * width, *block * layers, *ffn * (layers - sparse), *([width * experts] + ffn * experts) * sparse]
    parameters += norm(width) + [width * vocabulary]
    tokens = batch * length
    places = math.ceil(slack * (tokens // micro_batches) * chosen / experts) * experts * micro_batches
    macs = tokens * (layers * (4 * width**2 + 2 * length * width) + (layers - sparse) * 2 * width * inner + sparse * width * experts + width * vocabulary)
    macs += sparse * places * 2 * width * inner
    products = 3 * (4 * layers + 2 * (layers - sparse) + (1 + 2 * experts) * sparse + 1)
    return counted(parameters, ADAM, 6 * macs, products, constant=[(length**2, BOOL)])


_CRITEO = (227605432, 39060, 17295, 7424, 20265, 3, 7122, 1543, 63, 130229467, 3067956, 405282, 10, 2209, 11938, 155, 4, 976, 14, 292775614, 40790948,
           187188510, 590152, 12973, 108, 36)


def dlrm(*, width: int, most_rows: int, bottom: tuple[int, ...], top: tuple[int, ...], numbers: int, batch: int, **_: Any) -> Counts:
    """Per sample: both perceptrons (no gradient of the numbers), and all products of 27 vectors with each other."""
    rows = [min(n, most_rows) for n in _CRITEO]
    vectors = len(rows) + 1
    pairs = vectors * (vectors - 1) // 2
    lower, upper = (numbers, *bottom, width), (width + pairs, *top, 1)
    layers = [*zip(lower, lower[1:]), *zip(upper, upper[1:])]
    parameters = [n * width for n in rows] + [n for a, b in layers for n in linear(a, b)]
    macs = sum(a * b for a, b in layers) + vectors**2 * width
    return counted(parameters, SGD, batch * (6 * macs - 2 * numbers * lower[1]), 3 * len(layers) - 1 + 3, constant=[(pairs, INT64)])


def e3d_lstm(*, layers: int, hidden: int, channels: int, window: int, size: int, given: int, predicted: int, kernel: tuple[int, int, int], batch: int,
             **_: Any) -> Counts:
    """Per cell and step: convolutions from input (7H), output (4H), memory (4H), state (H), memory (H), both (1 x 1 x 1, H); recall of s + 1 states at step s.

    No gradient asked for: of frames that are given, and of output, memory and state where they are the zeros of the start.
    """
    taps, places, volume = math.prod(kernel), window * size**2, window * size**2 * hidden
    steps = given + predicted - window
    parameters: list[int] = []
    for layer in range(layers):
        inputs = hidden if layer else channels
        parameters += linear(taps * inputs, 7 * hidden) + norm(7 * volume) + (linear(taps * hidden, 4 * hidden) + norm(4 * volume)) * 2 + norm(volume)
        parameters += linear(taps * hidden, hidden) * 2 + linear(2 * hidden, hidden)
    parameters += linear(hidden * window, channels)
    flops = 0
    for s in range(steps):
        for layer in range(layers):
            from_x = places * taps * (hidden if layer else channels) * 7 * hidden
            from_state = places * taps * hidden * 4 * hidden
            flops += from_x * (6 if layer or s > given - window else 4)
            flops += from_state * (6 if s else 4) + from_state * (6 if s or layer else 4)
            flops += 6 * places * (2 * taps * hidden**2 + 2 * hidden**2)
            flops += 2 * places * (s + 1) * places * hidden * (6 if s else 4)
        flops += 6 * size**2 * hidden * window * channels
    products = steps * (12 * layers + 2) + layers * (6 * steps - 2)
    return counted(parameters, ADAM, batch * flops, products)


FAMILIES: dict[str, Callable[..., Counts]] = {
    f.__name__: f for f in (word_rnn, char_crn, wide_resnet, transformer, e3d_lstm, gpt2, llama, moe, dlrm)}
"""By the name of the example's file."""


def sizes_of(step: Callable[..., Any], **given: Any) -> dict[str, Any]:
    """All arguments of an example's ``step``: those given, defaults for the rest."""
    bound = inspect.signature(step).bind(**given)
    bound.apply_defaults()
    return bound.arguments
