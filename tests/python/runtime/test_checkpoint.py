"""A run that a signal stops goes on to the last bit, on every replica; a checkpoint of another run, or a broken one, is one line."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from runtime_models import BATCH, LENGTH, WORDS  # noqa: E402
from runtime_support import finish, function, random_placement, run_ranks, start_ranks  # noqa: E402

from pardnn.costs import cost_model  # noqa: E402
from pardnn.runtime.checkpoint import Checkpoint  # noqa: E402
from pardnn.runtime.ranks import Ranks  # noqa: E402
from pardnn.torch_step.capture import capture_step  # noqa: E402
from pardnn.torch_step.step import Step  # noqa: E402

STEPS = 9
# Batches of a language model; rank 1 gets a signal, once, as it takes that of step 4.
DATA = '''
import os, pathlib, signal
from runtime_models import tokens

def data():
    sent = pathlib.Path(__file__).with_name("sent")
    for number, batch in enumerate(tokens()):
        if number == 4 and os.environ["RANK"] == "1" and not sent.exists():
            sent.touch()
            os.kill(os.getpid(), signal.{name})
        yield batch
'''


class Remembering(torch.nn.Module):
    """Its buffer and its gradients last across steps, differ between replicas, and are part of the loss."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(WORDS, 8)
        self.out = torch.nn.Linear(8, WORDS)
        self.register_buffer("memory", torch.zeros(8), persistent=False)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        x = self.table(words)
        with torch.no_grad():
            self.memory.mul_(0.5).add_(x.mean((0, 1)))
        return self.out(torch.tanh(x + self.memory))


def remembering(batch: int = BATCH // 2) -> Step:
    data = tuple(torch.randint(WORDS, (batch, LENGTH)) for _ in range(2))
    loss = lambda module, x, y: torch.nn.functional.cross_entropy(module(x).flatten(0, 1), y.flatten())
    return Step(Remembering(), loss, data, lambda parameters: torch.optim.SGD(parameters, lr=0.5, momentum=0.9))


@pytest.fixture(scope="module")
def cases(graphs: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Options of runs: a GPT with dropout on two devices, and two replicas of a model that remembers."""
    folder = tmp_path_factory.mktemp("checkpoints")
    path, graph = graphs("gpt")
    placement = str(random_placement(graph, 2, 3, folder / "gpt.tsv"))
    found: dict[str, dict[str, Any]] = {"gpt": {"graph": str(path), "model": function("gpt"), "placement": placement}}
    torch.manual_seed(0)
    capture = capture_step(remembering(), cost_model("roofline:V100"))
    capture.write(folder / "remembering.h5")
    found["remembering"] = {"graph": str(folder / "remembering.h5"), "model": f"{__file__}:remembering", "replicas": 2,
                            "placement": str(random_placement(capture.graph, 1, 3, folder / "remembering.tsv"))}
    return found


def losses(folder: pathlib.Path) -> list[list[tuple[int, float]]]:
    """Of each rank: steps and losses, to the last bit."""
    rows = [[json.loads(line) for line in file.read_text().splitlines()] for file in sorted(folder.glob("rank*.jsonl"))]
    return [[(row["step"], row["loss"]) for row in rank if "step" in row] for rank in rows]


def same_state(a: pathlib.Path, b: pathlib.Path) -> bool:
    first, second = (torch.load(file, weights_only=True) for file in (a, b))
    flat = lambda content: {(part, k): v for part in ("model", "buffers") for k, v in content[part].items()} | {
        ("optimizer", n, k): v for n, values in content["optimizer"]["state"].items() for k, v in values.items()}
    mine, theirs = flat(first), flat(second)
    same = mine.keys() == theirs.keys() and all(torch.equal(torch.as_tensor(v), torch.as_tensor(theirs[k])) for k, v in mine.items())
    return same and first["step"] == second["step"]


@pytest.mark.parametrize("case, name", [("gpt", "SIGTERM"), ("remembering", "SIGUSR1")])
def test_a_stopped_run_goes_on_to_the_last_bit(cases: Any, tmp_path: pathlib.Path, case: str, name: str) -> None:
    options = {**cases[case], "steps": STEPS}
    whole = run_ranks(tmp_path, 2, **options, data=function("tokens"), log=str(tmp_path / "whole"), save=str(tmp_path / "whole.pt"))
    assert whole.codes == [0, 0], whole.err
    (tmp_path / "data.py").write_text(DATA.replace("{name}", name))
    options |= {"data": f"{tmp_path}/data.py:data", "log": str(tmp_path / "parts"), "save": str(tmp_path / "parts.pt"), "checkpoint": str(tmp_path / "kept")}
    first = run_ranks(tmp_path, 2, **options)
    number = getattr(signal, name)
    assert first.codes == [128 + number] * 2, first.err
    assert f"stopped     by signal {int(number)} before step 5" in first.out[0] and not (tmp_path / "parts.pt").exists()
    assert sorted(f.name for f in (tmp_path / "kept").rglob("*.*")) == ["latest.json", "rank0.pt", "rank1.pt"]
    second = run_ranks(tmp_path, 2, **options)
    assert second.codes == [0, 0], second.err
    assert "first step 5" in second.out[0]
    assert losses(tmp_path / "parts") == losses(tmp_path / "whole") and len(losses(tmp_path / "whole")[1]) == STEPS
    assert same_state(tmp_path / "parts.pt", tmp_path / "whole.pt")


def test_it_matters_what_each_replica_remembers(cases: Any, tmp_path: pathlib.Path) -> None:
    """Without its own memory replica 1 goes on with other losses: the test above can fail."""
    options = {**cases["remembering"], "data": function("tokens")}
    assert run_ranks(tmp_path, 2, **options, steps=6, log=str(tmp_path / "whole")).codes == [0, 0]
    assert run_ranks(tmp_path, 2, **options, steps=5, save=str(tmp_path / "state.pt")).codes == [0, 0]
    assert run_ranks(tmp_path, 2, **options, steps=1, state=str(tmp_path / "state.pt"), log=str(tmp_path / "parts")).codes == [0, 0]
    assert losses(tmp_path / "parts")[1][0] != losses(tmp_path / "whole")[1][5]


def test_a_killed_run_goes_on_from_its_last_checkpoint(cases: Any, tmp_path: pathlib.Path) -> None:
    options = {**cases["gpt"], "data": function("tokens"), "checkpoint": str(tmp_path / "kept"), "checkpoint_steps": 2, "log": str(tmp_path / "log")}
    killed = start_ranks(tmp_path, 2, [{**options, "steps": 100000}] * 2)
    log = tmp_path / "log/rank0.jsonl"
    end = time.monotonic() + 60
    while time.monotonic() < end and not (log.is_file() and log.read_text().count("\n") > 7):
        time.sleep(0.02)
    for process, _ in killed:
        process.kill()
    assert finish(killed).codes == [-9, -9]
    (step,) = [int(json.loads((tmp_path / "kept/latest.json").read_text())["step"])]
    assert step >= 4 and step % 2 == 0
    second = run_ranks(tmp_path, 2, **{**options, "log": str(tmp_path / "log2")}, steps=step + 3)
    assert second.codes == [0, 0], second.err
    assert run_ranks(tmp_path, 2, **{**options, "checkpoint": None, "checkpoint_steps": 0, "log": str(tmp_path / "whole")}, steps=step + 3).codes == [0, 0]
    assert [r[step:] for r in losses(tmp_path / "whole")] == losses(tmp_path / "log2")
    folders = [f.name for f in (tmp_path / "kept").iterdir() if f.is_dir()]
    assert folders == [f"step{step + 3 - (step + 3) % 2}"], "older ones, and those cut short, are removed"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ranks end with their launcher on Linux")
def test_the_launcher_hands_signals_on_and_waits(cases: Any, tmp_path: pathlib.Path) -> None:
    case = cases["gpt"]
    command = [sys.executable, "-m", "pardnn.run", case["graph"], case["placement"], "--launch", "2", "--model", case["model"], "--threads", "1",
               "--checkpoint", str(tmp_path / "kept")]
    process = subprocess.Popen([*command, "--steps", "100000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line)
        if line.startswith("step 1:"):
            process.send_signal(signal.SIGTERM)
            break
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 143 and not errors, errors
    step = int(json.loads((tmp_path / "kept/latest.json").read_text())["step"])
    assert f"stopped     by signal 15 before step {step}; the same command goes on" in out
    options = {**case, "checkpoint": str(tmp_path / "kept"), "steps": step + 2, "labels": {"--data": "None"}}  # as the command line has them
    again, alone = run_ranks(tmp_path, 2, **options), run_ranks(tmp_path, 2, **{**options, "checkpoint": None})
    assert again.codes == alone.codes == [0, 0], again.err
    words = lambda text: [line.split(",")[0] for line in text.splitlines() if re.match(r"step \d+:", line)]
    assert words("".join(seen) + out) + words(again.out[0]) == words(alone.out[0]) and len(words(again.out[0])) == 2


@pytest.fixture(scope="module")
def kept(cases: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], pathlib.Path]:
    """Options of a run of four steps, and its checkpoint of step 2."""
    folder = tmp_path_factory.mktemp("kept")
    options = {**cases["gpt"], "steps": 4, "checkpoint_steps": 2}
    assert run_ranks(folder, 2, **options, checkpoint=str(folder / "kept")).codes == [0, 0]
    assert json.loads((folder / "kept/latest.json").read_text())["step"] == 2
    return options, folder / "kept"


def changed(folder: pathlib.Path, file: str, content: bytes | None) -> None:
    for path in folder.glob(file):
        path.unlink()
        if content is not None:
            path.write_bytes(content)


@pytest.mark.parametrize("file, content, options, message", [
    ("none", None, {"seed": 5}, "the checkpoint of another run: --seed was 0, now 5"),
    ("none", None, {"bucket": 1000}, "--bucket was 25000000, now 1000"),
    ("none", None, {"steps": 1}, "a checkpoint before step 2, the run is of steps 0 to 0"),
    ("latest.json", b"{", {}, "latest.json: not that of a checkpoint"),
    ("latest.json", b'{"format": "pardnn-checkpoint", "version": 2, "step": 2}', {}, "latest.json: not that of a checkpoint"),
    ("latest.json", b"[]", {}, "latest.json: not that of a checkpoint"),
    ("latest.json", b'{"format": "pardnn-checkpoint", "version": 1, "step": 3}', {}, "step3/rank0.pt: no such file"),
    ("step2/rank1.pt", b"PK", {}, "rank 1: .*step2/rank1.pt"), ("step2/rank1.pt", None, {}, "rank 1: .*step2/rank1.pt: no such file")])
def test_what_is_no_checkpoint_of_the_run_is_one_line(kept: Any, tmp_path: pathlib.Path, file: str, content: bytes | None, options: dict[str, Any],
                                                          message: str) -> None:
    given, folder = kept
    copy = tmp_path / "kept"
    subprocess.run(["cp", "-r", str(folder), str(copy)], check=True)
    changed(copy, file, content)
    found = run_ranks(tmp_path, 2, **{**given, "checkpoint": str(copy), **options})
    assert found.codes == [3, 3]
    assert found.err[1] == "" and found.err[0].count("\n") == 1
    assert re.search(message, found.err[0]), found.err[0]


@pytest.mark.parametrize("target, message", [("file", "expected the folder of a checkpoint, it is a file"), ("gone/kept", "No such file or directory")])
def test_a_place_where_no_checkpoint_can_be_is_one_line(kept: Any, tmp_path: pathlib.Path, target: str, message: str) -> None:
    (tmp_path / "file").write_text("here")
    found = run_ranks(tmp_path, 2, **{**kept[0], "checkpoint": str(tmp_path / target)})
    assert found.codes == [3, 3]
    assert message in found.err[0] and found.err[0].count("\n") == 1


def test_more_steps_may_be_asked_for(kept: Any, tmp_path: pathlib.Path) -> None:
    given, folder = kept
    subprocess.run(["cp", "-r", str(folder), str(tmp_path / "kept")], check=True)
    found = run_ranks(tmp_path, 2, **{**given, "checkpoint": str(tmp_path / "kept"), "steps": 6})
    assert found.codes == [0, 0], found.err
    assert "first step 2" in found.out[0] and "step 5: loss" in found.out[0]
    assert os.listdir(tmp_path / "kept/step4")


def test_ranks_clean_up_at_the_same_time(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each removes what is its own in folders of older checkpoints; one that goes while a rank looks into it is no error."""
    for step in (1, 2, 3):
        (tmp_path / f"step{step}").mkdir()
        for r in range(2):
            (tmp_path / f"step{step}/rank{r}.pt").touch()
            (tmp_path / f"step{step}/.rank{r}.pt.cut.tmp").touch()
    ranks = [Checkpoint(str(tmp_path), Ranks(r, 2, r), {}) for r in range(2)]
    ranks[0]._remove_all_but(3)
    assert sorted(f.name for f in (tmp_path / "step1").iterdir()) == [".rank1.pt.cut.tmp", "rank1.pt"]
    listed = os.listdir
    monkeypatch.setattr(os, "listdir", lambda folder: (shutil.rmtree(folder) if folder.name == "step1" else None, listed(folder))[1])
    ranks[1]._remove_all_but(3)
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["step3"] and len(os.listdir(tmp_path / "step3")) == 4
