"""Cost models by name, as command lines give them: ``roofline:V100``, ``measured:cuda:cache.json``, ``trace:run.json.gz:roofline:H100``."""

from __future__ import annotations

import sys
from pathlib import Path

from .call import CostModel
from .devices import device
from .measured import MeasuredModel
from .roofline import Efficiency, RooflineModel
from .trace import TraceModel
from .trace_events import TraceError

DEFAULT = "roofline:V100"
KNOWN = ("roofline:DEVICE[:fp32|tf32|bf16|fp16][:compute=SHARE][:bandwidth=SHARE][:workspace=MIB]",
         "measured[:cpu|cuda[:N]][:CACHE.json]", "trace:FILE[:FALLBACK]")


def cost_model(spec: str = DEFAULT) -> CostModel:
    """The cost model that ``spec`` names; what it can't tell is left to the default roofline. Call :func:`~pardnn.costs.finish` at the end.

    Raises ValueError saying what is known; TraceError (a ValueError) for a trace that can't be read.
    """
    kind, _, rest = spec.partition(":")
    if kind == "roofline":
        return _roofline(rest or "V100")
    if kind == "measured":
        return _measured(spec, rest)
    if kind == "trace" and rest:
        return _trace(rest)
    raise ValueError(f"costs '{spec}': unknown; expected {', '.join(KNOWN)}")


def _roofline(rest: str) -> RooflineModel:
    name, *options = rest.split(":")
    float32_as = "fp32"
    numbers = {"compute": Efficiency.compute, "bandwidth": Efficiency.bandwidth, "workspace": 0.0}
    for option in options:
        key, has_value, value = option.partition("=")
        if not has_value:
            float32_as = option
        elif key in numbers:
            numbers[key] = _number(option, value)
        else:
            raise ValueError(f"costs 'roofline:{rest}': '{option}': expected {', '.join(f'{key}=' for key in numbers)}")
    return RooflineModel(device(name), float32_as, Efficiency(numbers["compute"], numbers["bandwidth"]), int(numbers["workspace"] * 2**20))


def _number(option: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 2**40:
        raise ValueError(f"costs: '{option}': expected a number that is not negative")
    return value


def _measured(spec: str, rest: str) -> MeasuredModel:
    parts = rest.split(":") if rest else []
    where, cache = "cpu", None
    if parts and parts[0] in ("cpu", "cuda"):
        where = parts.pop(0)
        if where == "cuda" and parts and parts[0].isdecimal():
            where += ":" + parts.pop(0)
    if parts:
        cache = ":".join(parts)
        if not cache.endswith(".json"):
            raise ValueError(f"costs '{spec}': '{cache}': expected {KNOWN[1]}")
    return MeasuredModel(where, _roofline("V100"), cache=Path(cache) if cache else None)


def _trace(rest: str) -> TraceModel:
    """The file's name ends where a cost model's begins, since names of files may have colons."""
    path, fallback = rest, DEFAULT
    for kind in ("roofline", "measured"):
        head, found, tail = rest.partition(f":{kind}")
        if found and (not tail or tail.startswith(":")):
            path, fallback = head, kind + tail
            break
    from ..capture_common.progress import Progress  # that package is built on this one

    model = cost_model(fallback)
    progress = Progress(f"reading {path}", quiet=not sys.stderr)
    try:
        return TraceModel(path, model, progress.update)
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from error
    finally:
        progress.done()
