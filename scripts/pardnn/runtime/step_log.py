"""A file of JSON lines for each rank."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TextIO


class StepLog:
    """``folder`` None: nothing is written. The file begins with the first row; ``goes_on``: rows follow those that are there."""

    def __init__(self, folder: str | None, rank: int, *, goes_on: bool = False) -> None:
        self._folder, self._rank, self._goes_on = folder, rank, goes_on
        self._file: TextIO | None = None

    def write(self, row: dict[str, Any]) -> None:
        if self._folder is None:
            return
        if self._file is None:
            Path(self._folder).mkdir(parents=True, exist_ok=True)
            self._file = (Path(self._folder) / f"rank{self._rank}.jsonl").open("a" if self._goes_on else "w", encoding="utf-8")
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()

    def close(self) -> None:
        if self._file:
            self._file.close()
