"""20 steps of placed training are 20 steps of plain training."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch")

import runtime_models  # noqa: E402
from runtime_support import apart, function, losses_in, partition, plain_run, random_placement, run_ranks  # noqa: E402

STEPS = 20
MODELS = ("gpt", "resnet", "rnn", "experts")


def far(found, expected):
    """Tensors of ``found`` that are not those expected, to 1e-5, and by how much."""
    return {k: apart(t, expected[k]) for k, t in found.items() if apart(t, expected[k]) > 1e-5}


@pytest.fixture(scope="module")
def plain():
    made = {}

    def run(name, **sizes):
        if name not in made:
            made[name] = plain_run(name, name.removesuffix("_sgd"), STEPS, **sizes)
        return made[name]

    return run


@pytest.mark.parametrize("devices", [2, 4])
@pytest.mark.parametrize("name", MODELS)
def test_equals_the_plain_run(name, devices, graphs, plain, pardnn_binary, tmp_path):
    path, graph = graphs(name)
    if devices == 2:
        placement = partition(pardnn_binary, path, 2, tmp_path / "p.h5")
    else:
        placement = random_placement(graph, 4, 1, tmp_path / "p.tsv")
    found = run_ranks(tmp_path, devices, graph=str(path), placement=str(placement), steps=STEPS, model=function(name),
                      data=function("images" if name == "resnet" else "tokens"), save=str(tmp_path / "state.pt"), log=str(tmp_path / "log"))
    assert found.codes == [0] * devices, found.err
    expected = plain(name)
    assert losses_in(found.out[0]) == pytest.approx(expected.losses, rel=1e-5)
    state = torch.load(tmp_path / "state.pt")
    tensors = {**state["model"], **state["buffers"]}
    wanted = dict(expected.tensors)
    for number, values in expected.optimizer["state"].items():
        tensors.update({f"{number}/{k}": t for k, t in state["optimizer"]["state"][number].items()})
        wanted.update({f"{number}/{k}": t for k, t in values.items()})
    assert tensors.keys() == wanted.keys()
    assert not far(tensors, wanted)
    assert state["optimizer"]["param_groups"] == expected.optimizer["param_groups"]
    for rank in range(devices):
        first, *rows = [json.loads(line) for line in (tmp_path / f"log/rank{rank}.jsonl").read_text().splitlines()]
        assert [row["step"] for row in rows[:-1]] == list(range(STEPS))
        print(name, devices, rank, rows[-1]["peak_bytes"] / first["emulated_peak_bytes"], rows[-1])


@pytest.mark.parametrize("name", MODELS)
def test_replicas_equal_the_plain_run_on_the_whole_batch(name, graphs, plain, pardnn_binary, tmp_path):
    """Where samples meet (batch norm, experts' places), the whole batch is run as two micro-batches: statistics are those of a replica."""
    path, _ = graphs(f"{name}_sgd")
    placement = partition(pardnn_binary, path, 2, tmp_path / "p.h5")
    found = run_ranks(tmp_path, 4, graph=str(path), placement=str(placement), steps=STEPS, replicas=2, model=function(f"{name}_sgd"), bucket=2000,
                      data=function("images" if name == "resnet" else "tokens"), save=str(tmp_path / "state.pt"))
    assert found.codes == [0] * 4, found.err
    print(found.out[0])
    expected = plain(f"{name}_sgd", parts=2 if name in ("resnet", "experts") else 1, batch=4)
    assert losses_in(found.out[0]) == pytest.approx(expected.losses, rel=1e-5)
    state = torch.load(tmp_path / "state.pt")["model"]
    assert not far({k: t for k, t in state.items() if "running_" not in k and "num_batches" not in k}, expected.tensors)


def test_micro_batches(graphs, tmp_path):
    """Gradients add up over two micro-batches, with dropout, three devices and receives that begin earlier than emulated."""
    path, graph = graphs("gpt", 2)
    found = run_ranks(tmp_path, 3, graph=str(path), placement=str(random_placement(graph, 3, 5, tmp_path / "p.tsv")), steps=5, model=function("gpt"),
                      data=function("tokens"), save=str(tmp_path / "state.pt"), ahead=20)
    assert found.codes == [0] * 3, found.err
    expected = plain_run("gpt", "gpt", 5, parts=2)
    assert losses_in(found.out[0]) == pytest.approx(expected.losses, rel=1e-5)
    assert not far(torch.load(tmp_path / "state.pt")["model"], expected.tensors)


@pytest.mark.parametrize("devices", [1, 2])
def test_gradients_that_share_memory_are_averaged_once(devices, graphs, tmp_path):
    path, graph = graphs("shared")
    placement = random_placement(graph, devices, 2, tmp_path / "p.tsv")
    found = run_ranks(tmp_path, 2 * devices, graph=str(path), placement=str(placement), steps=5, replicas=2, model=function("shared"), bucket=200,
                      data=function("tokens"), save=str(tmp_path / "state.pt"))
    assert found.codes == [0] * 2 * devices, found.err
    torch.manual_seed(0)
    step = runtime_models.shared()
    optimizer = step.optimizer(step.module.parameters())
    losses = []
    for _, (x, y) in zip(range(5), runtime_models.tokens()):
        optimizer.zero_grad()
        halves = [step.loss(step.module, x[i:i + 2], y[i:i + 2]) / 2 for i in (0, 2)]
        losses.append(float(sum(halves).detach()))
        sum(halves).backward()
        optimizer.step()
    assert losses_in(found.out[0]) == pytest.approx(losses, rel=1e-5)
    assert not far(torch.load(tmp_path / "state.pt")["model"], {k: t.detach() for k, t in step.module.state_dict().items()})


class _Twin:
    """The network of one device whose only other replica is like it."""

    def average(self, flat):
        flat.mul_(2)
        return self

    def wait(self):
        pass


@pytest.mark.parametrize("name", ["gpt_sgd", "resnet_sgd"])
def test_averages_in_new_memory_are_the_same(name, graphs, tmp_path):
    """Where a gradient's memory is still needed as it was, its average lies elsewhere: nothing changes but the memory. All is given back."""
    from pardnn.runtime.engine import Engine
    from pardnn.runtime.placement import read_placement
    from pardnn.runtime.plan import plan_step
    from pardnn.torch_step.program import load_program
    from pardnn.torch_step.replay import Runner
    from pardnn.torch_step.state import load_state, module_state

    path, graph = graphs(name)
    _, program = load_program(path)
    placement = read_placement(random_placement(graph, 1, 2, tmp_path / "p.tsv"), graph)
    states = []
    for in_place in (True, False):
        plan = plan_step(program, graph, placement, replicas=2, bucket_bytes=200).devices[0]
        assert plan.buckets.in_place
        if not in_place:
            plan.buckets.in_place = set()
        torch.manual_seed(0)
        step = getattr(runtime_models, name)()
        states.append(load_state(program, module_state(step.module)))
        engine = Engine(program, plan, _Twin(), Runner(program), states[-1], replicas=2)
        resident = engine.meter.live
        for _ in range(3):
            assert "loss" in engine.step(step.inputs.__getitem__)
            assert engine.meter.live == resident, "nothing is left after a step"
    assert all(torch.equal(t, states[1][ref]) for ref, t in states[0].items())
