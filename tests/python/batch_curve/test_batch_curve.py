"""The command: the edge that it finds is the edge; machines of options and of files; errors in one line."""

from __future__ import annotations

import csv
import json
import pathlib

import pytest

torch = pytest.importorskip("torch")

import curve_models  # noqa: E402

from pardnn.batch_curve import main  # noqa: E402
from pardnn.curve.machines import CurveError, devices_of_file, first_devices, machine_as_read  # noqa: E402
from pardnn.program_path import program_path  # noqa: E402

MODEL = f"{curve_models.__file__}:mlp"


@pytest.fixture(autouse=True)
def program(pardnn_binary: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PARDNN", pardnn_binary)
    return pardnn_binary


def rows_of(path: pathlib.Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_edge_is_where_all_batches_say_it_is(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    batches = [32, 64, 128, 256, 512, 1024]
    common = [MODEL, "--devices", "1,2,4", "--memory", "400kB", "--threads", "1", "-q"]
    assert main([*common, "--batches", ",".join(map(str, batches)), "--all", "-o", str(tmp_path / "all.csv"), "--plot", str(tmp_path / "all.svg")]) == 0
    table = capsys.readouterr().out
    everything = rows_of(tmp_path / "all.csv")
    assert len(everything) == 3 * len(batches)
    largest = {}
    for devices in (1, 2, 4):
        fits = [int(r["batch"]) for r in everything if int(r["devices"]) == devices and r["fits"] == "1"]
        marked = [int(r["batch"]) for r in everything if int(r["devices"]) == devices and r["largest"] == "1"]
        assert marked == [max(fits)] and fits == batches[:len(fits)] and len(fits) < len(batches)
        largest[devices] = marked[0]
        assert f"{devices}  {marked[0]:13,}" in table
    assert largest[1] < largest[2] <= largest[4]
    assert (tmp_path / "all.svg").read_text().endswith("</svg>\n")
    for row in everything:
        assert int(row["samples_per_step"]) == int(row["batch"])
        assert float(row["samples_per_second"]) == pytest.approx(int(row["batch"]) / int(row["makespan_ns"]) * 1e9, rel=1e-4)
        assert (int(row["greatest_peak_bytes"]) <= int(row["least_usable_bytes"]) == 360000) or row["fits"] == "0"
    # By bisection over whole numbers the edge lies between the same two sizes.
    assert main([MODEL, "--devices", "1", "--memory", "400kB", "--threads", "1", "--largest", "300", "-o", str(tmp_path / "b.csv"), "-q"]) == 0
    found = [int(r["batch"]) for r in rows_of(tmp_path / "b.csv") if r["largest"] == "1"]
    assert len(found) == 1 and largest[1] <= found[0] < 2 * largest[1]
    assert len(rows_of(tmp_path / "b.csv")) <= 12
    beyond = [r for r in rows_of(tmp_path / "b.csv") if int(r["batch"]) == found[0] + 1]
    assert [r["fits"] for r in beyond] == ["0"]


def test_settings_and_capture_options_are_handed_on(tmp_path: pathlib.Path) -> None:
    common = [MODEL, "--devices", "1", "--memory", "1MB", "--batches", "8,16", "--threads", "1", "-q", "--keep", str(tmp_path)]
    assert main([*common, "-o", str(tmp_path / "a.csv")]) == 0
    plain = (tmp_path / "batch8.h5").stat().st_size
    assert main([*common, "--set", "layers=9", "-o", str(tmp_path / "b.csv"), "--", "--optimizer", "adam"]) == 0
    assert (tmp_path / "batch8.h5").stat().st_size > plain
    peaks = [int(rows_of(tmp_path / f"{name}.csv")[0]["greatest_peak_bytes"]) for name in "ab"]
    assert peaks[1] > 3 * peaks[0]


def test_a_part_of_a_machine(program: str, tmp_path: pathlib.Path) -> None:
    whole = machine_as_read(program, "a100-2hosts-8x40gb", tmp_path)
    assert len(whole["devices"]) == 16
    part = first_devices(whole, 9)
    assert len(part["devices"]) == 9 and part["devices"][8]["host"] == 1
    assert part["links"]["same_host"]["bandwidth"] != part["links"]["cross_host"]["bandwidth"]
    options = devices_of_file(program, "a100-2hosts-8x40gb", {"headroom": "0.2"}, tmp_path)
    flags = options(2)
    assert flags[2:] == ["--headroom", "0.2"]
    assert machine_as_read(program, flags[1], tmp_path)["devices"] == whole["devices"][:2]
    with pytest.raises(CurveError, match="has 16"):
        options(17)
    with pytest.raises(CurveError, match="no such file"):
        devices_of_file(program, "gone.json", {}, tmp_path)


def test_matrices_are_cut(program: str, tmp_path: pathlib.Path) -> None:
    matrix = [[1000 * p + q + 1 for q in range(3)] for p in range(3)]
    machine = {"devices": [{"name": name} for name in "abc"], "links": {"latency_ns": matrix, "bandwidth_bytes_per_s": matrix}}
    (tmp_path / "m.json").write_text(json.dumps(machine))
    flags = devices_of_file(program, str(tmp_path / "m.json"), {}, tmp_path)(2)
    links = machine_as_read(program, flags[1], tmp_path)["links"]
    assert [links[key][0][1] for key in ("latency_ns", "bandwidth_bytes_per_s")] == [2, 2] and links["latency_ns"][1][0] == 1001
    assert len(links["latency_ns"]) == 2


def test_a_machine_file(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    machine = {"name": "uneven", "devices": [{"memory": "300kB", "name": "a"}, {"memory": "600kB", "name": "b"}],
               "links": {"same_host": {"latency": "1us", "bandwidth": "10GB/s"}}}
    (tmp_path / "m.json").write_text(json.dumps(machine))
    told = [MODEL, "--devices", "1,2", "--machine", str(tmp_path / "m.json"), "--batches", "64,128,256,512", "--threads", "1", "-o", str(tmp_path / "c.csv")]
    assert main(told) == 0
    assert "captured batch" in capsys.readouterr().err
    marked = {int(r["devices"]): int(r["batch"]) for r in rows_of(tmp_path / "c.csv") if r["largest"] == "1"}
    assert marked[2] > marked.get(1, 0)
    assert {r["least_usable_bytes"] for r in rows_of(tmp_path / "c.csv")} == {"270000"}


@pytest.mark.parametrize(("words", "message"), [
    ([MODEL, "--batches", "8"], "without --memory or --machine"),
    ([MODEL, "--batches", "8,x", "--memory", "1MB"], "--batches 8,x: expected whole numbers"),
    ([MODEL, "--largest", "0", "--memory", "1MB"], "--largest 0: expected at least 1"),
    ([MODEL, "--batches", "8", "--memory", "32"], "--memory"),
    ([MODEL, "--batches", "8", "--memory", "1MB", "--machine", "dgx1-8xv100"], "the machine says it"),
    ([MODEL, "--batches", "8", "--memory", "1MB", "--batch-name", "size"], "has no argument|unexpected keyword|size"),
    ([MODEL.replace("mlp", "constant"), "--batches", "8,16,32", "--memory", "1MB"], "both give 8 samples a step"),
    (["gone.py:mlp", "--batches", "8", "--memory", "1MB"], "gone.py: no such file"),
])
def test_errors_are_one_line_and_write_nothing(words: list[str], message: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--devices", "1,2", "-q", "-o", str(tmp_path / "c.csv")]) == 3
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and said.err.startswith("pardnn.batch_curve: ")
    assert any(part in said.err for part in message.split("|")), said.err
    assert list(tmp_path.iterdir()) == []


def test_the_program_is_found_or_named(program: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert program_path() == program
    monkeypatch.setenv("PARDNN", str(tmp_path / "gone"))
    with pytest.raises(FileNotFoundError, match="gone: no program there"):
        program_path()
    monkeypatch.delenv("PARDNN")
    (tmp_path / "pardnn").write_text("#!/bin/sh\n")
    (tmp_path / "pardnn").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program_path() == str(tmp_path / "pardnn")
