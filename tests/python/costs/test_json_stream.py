"""Broken and whole JSON, read in pieces of any size (E4, E6)."""

from __future__ import annotations

import gzip
import json
import random

import pytest
from pardnn.costs import json_stream
from pardnn.costs.json_stream import JsonError, JsonStream

EVENTS = frozenset(["e"])


def read(path, content, repairs=None):
    path.write_bytes(content)
    stream = JsonStream(path)
    members = list(stream.members(EVENTS))
    assert dict(stream.repairs) == (repairs or {})
    return members


@pytest.fixture(params=[1, 2, 3, 7, 4 << 20], ids=lambda n: f"chunk{n}")
def file(request, monkeypatch, tmp_path):
    monkeypatch.setattr(json_stream, "_CHUNK", request.param)
    return tmp_path / "x.json"


def test_members_and_elements(file):
    content = '{"a": {"é": [1.5e3, -2]}, "e": ["ü€😀", true, null, {"x": [[]]}], "n": 12345, "z": "\\\\\\u0041", "e": []}'.encode()
    assert read(file, content) == [("a", {"é": [1500.0, -2]}), ("e", "ü€😀"), ("e", True), ("e", None), ("e", {"x": [[]]}), ("n", 12345), ("z", "\\A")]


@pytest.mark.parametrize("content, members", [(b"[]", []), (b"{}", []), (b" [1, {}]\n", [("", 1), ("", {})]),
                                              (b"\xef\xbb\xbf[7]", [("", 7)]), (b'{"e": 5}', [("e", 5)])])
def test_small_documents(file, content, members):
    assert read(file, content) == members


def test_backslashes_that_escape_nothing_stand_for_themselves(file):
    content = rb'{"e": [{"n": "C:\Users\ new"}, "\\\u0041\uzz\\", "\\"]}'
    assert read(file, content, {"backslashes that escape nothing": 3}) == [("e", {"n": "C:\\Users\\ new"}), ("e", "\\A\\uzz\\"), ("e", "\\")]


def test_control_characters_and_bad_utf8_in_strings(file):
    repairs = {"elements with control characters in strings": 1, "bytes that are not UTF-8": 2}
    assert read(file, b'{"e": ["a\x01b", "\xff\xfe"]}', repairs) == [("e", "a\x01b"), ("e", "\udcff\udcfe")]


@pytest.mark.parametrize("content, message", [
    (b'{"a": 1, "e": [{"n": "x}, {"n": "C"}, 3]}', "byte 28: expecting ',' delimiter"),  # a quote is missing after x
    (b'{"e": [{"n": "abc', "byte 13: a string starts here and has no end"),
    (b'{"e": [{"n": "C:\\', "byte 13: a string starts here and has no end"),
    (b'{"e": [{"n" "C"}]}', "byte 12: expecting ':' delimiter"),
    ('{"é€😀": [\\\\'.encode(), "byte 15: expecting value"),  # offsets are bytes
    (b'{"e": ["\xff\\q", nope]}', "byte 14: expecting value"),  # and those of the file, whatever was put right before
    (b'{"e": [1, 2,]}', "byte 12: expecting value"),
    (b'{"e": [1, 2]', "byte 12: expected ',' or '}', found the end of the file"),
    (b'{"e": [1, 2', "byte 11: expected ',' or ']', found the end of the file"),
    (b'{"e": [1, 2]} x', "byte 14: expected the end of the file"),
    (b"", "byte 0: expected '{' or '[', found the end of the file"),
    (b"17", "byte 0: expected '{' or '['"),
    (b"{a: 1}", "byte 1: expected a member's name in double quotes"),
    (b'{"e": [\xff]}', "byte 7: expecting value"),
])
def test_broken_files_are_refused_with_the_byte(file, content, message):
    with pytest.raises(JsonError, match=f"x.json: {message}".replace("[", r"\[").replace("{", r"\{")):
        read(file, content, {"any": 0})


def test_deep_nesting_is_refused(tmp_path):
    with pytest.raises(JsonError, match="byte 7: nested too deeply"):
        read(tmp_path / "x.json", b'{"e": ' + b"[" * 100000)


def test_random_documents_in_random_pieces(tmp_path, monkeypatch):
    """Against json.loads."""
    rng = random.Random(7)
    alphabet = ["a", "é", "😀", '"', "\\", "\n", "\u0001", "€"]

    def value(depth):
        kind = rng.randrange(6 if depth else 4)
        if kind == 0:
            return rng.choice([rng.randrange(-10**6, 10**6), rng.random(), None, True])
        if kind < 4:
            return "".join(rng.choices(alphabet, k=rng.randrange(12)))
        items = [value(depth - 1) for _ in range(rng.randrange(4))]
        return items if kind == 4 else {f"k{i}": v for i, v in enumerate(items)}

    for trial in range(200):
        monkeypatch.setattr(json_stream, "_CHUNK", rng.choice([1, 5, 64]))
        events = [value(3) for _ in range(rng.randrange(6))]
        content = json.dumps({"e": events, "z": value(2)}, ensure_ascii=trial % 2 == 0).encode()
        members = read(tmp_path / "x.json", content)
        assert [v for k, v in members if k == "e"] == events
        assert members[-1] == ("z", json.loads(content)["z"])


def test_compressed_file(tmp_path):
    path = tmp_path / "x.json.gz"
    assert read(path, gzip.compress(b'{"e": [1, 2]}')) == [("e", 1), ("e", 2)]
    with pytest.raises(JsonError, match="compressed data is damaged or ends early"):
        read(path, gzip.compress(json.dumps({"e": list(range(10000))}).encode())[:-40])


def test_an_element_without_end_is_not_read_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(json_stream, "_LARGEST", 1000)
    monkeypatch.setattr(json_stream, "_CHUNK", 100)
    with pytest.raises(JsonError, match="byte 7: a string starts here and has no end .or an element of more than"):
        read(tmp_path / "x.json", b'{"e": ["' + b"a" * 10000 + b'"]}')


def test_progress_goes_from_start_to_end(tmp_path, monkeypatch):
    monkeypatch.setattr(json_stream, "_CHUNK", 1000)
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"e": list(range(5000))}))
    seen = []
    assert len(list(JsonStream(path, lambda *p: seen.append(p)).members(EVENTS))) == 5000
    size = path.stat().st_size
    assert {total for _, total in seen} == {size} and len(seen) > 10
    assert [done for done, _ in seen] == sorted(done for done, _ in seen) and seen[-1][0] == size
