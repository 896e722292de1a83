"""Which argument is the training state, and which result is its new value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..capture_common import CaptureError
from ..capture_common.places import first_line, place_of


@dataclass
class Traced:
    """``closed``: the step's jaxpr. The first ``leaves`` arguments are the state, the first ``leaves`` results its new value.

    ``names``: of all arguments. ``samples``: the leading dimension of the batch, 0 if there is no common one.
    """

    closed: Any
    leaves: int
    names: list[str]
    samples: int


def traced(step: Callable[..., Any], state: Any, batch: Sequence[Any]) -> Traced:
    """Traces ``step(state, *batch)`` on shapes alone: nothing is computed, nothing allocated.

    The step returns the new state, or a tuple that begins with it. CaptureError names the user's own line where tracing stops.
    """
    import jax

    abstract = jax.tree_util.tree_map_with_path(_shape, (state, *batch))
    try:
        closed, result = jax.make_jaxpr(step, return_shape=True)(*abstract)
    except Exception as error:  # whatever the user's code raises while it is traced
        advice = "; keep Python control flow and NumPy off traced values (jax.lax.cond, jax.lax.while_loop, jax.numpy.where)"
        raise CaptureError(f"{place_of(error)}: tracing stops: {first_line(error)}"
                           + (advice if isinstance(error, jax.errors.JAXTypeError) else "")) from error
    names = [_name(path) for path, _ in jax.tree_util.tree_flatten_with_path(abstract)[0]]
    _check_pairs(abstract[0], result, names)
    leading = {leaf.shape[0] for leaf in jax.tree.leaves(abstract[1:]) if leaf.shape}
    return Traced(closed, len(jax.tree.leaves(abstract[0])), names, leading.pop() if len(leading) == 1 else 0)


def _shape(path: Any, leaf: Any) -> Any:
    """A leaf of the arguments without its values. CaptureError where it is neither an array nor a number."""
    import jax
    import numpy as np

    if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)
    if not isinstance(leaf, (bool, int, float, complex)):
        raise CaptureError(f"{_name(path)}: expected an array or a number, found {type(leaf).__name__}")
    return jax.ShapeDtypeStruct((), jax.dtypes.canonicalize_dtype(np.result_type(leaf)))


def _name(path: Any) -> str:
    """Name of a leaf of (state, *batch)."""
    import jax

    place = path[0].idx
    return f"{f'batch[{place - 1}]' if place else 'state'}{jax.tree_util.keystr(path[1:])}"


def _check_pairs(state: Any, result: Any, names: list[str]) -> None:
    """CaptureError unless the result is, or begins with, a tree like the state's."""
    import jax

    structure: Any = jax.tree.structure(state)
    if jax.tree.structure(result) == structure:
        new = result
    elif isinstance(result, (tuple, list)) and result and jax.tree.structure(result[0]) == structure:
        new = result[0]
    else:
        raise CaptureError(f"the step returns {jax.tree.structure(result)}; expected the new state, like {structure}, alone or first in a tuple")
    for name, before, after in zip(names, jax.tree.leaves(state), jax.tree.leaves(new)):
        if before.shape != after.shape or before.dtype != after.dtype:
            raise CaptureError(f"{name}: the step takes {before.dtype}{list(before.shape)} and returns {after.dtype}{list(after.shape)}; expected the same")
