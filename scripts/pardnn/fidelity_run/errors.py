"""What the user has to mend."""


class FidelityError(ValueError):
    """One line: what, where, what was expected. Exit code 3."""
