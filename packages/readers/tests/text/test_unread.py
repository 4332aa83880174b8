"""readers.text.unread: marks in a text of what was not read."""

from __future__ import annotations

import pytest

from core.records import Limits
from readers.base import MemorySource
from readers.identification.identify import identify
from readers.records import TextState
from readers.registry import handler_for

HEADER = b"From: a@b.c\nTo: d@e.f\nSubject: s\nMessage-ID: <a@b>\n"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"hello\n\nbegin 644 f.txt\n", "corrupt"),
        (b"hello\n\nbegin 644 f.txt\nM####no line of that length\nnope\n`\nend\n", "corrupt"),
        (b"hello\n\nbegin-base64-encoded 644 Zi50eHQ=\nZmlyc3RmaWxlIHdvcmRz\n====\n", "corrupt"),
        (b"hello\n\n  begin 644 f.txt\n  +86)C9&5F9VAI:FL \n  `\n  end\n", "corrupt"),
        (b"x\n=ybegin line=128 size=3\nabc\n=yend size=3\n", "corrupt"),
        (b"x\n(This file must be converted with BinHex 4.0)\n\n", "corrupt"),
        (b"x\n(This file must be converted with BinHex 4.0)\n\n:garbage()\n", "corrupt"),
        (
            b"see\n\nContent-Type: application/pdf\nContent-Transfer-Encoding: base64\n\nJVBERi0xLjQKJeLjz9MK\n",
            "corrupt",
        ),
        (b"x\n-----BEGIN PGP MESSAGE-----\n\nhQEMA\n-----END PGP MESSAGE-----\n", "encrypted"),
        (b"x\n-----BEGIN PKCS7-----\nMIIB\n-----END PKCS7-----\n", "encrypted"),
        (b"we begin 644 days later, and begin 2024 with a file\nbegin again\n", ""),
        (b"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nwords\n", ""),
        (b"x\nContent-Transfer-Encoding: base64 is a header field.\n\nwords follow it\n", ""),
    ],
)
def test_a_mark_of_something_unread_is_an_exception(body: bytes, code: str) -> None:
    for name, data in ((b"m.eml", HEADER + b"\n" + body), (b"m.txt", body)):
        source = MemorySource(name, data)
        handler = handler_for(identify(source))
        error = handler.text(source, Limits()).error
        assert (error.code.value if error else "") == code, name
        assert list(handler.children(source, Limits())) == []


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-16"])
@pytest.mark.parametrize("text", ["half a letter", "größe", "日本語のテキスト" * 9])
def test_half_a_character_at_the_end(text: str, codec: str) -> None:
    whole = MemorySource(b"x.txt", ("\ufeff" if codec != "utf-16" else "").encode(codec) + text.encode(codec))
    for more, shown, code in ((b"x", text + "\ufffd", "truncated"), (b"\n", text, ""), (b"\0", text, "")):
        out = handler_for("text/plain").text(MemorySource(b"x.txt", whole.whole(1 << 20) + more), Limits())
        assert (out.text, out.error.code.value if out.error else "") == (shown, code)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"<a><b>word</b><c>cut", "truncated"),
        (b"<?xml version='1.0'?>\n<a x='cu", "truncated"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><text>word</text>", "truncated"),
        (b"<a><b>word</a>", ""),  # not well-formed, and all there
        (b"<a><b>word</b></a>", ""),
        (b"<!DOCTYPE a [<!ENTITY e 'x'>]><a b='&e;'/>", ""),
    ],
)
def test_xml_that_breaks_off(data: bytes, code: str) -> None:
    out = handler_for("application/xml").text(MemorySource(b"x.xml", data), Limits())
    assert (out.error.code.value if out.error else "") == code
    assert "word" in out.text or b"word" not in data


@pytest.mark.parametrize(
    ("subject", "state"),
    [
        (b"=?x-unknown?Q?caf=E9_word?=", TextState.GUESSED),
        (b"=?x-unknown?B?Z3LDtsOfZQ==?=", None),  # it is UTF-8
        (b"=?x-unknown?Q?plain_word?=", None),
        (b"=?iso-8859-1?Q?caf=E9?=", None),
    ],
)
def test_words_of_headers_in_an_unknown_charset(subject: bytes, state: TextState | None) -> None:
    data = b"From: a@b.c\nTo: d@e.f\nSubject: " + subject + b"\n\nbody\n"
    assert handler_for("message/rfc822").text(MemorySource(b"x.eml", data), Limits()).state == state


@pytest.mark.parametrize(
    ("field", "body", "text"),
    [
        (b"Content-Type: text/plain", b"ZGVjb2RlZHdvcmQgaW4gYSB0ZXh0IG9mIHNvbWUgbGVuZ3Ro\n", "decodedword in a text of some length"),
        (b"Content-Type: text/plain", b"ZGVjb2RlZHdvcmQgaW4gYSB0ZXh0IG9mIGxlbmc=\n" * 2, "decodedword in a text of leng" * 2),
        (b"Content-Type: text/html", b"PGh0bWw+PGJvZHk+PHA+ZGVjb2RlZHdvcmQ8L3A+PC9ib2R5PjwvaHRtbD4=\n", "decodedword"),
        (b"Content-Type: text/plain", b"caf=C3=A9 wordin=\natt and =3D\n", "café wordinatt and =\n"),
        (b"Content-Type: text/plain", b"a=3Db and a=\nb c=ok\n", None),
        (b"Content-Type: text/plain", b"Antidisestablishmentarianism\n", None),
        (b"Content-Type: text/plain", b"Pneumonoultramicroscopicsilicovolcanoconiosis\n", None),
    ],
)  # fmt: skip
def test_an_encoding_that_no_field_declares_is_decoded_and_reported(
    field: bytes, body: bytes, text: str | None
) -> None:
    out = handler_for("message/rfc822").text(MemorySource(b"m.eml", HEADER + field + b"\n\n" + body), Limits())
    assert (out.text, out.error is None) == ((body.decode(), True) if text is None else (text, False))


@pytest.mark.parametrize(
    ("data", "kind", "cut"),
    [
        (b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:w\n", "text/calendar", True),
        (b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:w\nEND:VEVENT\nEND:VCALENDAR\n", "text/calendar", False),
        (b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nBEGIN:VALARM\nEND:VEVENT\nEND:VCALENDAR\n", "text/calendar", False),
        (b"BEGIN:VCARD\nVERSION:3.0\nFN:n\nEND:VCA", "text/vcard", True),
        (b"BEGIN:VCARD\nVERSION:3.0\nFN:n\nend:vcard", "text/vcard", False),
    ],
)
def test_a_calendar_or_contact_that_is_not_closed_is_truncated(data: bytes, kind: str, cut: bool) -> None:
    error = handler_for(kind).text(MemorySource(b"a", data), Limits()).error
    assert (error is not None) == cut
