"""Cost models by name, as command lines give them: ``roofline:V100``, ``measured:cuda:cache.json``, ``trace:run.json.gz:roofline:H100``."""

from __future__ import annotations

from .call import CostModel
from .devices import device
from .roofline import Efficiency, RooflineModel

KNOWN = ("roofline:DEVICE[:fp32|tf32|bf16|fp16][:compute=SHARE][:bandwidth=SHARE]",)


def cost_model(spec: str = "roofline:V100") -> CostModel:
    """The cost model that ``spec`` names. Raises ValueError saying what is known."""
    kind, _, rest = spec.partition(":")
    if kind == "roofline":
        return _roofline(rest or "V100")
    raise ValueError(f"costs '{spec}': unknown; expected {' or '.join(KNOWN)}")


def _roofline(rest: str) -> RooflineModel:
    name, *options = rest.split(":")
    float32_as = "fp32"
    shares: dict[str, float] = {}
    for option in options:
        key, is_share, value = option.partition("=")
        if not is_share:
            float32_as = option
        elif key in ("compute", "bandwidth"):
            shares[key] = _share(option, value)
        else:
            raise ValueError(f"costs 'roofline:{rest}': '{option}': expected compute=SHARE or bandwidth=SHARE")
    return RooflineModel(device(name), float32_as, Efficiency(**shares))


def _share(option: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"costs: '{option}': expected a number") from None
