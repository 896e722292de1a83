"""State goes in and out in the ordinary form: runs that stop and go on are one run, whole or in parts."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import runtime_models  # noqa: E402
from runtime_support import apart, function, plain_run, random_placement, run_ranks  # noqa: E402

from pardnn.runtime.state_file import read_state  # noqa: E402


@pytest.fixture(scope="module")
def files(graphs, tmp_path_factory):
    path, graph = graphs("gpt")
    folder = tmp_path_factory.mktemp("state")
    return {"graph": str(path), "placement": str(random_placement(graph, 2, 3, folder / "p.tsv")), "data": function("tokens")}


@pytest.mark.parametrize("sharded", [False, True])
def test_a_run_goes_on_where_it_stopped(files, sharded, tmp_path):
    middle, end = tmp_path / "middle", tmp_path / "end.pt"
    first = run_ranks(tmp_path, 2, **files, steps=3, model=function("gpt"), save=str(middle), sharded=sharded)
    assert first.codes == [0, 0], first.err
    second = run_ranks(tmp_path, 2, **files, steps=3, state=str(middle), save=str(end))  # buffers that no state_dict has are in the file as well
    assert second.codes == [0, 0], second.err
    assert "step 3: loss" in second.out[0] and "first step 3" in second.out[0]
    expected = plain_run("gpt", "gpt", 6)
    found = torch.load(end)
    assert found["step"] == 6
    torch.manual_seed(1)
    step = runtime_models.gpt()
    optimizer = step.optimizer(step.module.parameters())
    step.module.load_state_dict(found["model"])
    optimizer.load_state_dict(found["optimizer"])
    assert not {k: t for k, t in step.module.state_dict().items() if apart(t, expected.tensors[k]) > 1e-5}
    for number, values in expected.optimizer["state"].items():
        assert not {k for k, t in values.items() if apart(found["optimizer"]["state"][number][k], t) > 1e-5}
    assert found["model"]["lm_head.weight"].data_ptr() == found["model"]["wte.weight"].data_ptr(), "tied: once in the file, under both names"


def test_parts_hold_what_is_on_their_device(files, graphs, tmp_path):
    assert run_ranks(tmp_path, 2, **files, steps=1, model=function("gpt"), save=str(tmp_path / "parts"), sharded=True).codes == [0, 0]
    parts = [torch.load(tmp_path / f"parts/rank{r}.pt") for r in range(2)]
    names = [set(p["model"]) | set(p["buffers"]) for p in parts]
    assert names[0] and names[1] and not names[0] & names[1]
    assert {k: v for p in parts for k, v in {**p["model"], **p["buffers"]}.items()}.keys() == dict(runtime_models.gpt().module.state_dict()).keys() | {"future"}
    graph = graphs("gpt")[1]
    device = dict(line.split("\t") for line in open(files["placement"]).read().splitlines())
    for rank, part in enumerate(parts):
        assert {device[n] for n in part["model"] if n in graph.names} == {str(rank)}


def test_a_plain_state_dict_is_read(files, tmp_path):
    torch.manual_seed(5)
    step = runtime_models.gpt()
    torch.save(step.module.state_dict(), tmp_path / "plain.pt")
    torch.save({"state_dict": step.module.state_dict(), "optimizer": step.optimizer(step.module.parameters()).state_dict()}, tmp_path / "both.pt")
    for name in ("plain.pt", "both.pt"):
        found = run_ranks(tmp_path, 2, **files, steps=0, model=function("gpt"), state=str(tmp_path / name), save=str(tmp_path / "out.pt"))
        assert found.codes == [0, 0], found.err
        saved = read_state(str(tmp_path / "out.pt"))
        assert not [k for k, t in step.module.state_dict().items() if not torch.equal(saved.tensors[k], t)]


def test_without_its_buffers_a_state_is_refused(files, tmp_path):
    torch.save(runtime_models.gpt().module.state_dict(), tmp_path / "plain.pt")
    found = run_ranks(tmp_path, 2, **files, steps=1, state=str(tmp_path / "plain.pt"))
    assert found.codes == [3, 3]
    assert "buffer 'future' is missing" in found.err[0] and "give --model too" in found.err[0]


def test_without_a_state_numbers_are_synthetic_and_said_to_be(files, tmp_path):
    told = {k: v for k, v in files.items() if k != "data"}
    runs = [run_ranks(tmp_path, 2, **told, steps=2, seed=seed) for seed in (1, 1, 2)]
    assert all(r.codes == [0, 0] and "synthetic" in r.out[0] for r in runs)
    losses = [[line.split(",")[0] for line in r.out[0].splitlines() if line.startswith("step ") and "loss" in line] for r in runs]
    assert losses[0] == losses[1] != losses[2]
