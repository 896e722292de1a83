"""Steps put together from the cores' time of each rank, by hand."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from pardnn.fidelity_run.core_time import END, SEND, WAIT, replayed  # noqa: E402


def link(source, target, size):
    return 0.5 + size / 100


def test_a_wait_ends_when_the_message_is_there():
    """Rank 0 works 2 s, sends 50 B, works 1 s; rank 1 works 1 s, waits (0.25 s of work in it), works 4 s."""
    first = [(SEND, 1, 0, 50, 1.5, 2.0), (END, 0, 0, 0, 3.0, 3.0)]
    second = [(WAIT, 0, 0, 50, 1.0, 1.25), (END, 0, 0, 0, 5.25, 5.25)]
    assert replayed([first, second], link) == pytest.approx(2.0 + 1.0 + 4.0)
    late = [(WAIT, 0, 0, 50, 7.0, 7.25), (END, 0, 0, 0, 8.0, 8.0)]
    assert replayed([first, late], link) == pytest.approx(8.0), "it was there before"


def test_there_and_back():
    first = [(SEND, 1, 0, 0, 1.0, 1.0), (WAIT, 1, 0, 0, 1.0, 1.0), (END, 0, 0, 0, 2.0, 2.0)]
    second = [(WAIT, 0, 0, 0, 0.0, 0.0), (SEND, 0, 0, 0, 3.0, 3.0), (END, 0, 0, 0, 3.5, 3.5)]
    assert replayed([first, second], link) == pytest.approx(1.0 + 0.5 + 3.0 + 0.5 + 1.0)


def test_a_message_that_nobody_sends():
    with pytest.raises(ValueError, match="rank 1 waits for a message that nobody sent"):
        replayed([[(END, 0, 0, 0, 1.0, 1.0)], [(WAIT, 0, 3, 0, 1.0, 1.0)]], link)
