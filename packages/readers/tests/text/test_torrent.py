"""readers.text.torrent: names in torrents of either version, their charsets, damage."""

from __future__ import annotations

import contextlib
import tracemalloc
from functools import partial

import pytest
from as_found import text_of
from hypothesis import given
from hypothesis import strategies as st

from core.records import Limits
from readers.base import MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.keys import misfits
from readers.records import TextState
from readers.registry import handler_for
from readers.text import torrent


def coded(value: object) -> bytes:
    """Bencoded; dictionaries in the order in which they are given."""
    match value:
        case int():
            return b"i%de" % value
        case str():
            return coded(value.encode())
        case bytes():
            return b"%d:%b" % (len(value), value)
        case list():
            return b"l" + b"".join(map(coded, value)) + b"e"
        case dict():
            return b"d" + b"".join(coded(key) + coded(inner) for key, inner in value.items()) + b"e"
    raise TypeError(value)


read = partial(text_of, kind="application/x-bittorrent")


WHOLE = {
    "announce": "http://tracker.example/a",
    "announce-list": [["http://tracker.example/a"], ["udp://second.example:80"]],
    "comment": "Board minutes\nnot for release",
    "created by": "maker 1.2",
    "creation date": 1_600_000_000,
    "info": {
        "files": [
            {"length": 1, "path": ["minutes", "Ärger.pdf"]},
            {"length": 2, "path": ["list.txt"]},
        ],
        "name": "archive",
        "piece length": 16384,
        "pieces": bytes(range(200)),
    },
    "url-list": "https://seed.example/",
}


def test_names_words_and_addresses() -> None:
    found = read(coded(WHOLE))
    assert (found.state, found.error) == (None, None)
    assert found.text.splitlines() == [
        *("archive", "Board minutes", "not for release", "maker 1.2", "minutes/Ärger.pdf", "list.txt"),
        *("http://tracker.example/a", "udp://second.example:80", "https://seed.example/"),
    ]
    assert misfits(found.metadata) == []
    told = {key: found.metadata[key] for key in ("title", "description", "application", "created", "charset")}
    assert told == {
        "title": "archive",
        "description": "Board minutes not for release",
        "application": "maker 1.2",
        "created": "2020-09-13T12:26:40Z",
        "charset": "utf-8",
    }


def test_trees_of_the_second_version() -> None:
    tree = {"folder": {"one.txt": {"": {"length": 5, "pieces root": bytes(32)}}}, "two.txt": {"": {"length": 1}}}
    files = [{"length": 5, "path": ["folder", "one.txt"]}]
    found = read(coded({"info": {"file tree": tree, "files": files, "name": "both"}}))
    assert found.text.splitlines() == ["both", "folder/one.txt", "two.txt"]


def test_charsets() -> None:
    name = "年度报告".encode("gbk")
    assert read(coded({"encoding": "GBK", "info": {"name": name}})).text == "年度报告\n"
    both = {"info": {"files": [{"path": [name], "path.utf-8": ["报告.doc"]}], "name": name, "name.utf-8": "目录"}}
    assert read(coded(both)).text.splitlines() == ["目录", "报告.doc"]
    short = read(coded({"info": {"name": "дог".encode("koi8-r")}}))
    assert short.state is TextState.GUESSED


def test_damage_keeps_what_came_before() -> None:
    data = coded(WHOLE)
    cut = read(data[: data.index(b"pieces") + 50])
    assert (cut.error and cut.error.code) is ExceptionCode.TRUNCATED
    assert "list.txt" in cut.text
    assert "archive" in cut.text
    bad = read(data.replace(b"12:piece length", b"12:piece lengthx"))
    assert (bad.error and bad.error.code) is ExceptionCode.CORRUPT
    for wrong in (b"d4:infod4:name", b"d4:infodi1ei1eee", b"d4:info" + b"l" * 99, b"d4:infode8:announcee"):
        with pytest.raises(DocumentError):
            read(wrong)


@pytest.mark.parametrize(
    ("after", "code"),
    [
        (b"l" * 1_000_000, ExceptionCode.CORRUPT),
        (b"d1:a" * 1_000_000, ExceptionCode.CORRUPT),
        (b"i" + b"9" * 1_000_000 + b"e", ExceptionCode.CORRUPT),
        (b"9" * 1_000_000 + b":", ExceptionCode.CORRUPT),
        (b"9" * 18 + b":", ExceptionCode.TRUNCATED),
        (b"d9:httpseedsi--1e" + b" " * 30, ExceptionCode.CORRUPT),
    ],
)
def test_what_no_torrent_holds(after: bytes, code: ExceptionCode) -> None:
    """Lists a million deep, numbers of a million digits, strings of more bytes than there are: what came before stays."""
    found = read(b"d8:announce9:a.example4:info" + after)
    assert (found.text, found.error and found.error.code) == ("a.example\n", code)


def test_times_that_there_are_none() -> None:
    for number in (b"-1", b"0", b"9" * 18):
        found = read(b"d8:announce9:a.example13:creation datei%bee" % number)
        assert ("created" in found.metadata, found.error) == (False, None)


def test_more_names_than_there_are_in_any(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 6 bytes each they would fill the memory: those up to the limit are told, and that they are not all."""
    monkeypatch.setattr(torrent, "_MOST", 3)
    tree = {str(n): {"": {"length": 1}} for n in range(9)}
    files = [{"length": 1, "path": ["a", str(n)]} for n in range(9)]
    for whole in ({"url-list": list("abcdef")}, {"info": {"files": files}}, {"info": {"file tree": tree}}):
        found = read(coded({"announce": "first", **whole}))
        assert (found.error and found.error.code, "first" in found.text) == (ExceptionCode.TOO_LARGE, True)


@pytest.mark.parametrize("label", ["undefined", "unicode_escape", "hex", "a\0b", "x" * 100_000])
def test_an_encoding_that_is_none(label: str) -> None:
    """Python has codecs that are no charset, one of which fails whatever it is given."""
    assert read(coded({"encoding": label, "info": {"name": "Ärger\\x41.pdf"}})).text == "Ärger\\x41.pdf\n"


def test_limit() -> None:
    found = read(coded(WHOLE), Limits(text_characters=4))
    assert (found.text, found.state) == ("arch", TextState.TRUNCATED_BY_LIMIT)


@given(st.lists(st.tuples(st.integers(12, 600), st.integers(0, 255)), max_size=8))
def test_other_damage_raises_nothing_else(changes: list[tuple[int, int]]) -> None:
    data = bytearray(coded(WHOLE))
    for at, byte in changes:
        data[at % (len(data) - 12) + 12] = byte
    with contextlib.suppress(DocumentError):
        assert handler_for("application/x-bittorrent").text(MemorySource(b"x", bytes(data)), Limits()).text


def test_few_bytes_make_no_large_text_that_nobody_wants() -> None:
    files = {f"{number:04}": {"": {"length": 1}} for number in range(2_000)}
    data = coded({"info": {"file tree": {"x" * 20_000: files}, "name": "a"}})
    tracemalloc.start()
    try:
        found = read(data, Limits(text_characters=30_000))
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()
    assert found.state is TextState.TRUNCATED_BY_LIMIT
    assert "/0000\n" in found.text
