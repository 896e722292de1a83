"""Calls to be costed, and traces as a profiler writes them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pardnn.costs import OpCall, TensorSpec


def f32(*shape: int, strides: tuple[int, ...] | None = None) -> TensorSpec:
    return TensorSpec(shape, "float32", 4, strides)


def i64(*shape: int) -> TensorSpec:
    return TensorSpec(shape, "int64", 8)


def aten(op: str, *args: Any, out: tuple[TensorSpec, ...] | TensorSpec = (), **kwargs: Any) -> OpCall:
    return OpCall(f"aten::{op}", args, kwargs, out if isinstance(out, tuple) else (out,))


def recorded_calls(step: Callable[[], object]) -> list[OpCall]:
    """The operations below autograd of what ``step`` does, with real tensors."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    calls: list[OpCall] = []

    def told(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return TensorSpec(tuple(value.shape), str(value.dtype).removeprefix("torch."), value.dtype.itemsize, tuple(value.stride()))
        if isinstance(value, (list, tuple)):
            return tuple(map(told, value))
        return value if value is None or isinstance(value, (int, float, bool, str)) else str(value).removeprefix("torch.")

    class Recorder(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            if func.namespace == "aten":
                outputs = told(result if isinstance(result, (list, tuple)) else [result])
                name = f"{func._schema.name}.{func._schema.overload_name or 'default'}"
                calls.append(OpCall(name, told(args), {k: told(v) for k, v in (kwargs or {}).items()},
                                    tuple(o for o in outputs if isinstance(o, TensorSpec)), None, bool(func.is_view)))
            return result

    with Recorder():
        step()
    return calls


def operation(name: str, ts: float, dur: float, dims: list[Any], *, id: int, types: list[str] | None = None, concrete: list[str] | None = None,
              tid: int = 1) -> dict[str, Any]:
    args = {"External id": id, "Input Dims": dims, "Input type": types or ["float" if d else "" for d in dims], "Concrete Inputs": concrete or [""] * len(dims)}
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 7, "tid": tid, "ts": ts, "dur": dur, "args": args}


def launch(ts: float, correlation: int, tid: int = 1) -> dict[str, Any]:
    return {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": tid, "ts": ts, "dur": 2.0, "args": {"correlation": correlation}}


def kernel(ts: float, dur: float, correlation: int, *, id: int = 0, lane: int = 7) -> dict[str, Any]:
    return {"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": lane, "ts": ts, "dur": dur,
            "args": {"External id": id, "correlation": correlation, "device": 0, "stream": 7}}


def write_trace(path: Path, events: list[dict[str, Any]]) -> Path:
    content = json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events, "traceName": "t"}).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def large_trace(size: int) -> Iterator[bytes]:
    """A trace of about ``size`` bytes in pieces: Python frames, operations, launches and kernels of 1000 layers, step after step."""
    yield b'{"schemaVersion": 1, "traceEvents": [\n'
    done, index = 0, 1
    while done < size:
        piece = []
        for _ in range(1000):
            t = index * 10
            frame = {"ph": "X", "cat": "python_function", "name": "torch/nn/modules/linear.py(114): forward", "pid": 7, "tid": 1, "ts": t, "dur": 9.5,
                     "args": {"Python id": index, "Python parent id": index - 1, "Python module id": index % 1000, "Ev Idx": index}}
            rows = index % 1000 + 1
            op = operation("aten::mm", t + 1, 5, [[rows, 64], [64, 64]], id=index)
            piece.append(",\n".join(map(json.dumps, (frame, op, launch(t + 2, index), kernel(t + 50, rows, index, id=index)))))
            index += 1
        text = (b",\n" if done else b"") + ",\n".join(piece).encode()
        done += len(text)
        yield text
    yield b'\n], "traceName": "large"}\n'
