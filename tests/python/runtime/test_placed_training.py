"""20 steps of placed training are 20 steps of plain training."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch")

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
