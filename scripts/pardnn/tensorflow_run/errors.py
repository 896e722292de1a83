"""What can go wrong when a TensorFlow graph is placed or run."""

from __future__ import annotations


class PlaceError(ValueError):
    """Files or devices that do not belong together: one line that says what, where, and what was expected. Command lines exit with 3."""
