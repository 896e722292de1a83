"""Models by name, and the command line."""

from __future__ import annotations

import pytest
from costs_support import aten, f32, operation, write_trace
from pardnn.costs import TraceError, cost_model
from pardnn.costs.__main__ import main
from pardnn.costs.roofline import RooflineModel
from pardnn.costs.trace import TraceModel


def test_roofline_options():
    model = cost_model("roofline:h100:bf16:compute=0.5:bandwidth=0.8:workspace=64")
    assert isinstance(model, RooflineModel)
    assert (model.device.name, model.float32_as, model.efficiency.compute, model.efficiency.bandwidth) == ("H100-SXM-80GB", "bf16", 0.5, 0.8)
    assert model.workspace == 64 << 20
    assert cost_model().device.name == cost_model("roofline").device.name == "V100-SXM2-32GB"  # type: ignore[attr-defined]


def test_fallback_of_a_trace(tmp_path):
    path = write_trace(tmp_path / "a:b.json", [operation("aten::relu", 1, 5, [[4]], id=1)])
    model = cost_model(f"trace:{path}:roofline:H200:tf32")
    assert isinstance(model, TraceModel) and isinstance(model.fallback, RooflineModel)
    assert (model.fallback.device.name, model.fallback.float32_as) == ("H200-SXM-141GB", "tf32")
    assert model.cost(aten("relu.default", f32(4), out=f32(4))).ns == 5000


@pytest.mark.parametrize("spec, message", [
    ("magic", "costs 'magic': unknown; expected roofline:DEVICE"), ("trace", "unknown; expected"),
    ("roofline:V9", "device 'V9': unknown; expected one of V100"),
    ("roofline:V100:tf32", "has no tf32"), ("roofline:A100:int4", "expected one of fp32"), ("roofline:A100:speed=2", "expected compute="),
    ("roofline:A100:compute=x", "expected a number"), ("roofline:A100:compute=0", "shares from 1e-06 to 1"),
    ("roofline:A100:bandwidth=1.5", "shares from 1e-06 to 1"),
    ("roofline:A100:compute=1e-300", "shares from"), ("roofline:A100:compute=nan", "expected a number"),
    ("measured:tpu", "expected measured"), ("trace:/nowhere/t.json", "/nowhere/t.json: No such file")])
def test_what_is_unknown_is_said(spec, message):
    with pytest.raises(ValueError, match=message):
        cost_model(spec)


def test_a_missing_trace_is_a_trace_error():
    with pytest.raises(TraceError):
        cost_model("trace:/nowhere/t.json")


def test_command_line_lists_devices(capsys):
    assert main(["--devices"]) == 0
    assert "H200-SXM-141GB" in capsys.readouterr().out


def test_command_line_sums_a_trace_up(tmp_path, capsys):
    path = write_trace(tmp_path / "t.json", [operation("aten::relu", 1, 5, [[4]], id=1), operation("aten::mm", 9, 7000, [[4, 4], [4, 4]], id=2)])
    assert main(["--trace", str(path), "--top", "1"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == f"{path}: 2 operations, 2 different, times on the host; 0 other events skipped"
    assert out[1:] == ["       7.000 ms         1 x aten::mm"]


def test_command_line_refuses_in_one_line(tmp_path, capsys):
    (tmp_path / "t.json").write_text('{"traceEvents": [')
    assert main(["--trace", str(tmp_path / "t.json")]) == 3
    assert capsys.readouterr().err == f"pardnn.costs: {tmp_path}/t.json: byte 17: expected a value, found the end of the file\n"
    for wrong in (["--nonsense"], ["--devices", "--top", "-1"]):
        with pytest.raises(SystemExit) as stop:
            main(wrong)
        told = capsys.readouterr().err.splitlines()
        assert stop.value.code == 3 and len(told) == 1 and told[0].startswith("pardnn.costs: ")
