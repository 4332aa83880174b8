"""Names: bytes on disk, text for people."""

from __future__ import annotations

import base64
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.names import MAX_NAME_BYTES, display_name, is_lossy, json_name, unsafe_name
from readers.records import Kind
from worker.items.loose import own_name

_NAMES = st.one_of(
    st.binary(max_size=40),
    st.text(max_size=20).map(lambda t: t.encode("utf-8", "surrogatepass")),
    st.lists(st.sampled_from([b"..", b"/", b"\\", b"a", b"\0", b"C:", b".", b"x" * 256]), max_size=5).map(b"".join),
)


@given(_NAMES)
def test_display_text_can_be_stored_and_printed(name: bytes) -> None:
    shown = display_name(name)
    assert "\0" not in shown
    shown.encode("utf-8")
    assert all(c.isprintable() or c == "\u00a0" for c in shown)
    assert shown == display_name(bytes(name))
    if not is_lossy(name):
        assert shown.encode("utf-8") == name


@given(_NAMES)
def test_json_gives_the_name_back(name: bytes) -> None:
    out = json.loads(json.dumps(json_name(name)))
    if "name_b64" in out:
        assert base64.b64decode(out["name_b64"]) == name
    else:
        assert out["name"].encode("utf-8") == name


@given(_NAMES)
def test_a_name_that_is_not_unsafe_stays_inside(name: bytes) -> None:
    if unsafe_name(name) is None:
        assert b"\0" not in name
        for form in (name, name.replace(b"\\", b"/")):
            place = os.path.normpath(os.path.join(b"/jobs/items", form))
            assert place == b"/jobs/items" or place.startswith(b"/jobs/items/")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"plain.txt", "plain.txt"),
        ("Größe 😀".encode(), "Größe 😀"),
        (b"m\xfcller", "m\\xfcller"),
        (b"a\0b", "a\\x00b"),
        (b"a\nb\x1b[31m", "a\\nb\\x1b[31m"),
        ("a\u202eb".encode(), "a\\u202eb"),
        (b"", ""),
    ],
)
def test_what_people_see(name: bytes, shown: str) -> None:
    """Text stays as it is; everything else is spelled out, terminal escapes and direction marks among it."""
    assert display_name(name) == shown
    assert is_lossy(name) is (shown.encode() != name)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (b"../x", "climbs"),
        (b"a/../../x", "climbs"),
        (b"..\\x", "climbs"),
        (b"/etc/passwd", "absolute"),
        (b"\\\\server\\x", "absolute"),
        (b"C:\\x", "absolute"),
        (b"a\0b", "NUL"),
        (b"x" * (MAX_NAME_BYTES + 1), "255"),
        (b"a/" + b"x" * 300 + b"/b", "255"),
    ],
)
def test_hostile_names_are_told_with_the_reason(name: bytes, why: str) -> None:
    assert why in str(unsafe_name(name))


@pytest.mark.parametrize("name", [b"a..b", b"...", b"a/b.txt", b"x" * MAX_NAME_BYTES, b"", b".", b"\xff\xfe"])
def test_odd_but_harmless_names_pass(name: bytes) -> None:
    assert unsafe_name(name) is None


@pytest.mark.parametrize(
    ("kind", "name", "shown", "own"),
    [
        (Kind.LOOSE_FILE, b"priv.txt", "bob/Legal/priv.txt", "priv.txt"),
        (Kind.LOOSE_FILE, b"m\xfc\\x.txt", "bob/m\\xfc\\x.txt", "m\\xfc\\x.txt"),
        (Kind.MESSAGE, b"Top/Inbox/Tiger", "Top/Inbox/Tiger", "Tiger"),
        (Kind.ARCHIVE_MEMBER, b"in/one.txt", "in/one.txt", "one.txt"),
        (Kind.ARCHIVE_MEMBER, b"in/sub/", "in/sub/", "sub"),
        (Kind.ARCHIVE_MEMBER, b"in\\one.txt", "in\\one.txt", "one.txt"),
        (Kind.ARCHIVE_MEMBER, b"in\\sub\\", "in\\sub\\", "sub"),
        (Kind.ARCHIVE_MEMBER, b"in\\a/one.txt", "in\\a/one.txt", "one.txt"),
        (Kind.ARCHIVE_MEMBER, b"m\xfc.txt", "m\\xfc.txt", "m\\xfc.txt"),
        (Kind.ARCHIVE_MEMBER, b"\xaf/\xaf.txt", "\u043f/\u043f.txt", "\u043f.txt"),  # in the charset of its archive
        (Kind.ARCHIVE_MEMBER, b"in/one.txt", "in/one.txt (2)", "one.txt"),
        (Kind.EMBEDDED_OBJECT, b"word/media/image1.png", "word/media/image1.png", "image1.png"),
        (Kind.ATTACHMENT, b"2024/05 plan.txt", "2024/05 plan.txt", "2024/05 plan.txt"),
        (Kind.ATTACHMENT, b"report.txt", "report.txt (2)", "report.txt"),
        (Kind.ATTACHMENT, b"report (2)", "report (2)", "report (2)"),
        (Kind.ATTACHMENT, b"", "", ""),
    ],
)
def test_an_items_own_name_has_nothing_of_where_it_stands(kind: Kind, name: bytes, shown: str, own: str) -> None:
    assert own_name(name, shown, kind) == own
