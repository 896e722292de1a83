"""Text files that are the old one or the new one, whole."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Writes ``text`` to ``path``, atomically: the file is the old one or the new one, whole. Raises OSError where the disk does."""
    target = Path(path)
    handle, scratch = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(scratch, 0o666 & ~mask)
        os.replace(scratch, target)
    except BaseException:
        os.unlink(scratch)
        raise
