"""Files that are the old one or the new one, whole: written beside their place, then moved there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file that takes the place of ``path`` when the block ends, with the rights that a new file has; after an exception nothing has changed.

    Raises OSError where the disk does, and where ``path`` is a folder or a device.
    """
    check_target(path)
    target = Path(path)
    handle, scratch = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with open(handle, "wb", buffering=1 << 20) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(scratch, 0o666 & ~mask)
        os.replace(scratch, target)
    except BaseException:
        os.unlink(scratch)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Writes ``text`` to ``path`` as UTF-8, atomically. Raises OSError where the disk does."""
    with replacing(path) as file:
        file.write(text.encode())


def check_target(path: str | os.PathLike[str]) -> None:
    """Raises OSError, one line, where no file can be written: worth asking before long work."""
    target = Path(path)
    if not target.name or (target.exists() and not target.is_file()):
        raise IsADirectoryError(f"{path or 'an empty name'}: expected the name of a file to write, it is a folder or a device")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: its folder does not exist")
