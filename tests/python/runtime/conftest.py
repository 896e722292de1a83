"""Graph files of the models of these tests."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def graphs(tmp_path_factory):
    """The graph file and the graph of a model by its name, made once."""
    from runtime_support import capture

    folder, made = tmp_path_factory.mktemp("graphs"), {}

    def graph(name):
        if name not in made:
            found = capture(name)
            found.write(folder / f"{name}.h5")
            made[name] = folder / f"{name}.h5", found.graph
        return made[name]

    return graph
