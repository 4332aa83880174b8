"""readers.documents.djvu: text layers, links and titles; scans, damage.

Beside these, documents of djvu-rs's, ocrodjvu's and python-djvulibre's test suites were read by hand, of up to 71
pages."""

from functools import partial
from pathlib import Path

import pytest
from as_found import text_of
from djvu_file import djvu

from readers.documents.djvu import DjvuHandler
from readers.errors import DocumentError, ExceptionCode, PagesWithoutText
from readers.records import TextState

DJVU = DjvuHandler()
LINK = b'(maparea "https://example.org/a" "seen here" (rect 0 0 5 5) (xor))(maparea "#2" "" (rect 0 0 5 5) (xor))'


read = partial(text_of, kind="image/vnd.djvu")


def test_text_links_and_metadata() -> None:
    out = read(djvu("one \x1ftwo größe", LINK + b'(metadata (title "A title") (author "Ann"))'))
    assert out.text.split("\n") == ["one ", "two größe", "seen here", "https://example.org/a", ""]
    assert (out.pages, out.metadata, out.error) == (1, {"title": "A title", "author": "Ann"}, None)


def test_a_scan_has_no_text_layer() -> None:
    assert read(djvu()).state is TextState.NO_TEXT_LAYER
    linked = read(djvu(None, LINK))
    assert (linked.state, "seen here" in linked.text, linked.error) == (TextState.NO_TEXT_LAYER, True, None)


def test_a_page_without_a_layer_among_others_is_reported(real_files: Path) -> None:
    """A scanned letter between pages of a book: `ok` would say that it was read."""
    whole = (real_files / "ingest-file" / "Test_rs20846.djvu").read_bytes()
    assert read(whole).error is None
    found = read(whole.replace(b"TXTz", b"TXTx", 1))
    assert (found.state, found.metadata["pages_without_text"]) == (None, "1")
    assert isinstance(found.error, PagesWithoutText)
    assert found.error.detail == "1 of 11 pages have no text layer"


def test_damaged_annotations_are_reported() -> None:
    body = djvu("words", b"x")[12:].replace(b"ANTa", b"ANTz")
    out = read(b"AT&TFORM" + len(body).to_bytes(4, "big") + body)
    assert (out.error and out.error.code) is ExceptionCode.CORRUPT


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (djvu("words")[:-4], ExceptionCode.TRUNCATED),
        (b"AT&TFORM\0\0\0\x04WORD", ExceptionCode.CORRUPT),
        (b"AT&TFORM\0\0\0\x10DJVMDIRM\0\0\0\x03\x01\0\0\0", ExceptionCode.UNSUPPORTED),
    ],
    ids=["cut", "no document", "pages in files of their own"],
)
def test_what_cannot_be_read_states_why(data: bytes, code: ExceptionCode) -> None:
    """Never `ok` without text."""
    with pytest.raises(DocumentError) as caught:
        read(data)
    assert caught.value.code is code
