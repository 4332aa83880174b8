"""readers.mail.header_lines: a header with lines in it that are no fields, and messages of the Macintosh."""

from __future__ import annotations

import base64

import pytest
from effort import takes_at_most

from core.records import Limits
from readers.base import Child, MemorySource, Text
from readers.errors import ExceptionCode
from readers.mail.eml import EmlHandler
from readers.mail.headers import parse_fields

HANDLER = EmlHandler()
BODY = (
    b"--BB\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n%b\n"
    b"--BB\nContent-Type: application/octet-stream; name=z.txt\nContent-Transfer-Encoding: base64\n\n%b\n--BB--\n"
) % (base64.b64encode(b"Kartoffel Vertrag"), base64.b64encode(b"Zebra words"))
MULTIPART = b'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="BB"\n'


def _read(data: bytes) -> tuple[Text, list[Child]]:
    source = MemorySource(b"m.eml", data)
    return HANDLER.text(source, Limits()), list(HANDLER.children(source, Limits()))


@pytest.mark.parametrize(
    ("head", "subject"),
    [
        (b"Subject: Offer\nX-Virus Scanned: by gateway\n" + MULTIPART, "Offer"),
        (b"Subject: Offer of a mailer\nwrapped without a blank\n" + MULTIPART, "Offer of a mailer wrapped without a blank"),
        (b">From owner@list Tue Jan  2 10:00:00 2024\nSubject: Offer\n" + MULTIPART, "Offer"),
        (b"Subject: Offer\n>From owner@list Tue Jan  2 10:00:00 2024\n" + MULTIPART, "Offer"),
        (MULTIPART + b"Subject: Offer\n>From owner@list Tue Jan  2 10:00:00 2024\nX-Last: 1\n", "Offer"),
        (b"Subject: Offer\nodd\nTo: d@e.f\nodd\nodd\n" + MULTIPART, "Offer odd"),
        (b'Subject: Offer\nMIME-Version: 1.0\nContent-Type: multipart/mixed;\nboundary="BB"\nMessage-ID: <1@x>\n', "Offer"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_the_header_goes_on_behind_a_line_that_is_no_field(head: bytes, subject: str, newline: bytes) -> None:
    text, children = _read((b"From: a@b.c\n" + head + b"\n" + BODY).replace(b"\n", newline))
    assert text.text.split() == ["Kartoffel", "Vertrag"]
    assert [(child.name, child.data) for child in children] == [(b"z.txt", b"Zebra words")]
    assert (text.metadata["subject"], text.metadata["from"], text.error) == (subject, "a@b.c", None)


def test_a_from_line_of_a_list_in_front_of_all() -> None:
    text, children = _read(
        b"From a@b.c Tue Jan  2 10:00:00 2024\n>From x@y Tue Jan  2\nFrom: a@b.c\n" + MULTIPART + b"\n" + BODY
    )
    assert (text.metadata["from"], len(children)) == ("a@b.c", 1)


def test_odd_lines_behind_the_last_field_of_a_body_in_base64() -> None:
    """Nothing else tells that they are not the body, which they would put out of step."""
    encoded = base64.b64encode(b"Kartoffel Vertrag")
    text, _ = _read(b"From: a@b.c\nContent-Transfer-Encoding: base64\nX-Virus Scanned: yes\nX-Other: no\n\n" + encoded)
    assert (text.text, text.error) == ("Kartoffel Vertrag", None)


@pytest.mark.parametrize(
    "body",
    [
        b"Dear John,\nthank you.\nRegards: Mary\n\nP.S.\n",
        b"Please note:\nFrom: x@y.z\nTo: a@b.c\nSubject: quoted\n\nQuoted text\n",
        b"Dear Sir: this is it\n\nContent-Type: text/plain is what I meant\n",
    ],
)
def test_without_a_blank_line_the_first_line_of_prose_is_text(body: bytes) -> None:
    text, children = _read(b"From: a@b.c\nSubject: s\n" + body)
    assert (text.text, children, text.error) == (body.decode(), [], None)


@pytest.mark.parametrize(
    "head",
    [
        b"Subject: Offer\n" + b"odd\n" * 60 + MULTIPART,
        b"Subject: Offer\n\n" + MULTIPART,
        b"Subject: Offer\n\nContent-Transfer-Encoding: base64\n",
    ],
)
def test_fields_that_stand_in_the_text_are_told(head: bytes) -> None:
    text, children = _read(b"From: a@b.c\n" + head + b"\n" + BODY)
    assert not children
    assert text.error is not None
    assert text.error.code is ExceptionCode.CORRUPT
    assert text.error.detail == "a body of the message is damaged: it contains fields of its header"


def test_a_message_with_carriage_returns_alone() -> None:
    data = b"From: a@b.c\nSubject: Offer\n" + MULTIPART + b"\n" + b"preamble\n" * 500 + BODY
    plain, mac = _read(data), _read(data.replace(b"\n", b"\r"))
    assert mac[0].text.split() == ["Kartoffel", "Vertrag"]
    assert mac[0].metadata == plain[0].metadata
    assert [(child.name, child.data) for child in mac[1]] == [(b"z.txt", b"Zebra words")]
    hashes = [HANDLER.message_hashes(MemorySource(b"m", raw), Limits()) for raw in (data, data.replace(b"\n", b"\r"))]
    assert hashes[0] == hashes[1]


def test_a_header_of_odd_lines_is_bounded() -> None:
    odd = b"From: a@b.c\nContent-Transfer-Encoding: base64\n" + b"X Y: odd one\nA: b\n" * 100_000
    takes_at_most(0.1, lambda: parse_fields(odd + b"Content-Type: a/b\n\n", 0, len(odd)))
    fields, _ = parse_fields(odd, 0, len(odd))
    assert fields.odd_end
