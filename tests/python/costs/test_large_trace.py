"""A large trace is read in bounded memory (E6). PARDNN_LARGE_TESTS=1 makes it 1 GB and takes minutes."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest
from costs_support import large_trace

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
from pardnn.costs.__main__ import main
code = main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
sys.exit(code)
"""


def peak_mib(path: pathlib.Path) -> tuple[list[str], float]:
    """What the summary says of a trace, read with 2 GiB of address space, and the peak of resident memory."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(pathlib.Path(__file__).parents[3] / "scripts")}
    done = subprocess.run([sys.executable, "-c", LIMITED, "--trace", str(path)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    *lines, rss = done.stdout.splitlines()
    return lines, int(rss) / 1024


@pytest.mark.parametrize("size", [12_000_000, pytest.param(1_000_000_000, marks=pytest.mark.skipif(
    not os.environ.get("PARDNN_LARGE_TESTS"), reason="set PARDNN_LARGE_TESTS=1 for a trace of 1 GB"))])
def test_memory_is_a_small_part_of_the_file(tmp_path, size):
    small, large = tmp_path / "small.json", tmp_path / "large.json"
    for path, bytes in ((small, 1000), (large, size)):
        with open(path, "wb") as file:
            file.writelines(large_trace(bytes))
    assert large.stat().st_size > size
    _, least = peak_mib(small)
    lines, most = peak_mib(large)
    assert len(lines) == 2 and lines[1].endswith(" x aten::mm")  # nothing repeated, lost, unusable or put right
    assert lines[0].startswith(f"{large}: ") and " operations, 1,000 different, times on the device" in lines[0]
    assert most < least + 60 + 0.3 * size / 2**20  # pieces of 4 MiB as bytes and text; of 790 bytes of JSON a layer 104 kept, and sorted
