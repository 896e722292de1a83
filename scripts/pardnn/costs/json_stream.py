"""Large JSON files member by member and element by element, in bounded memory.

The standard library's decoder does the work, on one element at a time. What profilers are known to write wrongly and what can be read in
one way only is put right and counted: backslashes that escape nothing, control characters and bytes that are not UTF-8 inside of strings.
All else is refused with the byte offset: a missing quote, a file that ends early, text after the end.
"""

from __future__ import annotations

import codecs
import gzip
import json
import os
import re
import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

_CHUNK = 4 << 20  # bytes read at a time
_LARGEST = 64 << 20  # characters of one element
_LOOK_AHEAD = 64  # an error that is farther than this from the end of what was read is none of reading on
_NUMBER_TAIL = 4  # characters that a number may have behind what is one without them: ".", "e+"
_SPACE = re.compile(r"[ \t\n\r]*")
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}|(u[0-9a-fA-F]{0,3}\Z|\Z)|())')  # groups: incomplete at the end; no escape


class JsonError(ValueError):
    """The file is no JSON: says where, in bytes from its start (of the decompressed data), and what was expected."""


class JsonStream:
    """A JSON file, plain or gzip-compressed. ``repairs`` counts what was put right, by kind."""

    def __init__(self, path: str | os.PathLike[str], progress: Callable[[int, int], None] | None = None) -> None:
        """``progress(done, total)``: called after each chunk, in bytes of the file as it lies on disk."""
        self.repairs: Counter[str] = Counter()
        self._path = path
        self._progress = progress
        self._text = ""
        self._at = 0  # position in _text
        self._base = 0  # byte offset of _text[0]
        self._added: list[int] = []  # positions in _text of backslashes that the file doesn't have
        self._undecoded = b""
        self._repairing = False  # backslashes have been found that escape nothing: all text is searched for more
        self._held = ""  # a backslash at the end of what was read: the next characters will tell what it is
        self._ended = False
        self._strict = json.JSONDecoder()
        self._lenient = json.JSONDecoder(strict=False)

    def members(self, arrays: frozenset[str]) -> Iterator[tuple[str, Any]]:
        """Members of the object that the file holds, in order: (name, value); for those in ``arrays``, (name, element) for each element.

        A file that holds an array gives ("", element). Raises JsonError, or OSError.
        """
        with open(self._path, "rb") as raw:
            self._raw = raw
            self._total = os.fstat(raw.fileno()).st_size
            compressed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            self._file: BinaryIO = gzip.GzipFile(fileobj=raw) if compressed else raw  # type: ignore[assignment]
            yield from self._document(arrays)

    def _document(self, arrays: frozenset[str]) -> Iterator[tuple[str, Any]]:
        if self._peek() == "\ufeff":
            self._at += 1
        if self._peek() == "[":
            for element in self._elements():
                yield "", element
        else:
            self._expect("{", "'{' or '['")
            yield from self._object(arrays)
        if self._peek():
            raise self._error(self._at, "expected the end of the file")

    def _object(self, arrays: frozenset[str]) -> Iterator[tuple[str, Any]]:
        if self._peek() == "}":
            self._at += 1
            return
        while True:
            if self._peek() != '"':
                raise self._error(self._at, "expected a member's name in double quotes")
            name = self._value()
            self._expect(":", "':'")
            if name in arrays and self._peek() == "[":
                for element in self._elements():
                    yield name, element
            else:
                yield name, self._value()
            if self._peek() != ",":
                self._expect("}", "',' or '}'")
                return
            self._at += 1

    def _elements(self) -> Iterator[Any]:
        self._expect("[", "'['")
        if self._peek() == "]":
            self._at += 1
            return
        while True:
            yield self._value()
            if self._peek() != ",":
                self._expect("]", "',' or ']'")
                return
            self._at += 1

    def _peek(self) -> str:
        """The next character that is no white space, '' at the end of the file."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _expect(self, character: str, expected: str) -> None:
        found = self._peek()
        if found != character:
            raise self._error(self._at, f"expected {expected}" + ("" if found else ", found the end of the file"))
        self._at += 1

    def _value(self) -> Any:
        """Decodes one value, reading on while it may be incomplete."""
        if not self._peek():
            raise self._error(self._at, "expected a value, found the end of the file")
        decoder = self._strict
        while True:
            try:
                value, end = decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                decoder = self._repaired(error, decoder)
                continue
            except RecursionError:
                raise self._error(self._at, "nested too deeply") from None
            if len(self._text) - end < _NUMBER_TAIL and not self._ended:  # a number may go on: 1 of what will be 1.5e+10
                self._more()
                continue
            self._at = end
            return value

    def _repaired(self, error: json.JSONDecodeError, decoder: json.JSONDecoder) -> json.JSONDecoder:
        """Reads on if that may help, else puts right what can be. The decoder to go on with."""
        unterminated = error.msg.startswith("Unterminated string")
        if unterminated or len(self._text) - error.pos < _LOOK_AHEAD:
            if len(self._text) - self._at > _LARGEST:
                raise self._error(error.pos, f"{_reason(error)} (or an element of more than {_LARGEST >> 20} MiB)")
            if not self._ended:
                self._more()  # moves the text: the error's position is void
                return decoder
        if error.msg.startswith("Invalid control character"):
            self.repairs["elements with control characters in strings"] += 1
            return self._lenient
        if error.msg.startswith("Invalid \\") and not self._repairing:
            self._repairing = True
            place = self._text.rfind("\\", self._at, error.pos + 1)
            self._text = self._text[:place] + self._escaped(self._text[place:], place)
            return decoder
        raise self._error(error.pos, _reason(error))

    def _escaped(self, text: str, at: int) -> str:
        """``text``, which will lie at position ``at``, with those backslashes doubled that escape nothing; it starts outside of an escape."""
        text, self._held = self._held + text, ""
        added: list[int] = []

        def repair(match: re.Match[str]) -> str:
            if match[1] is not None and not self._ended:
                self._held = match[0]
                return ""
            if match[1] is None and match[2] is None:
                return match[0]
            added.append(at + match.start() + len(added))
            return "\\" + match[0]

        text = _ESCAPE.sub(repair, text)
        self._added += added
        self.repairs["backslashes that escape nothing"] += len(added)
        return text

    def _more(self) -> bool:
        """Appends at least one character to the text, dropping what is behind; False at the end of the file."""
        if self._ended:
            return False
        self._base = self._offset(self._at)
        self._added = [place - self._at for place in self._added if place >= self._at]
        rest, self._at = self._text[self._at:], 0
        new = ""
        while not new and not self._ended:
            new = self._decoded(self._read())
            if self._repairing:
                new = self._escaped(new, len(rest))
        self._text = rest + new
        if self._progress is not None:
            self._progress(self._raw.tell(), self._total)
        return bool(new)

    def _read(self) -> bytes:
        # What was read and could not be used yet doubles, so that a long element isn't scanned over and over.
        try:
            chunk = self._file.read(max(_CHUNK, len(self._text)))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise JsonError(f"{self._path}: compressed data is damaged or ends early, after byte {self._offset(len(self._text))} of JSON ({error})") from None
        self._ended = not chunk
        return chunk

    def _decoded(self, chunk: bytes) -> str:
        data = self._undecoded + chunk
        try:
            text, used = codecs.utf_8_decode(data, "strict", self._ended)
        except UnicodeDecodeError:
            text, used = codecs.utf_8_decode(data, "surrogateescape", self._ended)
            self.repairs["bytes that are not UTF-8"] += len(_NOT_UTF8.findall(text))
        self._undecoded = data[used:]
        return text

    def _offset(self, position: int) -> int:
        """Byte offset in the file of a position in the text."""
        return self._base + len(self._text[:position].encode("utf-8", "surrogateescape")) - bisect_left(self._added, position)

    def _error(self, position: int, message: str) -> JsonError:
        return JsonError(f"{self._path}: byte {self._offset(position)}: {message}")


def _reason(error: json.JSONDecodeError) -> str:
    text = error.msg[0].lower() + error.msg[1:]
    return {"unterminated string starting at": "a string starts here and has no end"}.get(text, text.removesuffix(": "))


def repaired_text(repairs: Counter[str]) -> str:
    """``3 backslashes that escape nothing, 1 bytes that are not UTF-8``."""
    return ", ".join(f"{count} {what}" for what, count in sorted(repairs.items()))
