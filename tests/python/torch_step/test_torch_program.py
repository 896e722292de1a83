"""The program inside the graph file: what is written is read, what is not of this graph is refused."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch")

from torch_step_support import captured, seeded  # noqa: E402

from pardnn.graph_file import read_graph, write_graph  # noqa: E402
from pardnn.torch_step.errors import ProgramError  # noqa: E402
from pardnn.torch_step.program import dump_program, load_program, parse_program  # noqa: E402
from pardnn.torch_step.replay import Runner, input_values  # noqa: E402
from pardnn.torch_step.state import load_state  # noqa: E402
from pardnn.torch_step.values import Atom, Ref, Spec  # noqa: E402


@pytest.fixture(scope="module")
def found():
    return captured(seeded("transformer"), micro_batches=2)


def test_what_is_written_is_read(found, tmp_path):
    found.write(tmp_path / "g.h5")
    graph, program = load_program(tmp_path / "g.h5")
    assert graph.names == found.graph.names and program.calls == found.program.calls and program.bindings == found.program.bindings
    assert program.inputs == found.program.inputs and program.outputs == found.program.outputs and program.constants == found.program.constants
    assert program.torch_version == torch.__version__ and program.micro_batches == 2


def test_specs_of_all_that_is_read(found):
    for call in found.program.calls:
        for ref in call.reads() if call is not None else ():
            spec = found.program.spec(ref)
            assert isinstance(spec, Spec) and spec.unique_bytes > 0


def test_special_values_survive(found):
    call = found.program.calls[-1]
    saved = call.args
    call.args = (float("inf"), float("-inf"), 1e-45, None, True, 2**40, "reflect", Atom("dtype", "float16"), (1, (Ref(0, 0), None)))
    try:
        again = parse_program(dump_program(found.program, found.graph)).calls[-1]
    finally:
        call.args = saved
    assert again.args == (float("inf"), float("-inf"), 1e-45, None, True, 2**40, "reflect", Atom("dtype", "float16"), (1, (Ref(0, 0), None)))


def test_a_program_of_another_graph_is_refused(found, tmp_path):
    raw = dump_program(found.program, found.graph)
    other = captured(seeded("transformer")).graph
    write_graph(tmp_path / "g.h5", other, extra={"program": raw})
    with pytest.raises(ProgramError, match="another graph"):
        load_program(tmp_path / "g.h5")
    write_graph(tmp_path / "g.h5", other)
    with pytest.raises(ProgramError, match="holds no program"):
        load_program(tmp_path / "g.h5")


@pytest.mark.parametrize(("change", "message"), [({"version": 9}, "version 9"), ({"format": "x"}, "format"),
                                                 ({"nodes": [[0]]}, "/program"), ({"ops": []}, "/program")])
def test_broken_programs_are_refused(found, tmp_path, change, message):
    content = json.loads(dump_program(found.program, found.graph))
    write_graph(tmp_path / "g.h5", found.graph, extra={"program": json.dumps({**content, **change}).encode()})
    with pytest.raises(ProgramError, match=message):
        load_program(tmp_path / "g.h5")
    write_graph(tmp_path / "g.h5", found.graph, extra={"program": b"{"})
    with pytest.raises(ProgramError):
        load_program(tmp_path / "g.h5")
    assert read_graph(tmp_path / "g.h5").num_nodes == found.graph.num_nodes


def test_a_read_without_an_edge_is_refused(found, tmp_path):
    content = json.loads(dump_program(found.program, found.graph))
    node = len(content["nodes"]) - 1
    for reference, message in (([0, 7], "no value"), ([node - 40, 0], "without an edge"), ([10**9, 0], "no value")):
        content["nodes"][node][1] = [{"t": reference}]
        write_graph(tmp_path / "g.h5", found.graph, extra={"program": json.dumps(content).encode()})
        with pytest.raises(ProgramError, match=message):
            load_program(tmp_path / "g.h5")


def test_unknown_operations_and_wrong_state_are_named(found):
    program = parse_program(dump_program(found.program, found.graph))
    program.calls[-1].op = "aten::no_such_thing.default"
    with pytest.raises(ProgramError, match="aten::no_such_thing.default"):
        Runner(program)
    with pytest.raises(ProgramError, match="'wte.weight' is missing"):
        load_state(program, {})
    with pytest.raises(ProgramError, match="input 1 is missing"):
        input_values(program, [torch.zeros(4, 8, dtype=torch.long)], "cpu")
    with pytest.raises(ProgramError, match=r"input/mb0.x: expected int64\[2, 8\], found torch.float32\[2, 8\]"):
        input_values(program, [torch.zeros(4, 8)] * 2, "cpu")
