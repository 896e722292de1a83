"""Steps that other work disturbed are told from the rest."""

from __future__ import annotations

import os

import pytest

from pardnn.fidelity_run.others import busy_seconds, share_of_others, undisturbed


def test_busy_time_is_that_of_processes(tmp_path):
    """user, nice, system and stolen time; not idle, waiting, interrupts."""
    (tmp_path / "stat").write_text("cpu  100 20 30 4000 500 60 70 8 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n")
    assert busy_seconds(tmp_path / "stat") == pytest.approx(158 / os.sysconf("SC_CLK_TCK"))
    assert busy_seconds(tmp_path / "none") == 0.0


def test_share_of_others():
    assert share_of_others(3.0, 2.0, 2.0, 2) == pytest.approx(0.25)
    assert share_of_others(1.9, 2.0, 2.0, 2) == 0.0, "ticks are coarse"


def test_quiet_steps_count():
    steps = [(1.0, 0.0), (9.0, 0.5), (1.2, 0.1), (5.0, 0.3)]
    assert undisturbed(steps, 0.1, 2) == ([1.0, 1.2], 0)
    assert undisturbed(steps, 0.1, 3) == ([1.0, 1.2, 5.0], 1)
    assert undisturbed(steps, 0.1, 9) == ([1.0, 1.2, 5.0, 9.0], 2)
