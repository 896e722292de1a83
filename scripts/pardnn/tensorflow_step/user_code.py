"""Where tracing a tf.function stopped, in the user's own terms."""

from __future__ import annotations

import os
import re

from ..capture_common.places import first_line, place_of

_FRAME = re.compile(r'^\s*File "([^"]+)", line (\d+), in .*\n\s*(.*)$', re.MULTILINE)


def where_and_what(error: BaseException) -> tuple[str, str]:
    """``file:line (code)`` and the error's own line. AutoGraph compiles the user's code anew and tells the places in its message."""
    import tensorflow as tf

    text = str(error)
    if "in user code:" not in text:
        return place_of(error, outside=(os.path.dirname(os.path.abspath(tf.__file__)),)), first_line(error)
    frames = [(file, line, code) for file, line, code in _FRAME.findall(text) if "site-packages" not in file]
    paragraphs = [p.strip() for p in re.split(r"\n\s*\n", text) if p.strip()]
    what = paragraphs[-1].splitlines()[0].strip()
    if not frames:
        return "the step", what
    file, line, code = frames[-1]
    return f"{os.path.relpath(file)}:{line} ({code.strip()})", what
