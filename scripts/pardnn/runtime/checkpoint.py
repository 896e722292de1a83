"""What a run needs to go on to the last bit: a folder with a file per rank, which holds all that lives across steps on its device.

``FOLDER/latest.json`` names the step; the files of that step lie in ``FOLDER/stepN``. They are written first, so the folder always has a whole
checkpoint: the old one or the new one. A rank reads its own file only; hosts need not share the folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import torch

from ..atomic_file import write_text
from ..torch_step.values import Ref
from .errors import RunError
from .ranks import Ranks, agree, everyones
from .state_file import SHARD, load_file, save

FORMAT = "pardnn-checkpoint"
LATEST = "latest.json"
# Of a run's settings: those that a run which goes on shares with the one that was stopped. More steps may be asked for than before.
IDENTITY = ("the graph", "the placement", "the step to start from", "--replicas", "--seed", "--backend", "--bucket", "--data")


def step_reached(folder: str | None, ranks: Ranks) -> int | None:
    """The step from which a run with this folder goes on, None where it begins; rank 0 knows, and all ranks have to ask. Raises RunError."""
    if folder is None:
        return None
    found: int | str | None = None
    if ranks.rank == 0:
        try:
            found = _latest(Path(folder))
        except (RunError, OSError) as error:
            found = str(error)
    found = everyones(ranks, found)[0]
    if isinstance(found, str):
        raise RunError(found)
    return found


def _latest(folder: Path) -> int | None:
    file = folder / LATEST
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder}: expected the folder of a checkpoint, it is a file")
    if not file.is_file():
        return None
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if content["format"] != FORMAT or content["version"] != 1 or int(content["step"]) < 0:
            raise ValueError(f"format {content['format']}, version {content['version']}, step {content['step']}")
        return int(content["step"])
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{file}: not that of a checkpoint ({error!r})") from error


class Checkpoint:
    """The checkpoint of this rank's run in ``folder``, which is made; ``settings``: of the run."""

    def __init__(self, folder: str, ranks: Ranks, settings: Mapping[str, str]) -> None:
        self.folder = Path(folder)
        self._ranks = ranks
        self._settings = {name: settings.get(name, "nothing") for name in IDENTITY}
        self.folder.mkdir(exist_ok=True)

    def _file(self, step: int) -> Path:
        return self.folder / f"step{step}" / SHARD.format(self._ranks.rank)

    def restore(self, step: int, state: Mapping[Ref, torch.Tensor]) -> None:
        """Puts the values of the checkpoint at ``step`` into ``state``. Raises RunError where it is of another run."""
        file = self._file(step)
        if not file.is_file():
            raise RunError(f"{file}: no such file, but {self.folder / LATEST} names step {step}")
        content = load_file(file)
        theirs, values = content.get("run"), content.get("state")
        if not isinstance(theirs, dict) or not isinstance(values, dict) or content.get("step") != step:
            raise RunError(f"{file}: not the checkpoint of step {step}")
        for name, mine in self._settings.items():
            if theirs.get(name) != mine:
                raise RunError(f"{self.folder}: the checkpoint of another run: {name} was {theirs.get(name)}, now {mine}; without the folder a run begins anew")
        expected = {_key(ref): tensor for ref, tensor in state.items()}
        if values.keys() != expected.keys() or any(values[key].shape != tensor.shape for key, tensor in expected.items()):
            raise RunError(f"{file}: {len(values)} tensors, which are not the {len(expected)} of this rank")
        for key, tensor in expected.items():
            tensor.copy_(values[key])

    def save(self, step: int, state: Mapping[Ref, torch.Tensor]) -> None:
        """Writes the checkpoint: all ranks together, and none returns before it is whole. Raises RunError on all where one cannot write."""
        self._together(lambda: self._write(step, state))
        self._together(lambda: self._name(step))
        self._remove_all_but(step)

    def _together(self, action: Callable[[], None]) -> None:
        problem = None
        try:
            action()
        except (OSError, RuntimeError) as error:  # torch.save turns the one into the other
            problem = f"{self.folder}: no checkpoint can be written: {' '.join(str(error).split())[:200]}"
        agree(self._ranks, problem, {})

    def _write(self, step: int, state: Mapping[Ref, torch.Tensor]) -> None:
        self._ranks.progress.does("writing the checkpoint")
        file = self._file(step)
        file.parent.mkdir(parents=True, exist_ok=True)
        save(file, {"format": FORMAT, "run": self._settings, "step": step, "state": {_key(ref): tensor.cpu() for ref, tensor in state.items()}})

    def _name(self, step: int) -> None:
        if self._ranks.rank == 0:
            write_text(self.folder / LATEST, json.dumps({"format": FORMAT, "version": 1, "step": step, "ranks": self._ranks.world}) + "\n")

    def _remove_all_but(self, step: int) -> None:
        """Of older checkpoints, and of ones that were cut short, each rank removes what is its own."""
        own = SHARD.format(self._ranks.rank)
        for older in set(self.folder.glob("step*")) - {self._file(step).parent}:
            with suppress(OSError):  # other ranks are at it, too
                for name in os.listdir(older):
                    if name == own or (name.startswith(f".{own}.") and name.endswith(".tmp")):
                        (older / name).unlink(missing_ok=True)
                older.rmdir()  # the last one


def _key(ref: Ref) -> str:
    return f"{ref.node}:{ref.output}"
