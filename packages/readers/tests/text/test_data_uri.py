"""readers.text.html: files that stand in a web page itself."""

import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unpacking import PNG, unpack

from core.records import Limits
from readers.base import Child, MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.records import Kind
from readers.text.html import HtmlHandler, data_uris
from readers.text.plain import XmlHandler

HTML = HtmlHandler()
PLACES = ['<img src="{}">', "<a href = '{}'>", "<img src={} alt=x>", "<p style=\"background: url({})\">", "<style>a {{ b: url( '{}' ) }}</style>", '<p style="b:url(&quot;{}&quot;)">', '<script>x = "{}"</script>']  # fmt: skip


def children(markup: str) -> list[Child]:
    return list(HTML.children(MemorySource(b"a.html", markup.encode()), Limits()))


@given(st.binary(max_size=64), st.sampled_from(PLACES), st.booleans())
def test_bytes_come_back(content: bytes, place: str, as_base64: bool) -> None:
    value = base64.b64encode(content).decode() if as_base64 else quote(content, safe="")
    uri = f"data:image/PNG;charset=x{';base64' if as_base64 else ''},{value}"
    page = f"<p>before {place.format(uri)} after<img src='data:text/css,last'>"
    first, last = children(page)
    assert (first.data, first.name, first.media_type, first.ordinal, first.error) == (content, b"image-0.png", "image/png", 0, None)  # fmt: skip
    assert (last.data, last.name, last.ordinal, last.kind) == (b"last", b"text-1.css", 1, Kind.EMBEDDED_OBJECT)


def test_folded_and_url_safe_base64() -> None:
    """Line breaks within an attribute do not count, as in browsers; nor does the other alphabet."""
    (found,) = children('<img src="data:image/svg+xml;base64,\n -_\n  -_">')
    assert (found.data, found.name) == (b"\xfb\xff\xbf", b"image-0.svg")


def test_what_is_no_base64_has_a_row_without_bytes() -> None:
    encoded = base64.b64encode(PNG).decode()
    page = f'<img src="data:image/gif;base64,[picture 4]"><img src="data:image/png;base64,{encoded}">text'
    out = unpack(b"a.html", page.encode())
    assert (out.by_path["a.html", "image-0.gif"].sha256, out.codes("a.html", "image-0.gif")) == (None, ["corrupt"])
    assert (out.by_path["a.html", "image-1.png"].size, out.codes("a.html", "image-1.png")) == (len(PNG), [])
    assert (out.codes("a.html"), out.count("a.html")) == ([], (None, 2, 0, False))


def test_base64_that_is_cut_short_keeps_what_there_is() -> None:
    (found,) = children('<img src="data:image/gif;base64,R0lGODlhA')
    assert (found.data, found.error and found.error.code) == (b"GIF89a", ExceptionCode.CORRUPT)


@pytest.mark.parametrize("markup", ["<script>f({data:image/png,3})</script>", "<p>data:image/png,x</p>", "<img src='data:,x'>", "<p>'data: 1, 2'"])  # fmt: skip
def test_what_only_looks_like_one(markup: str) -> None:
    assert children(markup) == []


def test_a_page_in_utf_16() -> None:
    page = "<html><img src='data:text/plain,abc'></html>".encode("utf-16")
    assert [c.data for c in HTML.children(MemorySource(b"", page), Limits())] == [b"abc"]


def test_one_in_a_drawing_and_without_a_type() -> None:
    drawing = MemorySource(b"", b"<svg xmlns='s'><image href='data:;base64,YWJj'/></svg>")
    (found,) = XmlHandler().children(drawing, Limits())
    assert (found.data, found.media_type) == (b"abc", "text/plain")


@pytest.mark.parametrize(
    ("piece", "found"),
    [('"data:a/b,', 5_000), ("'data:a/b;=data:a/b;", 0), ("=data:a/b" + "x" * 90 + ";", 0), ("(data:a/b,(", 5_000)],
)
def test_openings_without_an_end(piece: str, found: int) -> None:
    assert sum(1 for _ in data_uris(piece * 5_000)) == found


def test_a_page_over_the_limit_is_refused() -> None:
    with pytest.raises(DocumentError, match="limit"):
        list(HTML.children(MemorySource(b"", b"x" * 11), Limits(parse_bytes=10)))
