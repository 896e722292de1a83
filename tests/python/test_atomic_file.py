"""A file is the old one or the new one, whole; folders and devices stay what they are."""

from __future__ import annotations

import os
import pathlib
import stat

import pytest

from pardnn.atomic_file import replacing, write_text


def test_the_new_file_has_the_rights_of_new_files(tmp_path: pathlib.Path) -> None:
    write_text(tmp_path / "a", "über\n")
    (tmp_path / "b").touch()
    assert (tmp_path / "a").read_bytes() == "über\n".encode()
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == stat.S_IMODE((tmp_path / "b").stat().st_mode)


def test_an_exception_leaves_the_old_file_and_nothing_else(tmp_path: pathlib.Path) -> None:
    write_text(tmp_path / "a", "old")
    with pytest.raises(KeyError), replacing(tmp_path / "a") as file:
        file.write(b"half")
        raise KeyError("stopped")
    assert (tmp_path / "a").read_text() == "old" and os.listdir(tmp_path) == ["a"]


def test_folders_pipes_and_missing_folders_are_refused(tmp_path: pathlib.Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", ".", "missing/a"):
        with pytest.raises(OSError, match="folder or a device|folder does not exist"):
            write_text(tmp_path / name, "text")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode) and os.listdir(tmp_path) == ["pipe"]
