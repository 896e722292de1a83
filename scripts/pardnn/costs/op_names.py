"""One spelling for the names of operations of all frameworks, so that tables need list each once."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_VERSION = re.compile(r"_?[vV]\d+$")


class OpName(NamedTuple):
    """``namespace`` (``aten``), ``base`` in snake case without in-place mark (``add``), ``overload`` (``Tensor``), ``inplace``."""

    namespace: str
    base: str
    overload: str
    inplace: bool


@lru_cache(maxsize=8192)
def op_name(op: str) -> OpName:
    """``aten::add_.Tensor`` -> (aten, add, Tensor, True); ``tf::BiasAddV1`` -> (tf, bias_add, '', False); ``jax::scatter-add`` -> scatter_add."""
    namespace, _, rest = op.rpartition("::")
    name, _, overload = rest.partition(".")
    if namespace in ("onnx", "tf"):
        name = _WORD_START.sub("_", _VERSION.sub("", name)).lower()
    name = name.replace("-", "_")
    inplace = name.endswith("_") and not name.endswith("__")
    return OpName(namespace, name[:-1] if inplace else name, overload, inplace)
