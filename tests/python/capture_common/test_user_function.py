"""A user's FILE.py:FUNCTION: what is wrong with it is one line, whoever loads it."""

from __future__ import annotations

import pathlib
import sys

import pytest

from pardnn.capture_common import CaptureError
from pardnn.capture_common.user_function import call_function, check_arguments, load_function, settings

FILES = {
    "good.py": "from __future__ import annotations\nfrom dataclasses import dataclass\n\n@dataclass\nclass Sizes:\n    width: int = 4\n\n"
               "def make(width=4):\n    import beside\n    return Sizes(width).width + beside.ONE\n\ndef other():\n    pass\n\nNUMBER = 3\n",
    "beside.py": "ONE = 1\n",
    "raises.py": "x = 1\ny = x / 0\n",
    "ends.py": "import sys\nsys.exit(5)\n",
    "misses.py": "import nowhere_at_all\n",
    "empty.py": "",
    "syntax.py": "\n\ndef f(:\n",
    "null.py": "x = 1\0\n",
    "calls.py": "def deep():\n    raise KeyError('no such layer\\nsecond line')\n\ndef make():\n    return deep()\n\ndef leave():\n    raise SystemExit(7)\n\n"
                "def typed():\n    return len(3)\n",
    "json.py": "def make():\n    return __name__\n",
}
WRONG = {
    "no function named": ("good.py", "'good.py': expected FILE.py:FUNCTION"),
    "empty name": ("good.py:", "expected FILE.py:FUNCTION"),
    "no Python file": ("good.txt:make", "expected FILE.py:FUNCTION"),
    "missing": ("nowhere.py:make", "nowhere.py: no such file"),
    "folder": ("folder.py:make", "folder.py: a folder, expected a Python file"),
    "raises": ("raises.py:make", "raises.py:2 (y = x / 0): ZeroDivisionError: division by zero"),
    "ends": ("ends.py:make", "ends.py: it ends the program (exit code 5) instead of returning"),
    "import": ("misses.py:make", "misses.py:1 (import nowhere_at_all): ModuleNotFoundError: No module named 'nowhere_at_all'"),
    "empty": ("empty.py:make", "empty.py: there is no function 'make'"),
    "mistyped": ("good.py:mkae", "good.py: there is no function 'mkae' (there are: make, other)"),
    "not callable": ("good.py:NUMBER", "good.py: 'NUMBER' is of type int, expected a function"),
    "syntax": ("syntax.py:f", "syntax.py:3: SyntaxError: invalid syntax"),
    "null bytes": ("null.py:f", "null.py"),
    "not text": ("bytes.py:f", "bytes.py:1: SyntaxError: "),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe")
    (tmp_path / "folder.py").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


@pytest.mark.parametrize(("spec", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_the_file_is_one_line(spec: str, message: str) -> None:
    with pytest.raises(CaptureError) as error:
        load_function(spec)
    assert message in str(error.value) and "\n" not in str(error.value)
    assert not {"raises", "ends", "misses", "syntax"} & set(sys.modules)


def test_dataclasses_and_imports_at_the_time_of_the_call() -> None:
    assert call_function("good.py:make") == 5
    assert call_function("good.py:make", {"width": 6}) == 7


def test_a_file_with_the_name_of_a_known_module_leaves_that_alone() -> None:
    import json

    assert call_function("json.py:make").endswith("json.py")
    assert sys.modules["json"] is json


def test_two_files_of_one_name(folder: pathlib.Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "good.py").write_text("def make():\n    return 'another'\n")
    assert (call_function("good.py:make"), call_function("sub/good.py:make"), call_function("good.py:make")) == (5, "another", 5)


@pytest.mark.parametrize(("function", "message"), [("make", "calls.py:2 (raise KeyError("), ("leave", "calls.py:leave: it ends the program (exit code 7)"),
                                                    ("typed", "calls.py:11 (return len(3)): TypeError: ")])
def test_what_the_function_raises_is_told_with_its_line(function: str, message: str) -> None:
    with pytest.raises(CaptureError) as error:
        call_function(f"calls.py:{function}")
    assert message in str(error.value) and "\n" not in str(error.value)


def test_arguments() -> None:
    assert settings(["a=4", "b=(1, 2)", "c=bfloat16", "d=", "e='x=y'"]) == {"a": 4, "b": (1, 2), "c": "bfloat16", "d": "", "e": "x=y"}
    assert settings(["deep=" + "(" * 5000])["deep"] == "(" * 5000
    for wrong, message in ((["a"], "--set a: expected NAME=VALUE"), (["1=2"], "expected NAME=VALUE"), (["a=1", "a=2"], "a is set twice")):
        with pytest.raises(CaptureError, match=message):
            settings(wrong)
    with pytest.raises(CaptureError, match=r"m.py:f\(width\): missing a required argument: 'width'"):
        check_arguments(lambda width: 0, {}, "m.py:f")
    with pytest.raises(CaptureError, match="unexpected keyword argument 'x'"):
        check_arguments(lambda width: 0, {"width": 1, "x": 2}, "m.py:f")
