"""The one error of the captures."""


class CaptureError(ValueError):
    """Input that can't be captured: one line that says what, where, and what was expected. Command lines exit with 3."""
