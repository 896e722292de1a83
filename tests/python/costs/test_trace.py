"""Costs from profilers' traces: what belongs to which operation, what counts once, what is refused (E1, E2, E4)."""

from __future__ import annotations

import json

import pytest
from costs_support import aten, f32, kernel, launch, operation, recorded_calls, write_trace
from pardnn.costs import Coverage, How, OpCall, TensorSpec, TraceError, cost_model, finish
from pardnn.costs.trace import TraceModel

MM = aten("mm.default", f32(4, 8), f32(8, 2), out=f32(4, 2))
MM_DIMS = [[4, 8], [8, 2]]


def model(tmp_path, *events, name="t.json") -> TraceModel:
    traced = cost_model(f"trace:{write_trace(tmp_path / name, list(events))}")
    assert isinstance(traced, TraceModel)
    return traced


def test_host_time_is_the_median_of_occurrences(tmp_path):
    traced = model(tmp_path, *(operation("aten::mm", 100 * i, us, MM_DIMS, id=i) for i, us in enumerate((90, 7, 8, 6.5, 9))))
    cost = traced.cost(MM)
    assert (cost.ns, cost.flops, cost.how) == (8000, 2 * 4 * 8 * 2, How.MEASURED)


def test_kernels_belong_to_the_operations_that_launched_them(tmp_path):
    """linear calls addmm, which launches two kernels; relu one, from another thread; a view none.

    thread 1:  linear [0, 40): addmm [5, 35): launches at 10 and 20      view [50, 53)
    thread 2:  relu [0, 9): launches at 4
    """
    traced = model(tmp_path, operation("aten::linear", 0, 40, [[4, 8], [2, 8], [2]], id=1), operation("aten::addmm", 5, 30, [[2], [4, 8], [8, 2]], id=2),
                   launch(10, 100), launch(20, 101), operation("aten::view", 50, 3, [[4, 2], []], id=3),
                   operation("aten::relu", 0, 9, [[4, 2]], id=4, tid=2), launch(4, 102, tid=2),
                   kernel(60, 500, 100), kernel(600, 300, 101), kernel(60, 70, 102), name="t.json.gz")
    assert traced.device_time
    assert traced.cost(aten("linear.default", f32(4, 8), f32(2, 8), f32(2), out=f32(4, 2))).ns == 800_000
    assert traced.cost(aten("addmm.default", f32(2), f32(4, 8), f32(8, 2), out=f32(4, 2))).ns == 800_000
    assert traced.cost(aten("relu.default", f32(4, 2), out=f32(4, 2))).ns == 70_000
    assert traced.cost(OpCall("aten::view.default", (f32(4, 2), (8,)), outputs=(f32(8),), is_view=True)).ns == 3000


def test_kernel_without_its_launch_is_found_by_the_operations_id(tmp_path):
    traced = model(tmp_path, operation("aten::mm", 0, 40, MM_DIMS, id=5), operation("aten::relu", 50, 4, [[4]], id=6), kernel(60, 500, 100, id=5))
    assert traced.cost(MM).ns == 500_000
    assert traced.cost(aten("relu.default", f32(4))).ns == 4000


def test_kernel_that_no_operation_launched_is_counted_as_lost(tmp_path):
    traced = model(tmp_path, operation("aten::mm", 0, 40, MM_DIMS, id=5), launch(10, 100), launch(70, 101), kernel(60, 500, 100), kernel(90, 5, 101),
                   kernel(95, 5, 999))
    assert traced.lost_work == 2
    assert traced.cost(MM).ns == 500_000
    assert any("2 kernels or copies that no operation launched" in line for line in finish(traced))


def test_same_work_on_device_and_stream_lanes_counts_once(tmp_path):
    """E1: one kernel under its device and under its stream, one operation in two files that were merged."""
    once = operation("aten::mm", 0, 40, MM_DIMS, id=5)
    traced = model(tmp_path, once, once, launch(10, 100), kernel(60, 500, 100, lane=7), kernel(60, 500, 100, lane=0), kernel(60, 500, 100, lane=99))
    assert traced.cost(MM).ns == 500_000
    assert any("3 events shown on several lanes, counted once" in line for line in traced.summary)


def test_two_different_kernels_of_one_launch_both_count(tmp_path):
    traced = model(tmp_path, operation("aten::mm", 0, 40, MM_DIMS, id=5), launch(10, 100), kernel(60, 500, 100), kernel(560, 500, 100))
    assert traced.cost(MM).ns == 1_000_000


def test_types_and_lists_tell_operations_apart(tmp_path):
    conv = [[1, 3, 8, 8], [4, 3, 3, 3], [], [], []]
    kinds = ["float", "float", "", "ScalarList", "ScalarList"]
    half = ["c10::Half", "c10::Half", "", "ScalarList", "ScalarList"]
    traced = model(tmp_path, operation("aten::convolution", 0, 10, conv, id=1, types=kinds, concrete=["", "", "", "[1, 1]", "[0, 0]"]),
                   operation("aten::convolution", 20, 4, conv, id=2, types=kinds, concrete=["", "", "", "[2, 2]", "[0, 0]"]),
                   operation("aten::convolution", 40, 1, conv, id=3, types=half, concrete=["", "", "", "[1, 1]", "[0, 0]"]))

    def call(stride, out):
        return aten("convolution.default", f32(1, 3, 8, 8), f32(4, 3, 3, 3), None, stride, (0, 0), (), False, (), 1, out=f32(*out))

    kwargs = {"out": f32(1, 4, 6, 6)}
    one = OpCall("aten::convolution.default", (f32(1, 3, 8, 8), f32(4, 3, 3, 3), None, (1, 1), (0, 0)), outputs=(kwargs["out"],))
    two = OpCall("aten::convolution.default", (f32(1, 3, 8, 8), f32(4, 3, 3, 3), None, (2, 2), (0, 0)), outputs=(f32(1, 4, 3, 3),))
    assert (traced.cost(one).ns, traced.cost(two).ns) == (10_000, 4000)
    assert traced.approximate == 0
    assert traced.cost(call((5, 5), (1, 4, 2, 2))).ns == 4000  # by shapes and types: the lower middle of 10 and 4
    assert traced.approximate == 1
    assert any("1 of them by their tensors alone" in line for line in finish(traced))


def test_what_is_not_in_the_trace_is_left_to_the_fallback_and_counted(tmp_path):
    traced = model(tmp_path, operation("aten::mm", 0, 40, MM_DIMS, id=5))
    coverage = Coverage()
    other = aten("mm.default", f32(4, 8), f32(8, 3), out=f32(4, 3))
    for call in (MM, other, aten("relu.default", f32(4), out=f32(4))):
        coverage.count("n", traced.cost(call))
    assert coverage.line().startswith("measured 33.3 % of 3 nodes") and "modelled 66.7 % of 3 nodes" in coverage.line()
    lines = finish(traced)
    assert lines[-2].endswith("1 of 3 calls are in the trace (33.3 %)")
    assert lines[-1] == "not in the trace, most first: aten::mm.default x1, aten::relu.default x1"


def test_a_matched_call_never_asks_the_fallback_for_a_time(tmp_path):
    class Fails:
        def cost(self, call):
            raise AssertionError("asked")

    rows, index = f32(4, 8), TensorSpec((4,), "int64", 8)
    path = write_trace(tmp_path / "t.json", [operation("aten::embedding_dense_backward", 0, 40, [[4, 8], [4], [], [], []], id=5,
                                                       types=["float", "long int", "Scalar", "Scalar", "Scalar"])])
    cost = TraceModel(path, Fails()).cost(aten("embedding_dense_backward.default", rows, index, 9, -1, False, out=f32(9, 8)))
    assert (cost.ns, cost.temp) == (40_000, 2 * 4 * 8)


def test_trace_with_none_of_the_operations_is_an_error(tmp_path):
    traced = model(tmp_path, operation("aten::mm", 0, 40, MM_DIMS, id=5))
    traced.cost(aten("relu.default", f32(4), out=f32(4)))
    with pytest.raises(TraceError, match="t.json: holds none of the 1 operations of this graph with their shapes; first: aten::relu.default"):
        finish(traced)


@pytest.mark.parametrize("events", [[], [kernel(1, 2, 3)], [{"ph": "X", "cat": "python_function", "name": "f", "ts": 1, "dur": 2}]])
def test_trace_without_operations_is_an_error(tmp_path, events):
    with pytest.raises(TraceError, match="t.json: no operations in it"):
        model(tmp_path, *events)


def test_trace_without_shapes_is_an_error(tmp_path):
    event = operation("aten::mm", 0, 40, [], id=5)
    del event["args"]["Input Dims"]
    with pytest.raises(TraceError, match="no 'Input Dims'; record with record_shapes=True"):
        model(tmp_path, event)


def test_events_without_a_proper_time_are_left_out_and_counted(tmp_path):
    bad = [operation("aten::mm", 0, dur, MM_DIMS, id=i) for i, dur in enumerate((-1, None, "x", float("nan")))]
    traced = model(tmp_path, *bad, operation("aten::mm", 0, 40, MM_DIMS, id=9))
    assert traced.cost(MM).ns == 40_000
    assert any("4 events without a proper time, left out" in line for line in traced.summary)


BROKEN = json.dumps({"traceEvents": [operation("aten::mm", 0, 40, MM_DIMS, id=5), operation("aten::relu", 50, 9, [[4]], id=6)]})


@pytest.mark.parametrize("broken, repair", [
    (BROKEN.replace("relu", "C:\\User relu"), "1 backslashes"), (BROKEN.replace("relu", "re\x02lu"), "1 elements with control"),
    (BROKEN.encode().replace(b"relu", b"re\xfflu"), "1 bytes that are not UTF-8")])
def test_what_can_be_read_in_one_way_only_is_recovered_and_counted(tmp_path, broken, repair):
    path = tmp_path / "t.json"
    path.write_bytes(broken if isinstance(broken, bytes) else broken.encode())
    traced = cost_model(f"trace:{path}")
    assert traced.cost(MM).ns == 40_000
    assert any(f"put right: {repair}" in line for line in finish(traced))


@pytest.mark.parametrize("broken", [BROKEN.replace('relu"', "relu"), BROKEN[:-1], BROKEN[:-5], BROKEN[:len(BROKEN) // 2], BROKEN.replace("50,", "50")])
def test_the_rest_is_refused_with_the_byte_and_never_half_read(tmp_path, broken):
    path = tmp_path / "t.json"
    path.write_text(broken)
    with pytest.raises(TraceError, match=r"t.json: byte \d+: "):
        cost_model(f"trace:{path}")


def test_a_profile_of_a_training_step_covers_it(tmp_path):
    torch = pytest.importorskip("torch")
    from torch.profiler import ProfilerActivity, profile

    torch.manual_seed(0)
    torch.set_num_threads(1)
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(72, 16), torch.nn.GELU(),
                                  torch.nn.Linear(16, 10))
    optimizer = torch.optim.SGD(network.parameters(), 0.1, momentum=0.9, foreach=False)
    images, labels = torch.randn(4, 3, 8, 8), torch.tensor([1, 2, 3, 4])

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network(images), labels).backward()
        optimizer.step()

    step()
    calls = recorded_calls(step)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        for _ in range(3):
            step()
    profiler.export_chrome_trace(str(tmp_path / "t.json"))
    traced = cost_model(f"trace:{tmp_path / 't.json'}")
    assert isinstance(traced, TraceModel)
    coverage = Coverage()
    for call in calls:
        coverage.count(call.op, traced.cost(call))
    assert set(traced.unmatched) <= {"aten::detach.default"}  # which the recorder itself causes
    assert coverage.nodes[How.MEASURED] >= 0.9 * len(calls)
    for op in ("convolution.default", "convolution_backward.default", "addmm.default", "mm.default", "gelu_backward.default"):
        assert f"aten::{op}" in {c.op for c in calls}
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    durations = sorted(round(e["dur"] * 1000) for e in events if e.get("cat") == "cpu_op" and e["name"] == "aten::convolution")
    assert len(durations) == 3
    assert next(traced.cost(c).ns for c in calls if c.op == "aten::convolution.default") == durations[1]
