"""Operations timed on this CPU. The path for GPUs shares all but its clock and can't be run here."""

from __future__ import annotations

import json

import pytest
from costs_support import aten, f32, i64, recorded_calls
from pardnn.costs import Coverage, How, OpCall, TensorSpec, cost_model, finish
from pardnn.costs.cost_cache import call_text
from pardnn.costs.measured import MeasuredModel, _median_time, _overload
from pardnn.costs.sample_values import bytes_needed, real_arguments

torch = pytest.importorskip("torch")
CPU = torch.device("cpu")
SMALL, LARGE = (aten("mm.default", f32(n, n), f32(n, n), out=f32(n, n)) for n in (32, 384))


def measured(**options) -> MeasuredModel:
    return MeasuredModel("cpu", cost_model("roofline:V100"), seconds=0.05, **options)


def test_more_work_takes_longer_and_flops_are_exact():
    model = measured()
    small, large = model.cost(SMALL), model.cost(LARGE)
    assert small.how is large.how is How.MEASURED
    assert large.ns > 10 * small.ns > 1000  # 1728 times the work
    assert large.flops == 2 * 384**3


def test_same_call_is_run_once():
    model = measured()
    assert model.cost(SMALL) == model.cost(SMALL)
    assert (model.runs, model.measured) == (1, 2)
    turned = aten("mm.default", f32(32, 32, strides=(1, 32)), f32(32, 32), out=f32(32, 32))
    model.cost(turned)
    assert model.runs == 2


def test_a_whole_training_step_can_be_run():
    """Embeddings, indices, labels, pooling, normalization, dropout, attention, in-place and multi-tensor updates, types by name."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, groups=1), torch.nn.BatchNorm2d(8), torch.nn.MaxPool2d(2), torch.nn.ReLU(), torch.nn.Flatten(),
                                  torch.nn.Linear(72, 16), torch.nn.LayerNorm(16), torch.nn.GELU())
    table = torch.nn.Embedding(50, 16)
    head = torch.nn.Linear(16, 50)
    parameters = [*network.parameters(), *table.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters, foreach=True)
    images, words = torch.randn(4, 3, 8, 8), torch.tensor([1, 7, 3, 49])

    def step():
        optimizer.zero_grad()
        hidden = network(images) + table(words)[torch.tensor([3, 1, 1, 0])]
        hidden = hidden.gather(0, torch.zeros(4, 16, dtype=torch.int64)).to(torch.float64).to(torch.float32)
        query = hidden.view(2, 2, 2, 8)
        hidden = torch.nn.functional.scaled_dot_product_attention(query, query, query).reshape(4, 16)
        hidden = torch.nn.functional.dropout(hidden, 0.5) * torch.sort(hidden, dim=1)[0]
        torch.nn.functional.cross_entropy(head(hidden), words, ignore_index=7).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()

    step()
    model, coverage = measured(), Coverage()
    for call in recorded_calls(step):
        coverage.count(call.op, model.cost(call))
    assert not model.failed, model.failed
    assert coverage.nodes[How.MEASURED] == coverage.nodes.total() > 80
    assert model.runs < coverage.nodes.total()
    assert finish(model)[0].startswith(f"measured on {model.device_name}: {model.runs} operations run now")


def test_the_callers_random_numbers_are_left_alone():
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    measured().cost(aten("bernoulli.default", f32(8), out=f32(8)))
    assert torch.rand(1) == expected


def test_what_can_not_be_run_is_left_to_the_fallback_and_counted():
    model = measured()
    calls = [aten("mm.default", f32(2, 3), f32(4, 5), out=f32(2, 5)), OpCall("jax::dot_general", (f32(2, 2), f32(2, 2)), outputs=(f32(2, 2),), flops=16),
             aten("nosuchop.default", f32(2))]
    costs = [model.cost(call) for call in [*calls, calls[0]]]
    assert costs[:3] == [cost_model("roofline:V100").cost(call) for call in calls]
    with pytest.raises(ValueError, match="none of 4 operations could be run"):
        finish(model)
    model.cost(SMALL)
    line = finish(model)[1]
    assert line.startswith("not measured, most first: aten::mm.default: ") and "x2" in line and "jax::dot_general: no PyTorch operation x1" in line


def test_what_does_not_fit_is_not_tried():
    huge = f32(1 << 20, 1 << 20)
    model = measured(memory=1 << 30)
    assert model.cost(aten("relu.default", huge, out=huge)).how is How.MODELLED
    assert "needs 8192.0 GiB, there are 1.0 GiB" in next(iter(model.failed))


def test_cache_on_disk_is_used_and_kept_apart_by_device(tmp_path):
    path = tmp_path / "cache.json"
    first = measured(cache=path)
    ns = first.cost(SMALL).ns
    finish(first)
    content = json.loads(path.read_text())
    assert content["version"] == 1 and content["devices"] == {first.device_name: {call_text(SMALL): ns}}
    content["devices"]["another machine"] = {"x": 1}
    content["devices"][first.device_name][call_text(SMALL)] = 123456
    path.write_text(json.dumps(content))
    again = cost_model(f"measured:cpu:{path}")
    assert again.cost(SMALL).ns == 123456
    assert isinstance(again, MeasuredModel) and again.runs == 0
    again.cost(LARGE)
    finish(again)
    devices = json.loads(path.read_text())["devices"]
    assert devices["another machine"] == {"x": 1} and len(devices[first.device_name]) == 2


def test_an_expanded_tensor_does_not_fill_memory():
    call = aten("sum.default", f32(1 << 40, 8, strides=(0, 1)))
    assert bytes_needed(call) == 32


@pytest.mark.parametrize("content, message", [
    ("{", "no cache of costs"), ("[]", "expected 'format': 'pardnn-costs'"), ('{"format": "pardnn-costs", "version": 2}', "of version 2; expected 1"),
    ('{"format": "pardnn-costs", "version": 1, "devices": {"a": {"b": -1}}}', "'devices' are damaged"),
    ('{"format": "pardnn-costs", "version": 1, "devices": [1]}', "'devices' are damaged")])
def test_broken_caches_are_refused(tmp_path, content, message):
    path = tmp_path / "cache.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=f"cache.json: .*{message}"):
        cost_model(f"measured:{path}")


def test_values_are_of_the_right_shape_and_inside_of_what_they_index():
    table, places = f32(7, 3, strides=(1, 7)), TensorSpec((200,), "int64", 8)
    call = aten("embedding.default", table, places, out=f32(200, 3))
    (weight, index), _ = real_arguments(call, _overload(call), CPU)
    assert (weight.shape, weight.stride(), weight.dtype) == ((7, 3), (1, 7), torch.float32)
    assert set(index.tolist()) == set(range(7))
    again, _ = real_arguments(call, _overload(call), CPU)
    assert torch.equal(again[0], weight) and torch.equal(again[1], index)


@pytest.mark.parametrize("call, where, limit", [
    (aten("nll_loss_forward.default", f32(64, 5), i64(64), None, 1, -100), 1, 5),
    (aten("index_select.default", f32(3, 9), 1, i64(300)), 2, 9),
    (aten("gather.default", f32(3, 9), 0, i64(300, 9)), 2, 3),
    (aten("embedding_dense_backward.default", f32(400, 2), i64(400), 6, -1, False), 1, 6)])
def test_indices_use_the_whole_range(call, where, limit):
    args, _ = real_arguments(call, _overload(call), CPU)
    assert set(args[where].flatten().tolist()) == set(range(limit))


def test_a_cuda_device_that_is_not_there_is_said():
    if torch.cuda.is_available():
        pytest.skip("there is one here")
    with pytest.raises(ValueError, match="measured:cuda.*no CUDA device"):
        cost_model("measured:cuda")


def test_the_median_of_samples_after_the_warm_up():
    seconds = iter([9.0, 9.0, 0.3, 0.1, 0.2, *[0.2] * 22])
    assert _median_time(lambda: None, lambda run, times: next(seconds), budget=60) == 0.2
