"""What all command lines of the package do alike: wrong usage is one line and exit code 3, as of the program pardnn itself."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NoReturn

WRONG = 3  # exit code of wrong usage or input
_LARGEST = 2**40


class Parser(argparse.ArgumentParser):
    """``prog``: ``python -m pardnn.X``."""

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG, f"{self.prog.rpartition(' ')[2]}: {message} (--help tells the options)\n")


def whole(least: int) -> Callable[[str], int]:
    """The type of an option that is a whole number from ``least`` to 2^40."""
    def number(text: str) -> int:
        value = int(text) if text.removeprefix("-").isdecimal() and len(text) < 20 else least - 1
        if not least <= value <= _LARGEST:
            raise argparse.ArgumentTypeError(f"'{text[:40]}': expected a whole number from {least} on")
        return value

    return number
