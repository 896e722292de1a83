"""A user's function, ``FILE.py:FUNCTION``, and its arguments, ``NAME=VALUE``: what goes wrong with them is one line."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from .errors import CaptureError
from .places import first_line, place_of


def load_function(spec: str) -> Callable[..., Any]:
    """The function that ``FILE.py:FUNCTION`` names. Its file is run, as a module of the file's name, and its folder stays on the search path of imports.

    Raises CaptureError: no such file, not Python, an exception or an end of the program while it is run, no such function, not callable.
    """
    path, separator, name = spec.rpartition(":")
    if not separator or not path.endswith(".py") or not name:
        raise CaptureError(f"'{spec}': expected FILE.py:FUNCTION")
    if not Path(path).is_file():
        raise CaptureError(f"{path}: {'a folder, expected a Python file' if Path(path).is_dir() else 'no such file'}")
    module = _run(path)
    if not hasattr(module, name):
        raise CaptureError(f"{path}: there is no function '{name}'{_others(module)}")
    function = getattr(module, name)
    if not callable(function):
        raise CaptureError(f"{path}: '{name}' is of type {type(function).__name__}, expected a function")
    return function  # type: ignore[no-any-return]


def call_function(spec: str, arguments: Mapping[str, Any] | None = None) -> Any:
    """What the function that ``spec`` names returns. Raises CaptureError, with the user's line, also for whatever it raises."""
    function = load_function(spec)
    check_arguments(function, arguments or {}, spec)
    try:
        return function(**arguments or {})
    except CaptureError:
        raise
    except SystemExit as error:
        raise CaptureError(ends(spec, error)) from error
    except Exception as error:
        raise CaptureError(f"{place_of(error, spec)}: {first_line(error)}") from error


def settings(texts: Sequence[str]) -> dict[str, Any]:
    """``["layers=4", "dtype=bfloat16"]`` as arguments: literals where they are such, else text. Raises CaptureError."""
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise CaptureError(f"--set {text}: expected NAME=VALUE")
        if name in found:
            raise CaptureError(f"--set {text}: {name} is set twice")
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            found[name] = value
    return found


def check_arguments(function: Callable[..., Any], arguments: Mapping[str, Any], spec: str) -> None:
    """Raises CaptureError where the function has no such argument, or needs one that is not set."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # a builtin without one
    try:
        signature.bind(**arguments)
    except TypeError as error:
        raise CaptureError(f"{spec}{signature}: {error} (--set NAME=VALUE gives arguments)") from error


def ends(spec: str, error: SystemExit) -> str:
    """The line for code that ends the program."""
    return f"{spec}: it ends the program (exit code {error.code}) instead of returning"


def _run(path: str) -> ModuleType:
    full = str(Path(path).resolve())
    name = Path(path).stem
    known = sys.modules.get(name)
    if name in sys.stdlib_module_names or (known is not None and getattr(known, "__file__", None) != full):
        name = full  # another module has the file's name
    spec = importlib.util.spec_from_file_location(name, full)
    assert spec is not None and spec.loader is not None, "a file that ends in .py has a loader"
    module = importlib.util.module_from_spec(spec)
    folder = str(Path(full).parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    sys.modules[name] = module  # dataclasses and pickle look their classes' modules up there
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        sys.modules.pop(name, None)
        if isinstance(error, SyntaxError):
            where = path if error.filename in (None, full) else error.filename
            raise CaptureError(f"{where}:{error.lineno or 1}: {type(error).__name__}: {error.msg}") from error
        if isinstance(error, SystemExit):
            raise CaptureError(ends(path, error)) from error
        if isinstance(error, Exception):
            raise CaptureError(f"{place_of(error, path)}: {first_line(error)}") from error
        raise
    return module


def _others(module: ModuleType) -> str:
    """The functions that the file has, for who mistyped one."""
    names = [name for name, value in vars(module).items() if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")]
    return f" (there are: {', '.join(names[:8])}{', ...' if len(names) > 8 else ''})" if names else ""
