"""readers.mail.mhtml: web pages saved with all they show."""

import base64

import pytest
from unpacking import PNG

from core.records import Limits
from readers.base import MemorySource
from readers.errors import DocumentError
from readers.identification.identify import identify
from readers.mail.mhtml import MhtmlHandler
from readers.records import Kind

PAGE = (
    b"From: <Saved by Blink>\r\nSnapshot-Content-Location: https://example.org/page.html\r\nSubject: =?utf-8?Q?Gr=C3=B6=C3=9Fe?=\r\n"
    b'Date: Tue, 3 Nov 2020 10:00:00 -0000\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related; boundary="B"\r\n\r\n'
    b"--B\r\nContent-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n<meta charset=3Dutf-8><p>caf=C3=A9</p>\r\n"
    b"--B\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: base64\r\nContent-Location: https://example.org/a/my%20pic.png?x=1\r\n\r\n"
    + base64.encodebytes(PNG)
    + b"--B\r\nContent-Type: text/css\r\nContent-Location: http://[broken\r\n\r\np {}\r\n--B--\r\n"
)


def test_page() -> None:
    source = MemorySource(b"page", PAGE)
    assert identify(source) == "multipart/related"
    out = MhtmlHandler().text(source, Limits())
    assert out.text == "café"
    assert out.metadata == {
        "title": "Größe",
        "address": "https://example.org/page.html",
        "created": "2020-11-03T10:00:00Z",
    }
    found = list(MhtmlHandler().children(source, Limits()))
    assert [(c.name, c.kind, c.data) for c in found] == [
        (b"my pic.png", Kind.EMBEDDED_OBJECT, PNG),
        (b"part-1", Kind.EMBEDDED_OBJECT, b"p {}"),
    ]


def test_names_of_older_browsers() -> None:
    """The extension tells a web archive from a message, and nothing else does."""
    data = PAGE.replace(b"<Saved by Blink>", b'"Gespeichert von Windows Internet Explorer"')
    assert identify(MemorySource(b"a.mht", data)) == "multipart/related"
    assert identify(MemorySource(b"a.eml", data)) == "message/rfc822"


def test_cut() -> None:
    with pytest.raises(DocumentError, match=r"^truncated:"):
        list(MhtmlHandler().children(MemorySource(b"a.mht", PAGE[:-10]), Limits()))
