"""A graph file is hostile until read: programs that call what they may not, or refer to what is not there, are refused in one line."""

import json
import random

import pytest

torch = pytest.importorskip("torch")

from torch_step_support import captured, seeded  # noqa: E402

from pardnn.graph_file import write_graph  # noqa: E402
from pardnn.torch_step.errors import ProgramError  # noqa: E402
from pardnn.torch_step.operators import resolve  # noqa: E402
from pardnn.torch_step.program import Binding, Program, dump_program, load_program  # noqa: E402
from pardnn.torch_step.replay import Runner, over_storage  # noqa: E402
from pardnn.torch_step.state import load_state  # noqa: E402
from pardnn.torch_step.values import Ref, Spec  # noqa: E402


@pytest.fixture(scope="module")
def found():
    return captured(seeded("cnn"))


@pytest.fixture
def read(found, tmp_path):
    """Loads a file with the program that is given as JSON."""
    def load(content):
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        write_graph(tmp_path / "g.h5", found.graph, extra={"program": raw})
        return load_program(tmp_path / "g.h5")

    return load


@pytest.fixture
def content(found):
    return json.loads(dump_program(found.program, found.graph))


@pytest.mark.parametrize("name", [
    "aten::from_file.default", "load_library::__func__.__call__", "__class__::__init__.__call__", "aten::__init__.__globals__", "aten::save.default",
    "aten::warn.default", "aten::add.__class__", "aten::add.Tensor.__call__", "c10d::allreduce_.default", "_c10d_functional::all_reduce.default",
    "profiler::_record_function_enter.default", "prim::device.default", "aten::no_such.default", "aten", "", "aten::add", "os::system.default"])
def test_nothing_but_computations_on_tensors_is_called(name):
    with pytest.raises(ProgramError, match="operation"):
        resolve(name)


def test_operations_of_a_library_are_found_once_it_is_imported():
    with pytest.raises(ProgramError, match="must be imported"):
        resolve("pardnn_test::twice.default")
    library = torch.library.Library("pardnn_test", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    assert resolve("pardnn_test::twice.default").name() == "pardnn_test::twice"


def first_call(content):
    return next(i for i, n in enumerate(content["nodes"]) if n is not None and any(isinstance(a, dict) and "t" in a for a in n[1]))


def op_is_a_number(c):
    c["ops"][0] = 7


def spec_is_negative(c):
    c["specs"][0][0] = [-1] * len(c["specs"][0][0])


def spec_is_of_no_type(c):
    c["specs"][0][3] = "load"


def spec_has_other_bytes(c):
    c["specs"][0][4] = 1


def state_is_huge(c):
    c["specs"].append([[1 << 40], [1], 0, "float32", 4, ""])
    c["bindings"][0]["spec"] = len(c["specs"]) - 1


def state_is_nowhere(c):
    c["bindings"][0]["ref"] = [10**9, 0]


def state_is_a_call(c):
    c["bindings"][0]["ref"] = [first_call(c), 0]


def state_has_no_role(c):
    c["bindings"][0]["role"] = "x"


def input_is_nowhere(c):
    c["inputs"][0]["ref"] = [-1, 0]


def input_has_no_part(c):
    c["inputs"][0]["parts"] = 0


def output_is_nowhere(c):
    c["outputs"][0][1] = 10**9


def atom_is_no_type(c):
    c["nodes"][first_call(c)][2] = {"dtype": {"dtype": "load"}}


def atom_is_of_no_kind(c):
    c["nodes"][first_call(c)][1].append({"hub": "load"})


def reference_is_text(c):
    c["nodes"][first_call(c)][1][0] = {"t": ["a", "b"]}


def random_is_text(c):
    c["nodes"][first_call(c)][5] = "x"


def extra_is_not_read(c):
    c["nodes"][first_call(c)][4] = [[len(c["nodes"]) - 1, 0, 0]]


def constant_is_short(c):
    c["constants"] = [[first_call(c), 0, ""]]


def not_a_dict(c):
    return b"[1, 2]"


def too_deep(c):
    return b'{"a":' + b"[" * 200000 + b"]" * 200000 + b"}"


def no_text(c):
    return b"\xff\xfe\x00"


BROKEN = [op_is_a_number, spec_is_negative, spec_is_of_no_type, spec_has_other_bytes, state_is_huge, state_is_nowhere, state_is_a_call, state_has_no_role,
          input_is_nowhere, input_has_no_part, output_is_nowhere, atom_is_no_type, atom_is_of_no_kind, reference_is_text, random_is_text, extra_is_not_read,
          constant_is_short, not_a_dict, too_deep, no_text]


@pytest.mark.parametrize("change", BROKEN, ids=lambda c: c.__name__)
def test_what_a_program_says_is_checked(read, content, change):
    raw = change(content)
    with pytest.raises(ProgramError, match="g.h5: /program") as error:
        read(raw if raw is not None else content)
    assert "\n" not in str(error.value)


def test_random_damage_is_refused_or_harmless(read, content):
    """Leaves of the JSON are replaced at random: a program that is still read is one that a Runner accepts or refuses by name."""
    draw = random.Random(3)
    text = json.dumps(content)
    refused = 0
    for _ in range(60):
        damaged = json.loads(text)
        _damage(damaged, draw)
        try:
            _, program = read(damaged)
            Runner(program)
        except ProgramError as error:
            refused += 1
            assert "\n" not in str(error)
    assert refused > 20


def _damage(value, draw):
    while True:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = draw.choice(list(keys))
        if isinstance(value[key], (dict, list)) and value[key] and draw.random() < 0.9:
            value = value[key]
        else:
            value[key] = draw.choice([None, -1, 10**12, "x", [], {}, 1.5, True])
            return


def test_a_tensor_that_does_not_fit_its_memory_is_refused():
    with pytest.raises(ProgramError, match="does not fit"):
        over_storage(torch.zeros(4), Spec((1 << 30,), (1,), 0, "float32", 4))


def test_state_larger_than_any_memory_is_named():
    """The graph says that the node has so many bytes, so the program is one; there is no such memory."""
    spec = Spec((1 << 58,), (1,), 0, "float32", 4)
    program = Program([None], [Binding("weight", Ref(0, 0), "parameter", spec)], [], {}, [])
    with pytest.raises(ProgramError, match=f"parameter 'weight' needs {1 << 60} bytes on cpu"):
        load_state(program, {"weight": torch.zeros(1)})
