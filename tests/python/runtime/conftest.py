"""Graph files of the models of these tests."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def graphs(tmp_path_factory):
    """The graph file and the graph of a model by its name, made once."""
    from runtime_support import capture

    folder, made = tmp_path_factory.mktemp("graphs"), {}

    def graph(name, micro_batches=1):
        key = f"{name}-{micro_batches}"
        if key not in made:
            found = capture(name, micro_batches)
            found.write(folder / f"{key}.h5")
            made[key] = folder / f"{key}.h5", found.graph
        return made[key]

    return graph
