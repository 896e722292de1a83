"""The examples' models do what their names say: each part against a plain way to write the same, and the four that are placed later learn."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

torch = pytest.importorskip("torch")

Example = Callable[[str], ModuleType]


@pytest.mark.parametrize("name", ["word_rnn", "char_crn"])
def test_lstm_cell_is_that_of_torch(example: Example, name: str) -> None:
    torch.manual_seed(0)
    cell = example(name).LstmCell(3, 5)
    forget = 1.0 if name == "word_rnn" else 0.0
    theirs = torch.nn.LSTMCell(3, 5)
    weight, bias = ([t.chunk(4)[i] for i in (0, 2, 1, 3)] for t in (cell.gates.weight, cell.gates.bias))  # torch: input, forget, cell, output
    bias[1] = bias[1] + forget
    with torch.no_grad():
        theirs.weight_ih.copy_(torch.cat(weight)[:, :3])
        theirs.weight_hh.copy_(torch.cat(weight)[:, 3:])
        theirs.bias_ih.copy_(torch.cat(bias))
        theirs.bias_hh.zero_()
    x, output, state = torch.randn(2, 3), torch.randn(2, 5), torch.randn(2, 5)
    for ours, expected in zip(cell(x, output, state), theirs(x, (output, state))):
        torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("name", ["gpt2", "moe"])
def test_attention_sees_the_past_only(example: Example, name: str) -> None:
    torch.manual_seed(0)
    attention = example(name).Attention(8, 2, *([0.0] if name == "gpt2" else []))
    x = torch.randn(3, 5, 8)
    future = torch.ones(5, 5, dtype=torch.bool).triu(1)
    q, k, v = (y.view(3, 5, 2, 4).transpose(1, 2) for y in attention.qkv(x).split(8, dim=2))
    expected = attention.out(torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(3, 5, 8))
    torch.testing.assert_close(attention(x, future), expected)


def test_cross_attention_is_that_of_torch(example: Example) -> None:
    torch.manual_seed(0)
    attention = example("transformer").Attention(8, 2, 0.0)
    x, memory = torch.randn(3, 5, 8), torch.randn(3, 7, 8)
    q, k, v = (y.unflatten(2, (2, 4)).transpose(1, 2) for y in (attention.q(x), attention.k(memory), attention.v(memory)))
    expected = attention.out(torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
    torch.testing.assert_close(attention(x, memory), expected)


def test_rotary_scores_depend_on_distance_alone(example: Example) -> None:
    torch.manual_seed(0)
    llama = example("llama")
    angles = llama.rotary_angles(10, 6)
    q, k = (torch.randn(6).expand(1, 1, 10, 6) for _ in range(2))
    scores = (llama.rotate(q, angles.cos(), angles.sin()) @ llama.rotate(k, angles.cos(), angles.sin()).transpose(2, 3))[0, 0]
    for distance in range(-5, 6):
        diagonal = scores.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[0].expand_as(diagonal))
    assert not torch.allclose(scores[0, 0], scores[0, 1])


def test_grouped_queries_share_keys(example: Example) -> None:
    torch.manual_seed(0)
    llama = example("llama")
    attention = llama.Attention(16, heads=4, groups=2)
    angles = llama.rotary_angles(5, 4)
    cos, sin = angles.cos(), angles.sin()
    x = torch.randn(2, 5, 16)
    q, k, v = (y.unflatten(2, (-1, 4)).transpose(1, 2) for y in (attention.q(x), attention.k(x), attention.v(x)))
    q, k = llama.rotate(q, cos, sin), llama.rotate(k, cos, sin)
    heads = [torch.nn.functional.scaled_dot_product_attention(q[:, h], k[:, h // 2], v[:, h // 2], is_causal=True) for h in range(4)]
    torch.testing.assert_close(attention(x, cos, sin), attention.out(torch.cat(heads, dim=2)))


def test_experts_take_tokens_in_order_until_they_are_full(example: Example) -> None:
    torch.manual_seed(1)
    width, experts, chosen, capacity = 6, 3, 2, 4
    layer = example("moe").Experts(width, 8, experts, chosen, capacity)
    x = torch.randn(2, 5, width)
    y, balance = layer(x)
    tokens = x.flatten(0, 1)
    share = layer.gate(tokens).softmax(dim=1)
    weight, choice = share.topk(chosen, dim=1)
    expected, places = torch.zeros_like(tokens), [capacity] * experts
    for c in range(chosen):
        for t in range(len(tokens)):
            e = int(choice[t, c])
            if places[e] > 0:
                places[e] -= 1
                expected[t] += weight[t, c] / weight[t].sum() * layer.experts[e](tokens[t])
    assert min(places) == 0 and sum(places) < experts * capacity, "the case has a full expert"
    torch.testing.assert_close(y.flatten(0, 1), expected)
    first = torch.bincount(choice[:, 0], minlength=experts) / len(tokens)
    torch.testing.assert_close(balance, experts * (first * share.mean(dim=0)).sum())


def test_dlrm_multiplies_each_pair_of_vectors_once(example: Example) -> None:
    torch.manual_seed(0)
    dlrm = example("dlrm").Dlrm((4, 6, 3), 5, (7,), (8,), 2)
    numbers, categories = torch.randn(3, 2), torch.tensor([[0, 5, 2], [3, 1, 0], [1, 1, 1]])
    vectors = [dlrm.bottom(numbers), *(table.weight[c] for table, c in zip(dlrm.tables, categories.t()))]
    products = [(vectors[i] * vectors[j]).sum(dim=1) for i in range(4) for j in range(i)]
    torch.testing.assert_close(dlrm(numbers, categories), dlrm.top(torch.cat([vectors[0], torch.stack(products, dim=1)], dim=1))[:, 0])


def test_e3d_recalls_earlier_states(example: Example) -> None:
    torch.manual_seed(0)
    query, history = torch.randn(2, 3, 2, 2, 2), [torch.randn(2, 3, 2, 2, 2) for _ in range(3)]
    flat = lambda t: t.permute(0, 2, 3, 4, 1).reshape(2, -1, 3)  # noqa: E731
    states = torch.cat([flat(h) for h in history], dim=1)
    expected = torch.nn.functional.scaled_dot_product_attention(flat(query), states, states, scale=1.0)
    torch.testing.assert_close(flat(example("e3d_lstm").recall(query, history)), expected)


def test_e3d_reads_what_it_predicted(example: Example) -> None:
    e3d = example("e3d_lstm")
    torch.manual_seed(0)
    model = e3d.E3dLstm(1, 2, 1, 2, 4, predicted=3, kernel=(2, 3, 3))
    frames = torch.rand(1, 4, 1, 4, 4)
    predictions = model(frames)
    assert predictions.shape == (1, 4 + 3 - 2, 1, 4, 4)
    again = e3d.E3dLstm(1, 2, 1, 2, 4, predicted=2, kernel=(2, 3, 3))
    again.load_state_dict(model.state_dict())
    torch.testing.assert_close(again(torch.cat([frames, predictions[:, 2:3]], dim=1)), predictions)  # the first that was not given is read back


def test_wide_resnet_halves_the_image_twice(example: Example) -> None:
    model = example("wide_resnet").WideResNet(units=2, widening=1, classes=5)
    shapes = [tuple(x.shape[1:]) for x in _outputs_of(model.units, model.stem(torch.randn(1, 3, 16, 16)))]
    assert shapes == [(16, 16, 16)] * 2 + [(32, 8, 8)] * 2 + [(64, 4, 4)] * 2


def _outputs_of(layers: torch.nn.Sequential, x: torch.Tensor) -> list[torch.Tensor]:
    outputs = []
    for layer in layers:
        x = layer(x)
        outputs.append(x)
    return outputs


@pytest.mark.parametrize("name", ["gpt2", "wide_resnet", "word_rnn", "moe"])
def test_learns_its_batch(example: Example, name: str) -> None:
    torch.manual_seed(0)
    step = example(name).small()
    optimizer = step.optimizer(list(step.module.parameters()))
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = step.loss(step.module, *step.inputs)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.1
