"""What can go wrong with a run."""


class RunError(ValueError):
    """Files or options that cannot be run: one line that says what, where, and what was expected. Exit code 3."""


class RankLost(RuntimeError):
    """A rank that is gone, or another failure of the system while the run goes on. Exit code 4."""
