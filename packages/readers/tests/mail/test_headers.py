"""readers.mail.headers: the quick ways to a field, a date and the addresses say what the plain ways say."""

import base64
import re
from datetime import UTC, datetime
from email.utils import mktime_tz, parsedate_tz

import pytest
from as_found import read_by
from effort import takes_at_most
from hypothesis import given
from hypothesis import strategies as st

from core.records import Limits
from readers.base import Child, MemorySource, Text
from readers.errors import ExceptionCode
from readers.mail.eml import EmlHandler
from readers.mail.headers import (
    addresses,
    decode_words,
    field_date,
    header_metadata,
    media_type,
    noted_date,
    parse_fields,
    unfolded,
)

_LINES = st.lists(
    st.sampled_from(
        (
            *(b"Subject: one", b"TO:two ", b"to :", b" folded ", b"\tfolded\r", b"X-Y: \r", b"Cc:\xff\xa0", b""),
            *(b"\r", b"prose"),
        )
    )
    | st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"")),
    max_size=12,
)


def _line_by_line(data: bytes) -> tuple[dict[bytes, list[bytes]], int]:
    """A header read one line after the other: its fields, and where it ends."""
    found: dict[bytes, list[bytes]] = {}
    at, name = 0, b""
    for line in data.splitlines(keepends=True) if b"\r" not in data else re.findall(rb"[^\n]*\n|[^\n]+", data):
        field = re.match(rb"([!-9;-~]+)[ \t]*:", line)
        if line[:1] in (b" ", b"\t"):
            if name:
                found[name][-1] += line
        elif field:
            name = field[1].lower()
            found.setdefault(name, []).append(line[field.end() :])
        else:
            break
        at += len(line)
    blank = re.compile(rb"\r*(?:\n|\Z)").match(data, at)
    return found, blank.end() if blank else at


@given(_LINES)
def test_a_header_is_read_at_once_as_it_is_line_by_line(lines: list[bytes]) -> None:
    data = b"\n".join(lines)
    wanted, body = _line_by_line(data)
    fields, start = parse_fields(data, 0, len(data))
    assert len(fields) == len(wanted)
    for name, values in wanted.items():
        assert fields.raw(name) == re.sub(rb"\r*\n", b"", values[0].removesuffix(b"\n")).strip()
        assert fields.text(name).count(", ") >= len(values) - 1
    assert start == body or (not wanted and start <= body)


def test_any_number_of_fields() -> None:
    """More than are looked for at once."""
    data = b"".join(b"X-%d: %d\n and\n" % (n, n) for n in range(350)) + b"\nbody"
    fields, start = parse_fields(data, 0, len(data))
    assert len(fields) == 350
    assert fields.raw(b"x-349") == b"349 and"
    assert data[start:] == b"body"


@pytest.mark.parametrize("stored", [b" a\r\n b", b"a\n\tb ", b"a\r\r\n b"])
def test_folded_values_are_on_one_line(stored: bytes) -> None:
    assert unfolded(stored).split() == [b"a", b"b"]
    assert b"\n" not in unfolded(stored)
    assert b"\r" not in unfolded(stored)


_DATES = st.tuples(
    st.sampled_from(("", "Mon, ", "Xyz,  ", "mon, ")),
    st.sampled_from(("1", "01", "29", "30", "31", "0", "32")),
    st.sampled_from(("Jan", "Feb", "Jun", "Dec", "jan", "Okt", "And")),
    st.sampled_from(("1900", "1970", "1999", "2000", "2023", "2024", "99", "9999")),
    st.sampled_from(("00:00:00", "23:59:59", "7:05", "12:30", "24:00:00", "12:60:00", "12:00:60")),
    st.sampled_from(("+0000", "-0500", "+0530", "+1400", "-1200", "GMT", "EST", "")),
    st.sampled_from(("", " (CET)")),
)


@given(_DATES)
def test_a_usual_date_is_what_the_standard_library_reads(parts: tuple[str, ...]) -> None:
    """Of times that exist; leap seconds among them."""
    named, day, month, year, time, zone, comment = parts
    value = f"{named}{day} {month} {year} {time} {zone}{comment}"
    exists = (
        0 < int(day) < 32 and month.lower() in "jan feb jun dec" and (month.lower() != "feb" or int(day) < 29)
    ) and ((month.lower() != "jun" or int(day) < 31) and time not in ("24:00:00", "12:60:00"))
    parsed = parsedate_tz(value) if exists else None
    wanted = ""
    if parsed is not None:
        when = datetime.fromtimestamp(mktime_tz((*parsed[:9], parsed[9] or 0)), UTC)
        wanted = when.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert field_date(f" {value}\r\n".encode()) == wanted


@given(
    st.lists(
        st.sampled_from(
            ("a@b.c", "<A.B@c.d>", '"N, M" <n@m>', "<@x>", "x@", "a@b@c", "<a@b> <c", "plain", "=@=", ",", " ")
        ),
        max_size=6,
    ),
    st.integers(1, 300),
)
def test_addresses_in_brackets_are_found_as_any_are(pieces: list[str], more: int) -> None:
    value = " ".join(pieces) + "l" * more + "@end.example"
    signs = r"[^\s<>,;:\"'()\[\]@]"
    wanted = sorted({found.lower() for found in re.findall(f"{signs}{{1,128}}@{signs}{{1,255}}", value)})
    assert list(addresses(value)) == wanted


def test_an_encoded_character_may_be_split_over_many_words() -> None:
    """A word may end inside a character; empty ones change nothing."""
    words = ["=?utf-8?Q?=C3?=", "=?utf-8?Q?=A4?=", "=?utf-8?Q??=", "=?utf-8?B?w6Q=?="]
    assert decode_words("\n ".join(words)) == "ää"
    assert decode_words(" ".join(words * 2_000)) == "ää" * 2_000


def test_an_encoded_word_at_a_lines_beginning_continues_its_field() -> None:
    """Some programs forget the blank: what follows would be text, and the attachments with it."""
    data = b"Subject: =?utf-8?Q?one?=\n=?utf-8?Q?two?=\nContent-Type: multipart/*; boundary=B\n\nbody"
    fields, start = parse_fields(data, 0, len(data))
    assert (fields.text(b"subject"), data[start:]) == ("onetwo", b"body")
    assert media_type(fields.text(b"content-type"), "text/plain") == "multipart/*"


@pytest.mark.parametrize(
    ("written", "noted"),
    [
        ("Tue, 2 Jan 2024 10:00:00", "2024-01-02T10:00:00"),
        ("2 Jan 2024 10:00", "2024-01-02T10:00:00"),
        ("2 Jan 2024 10.00.00", "2024-01-02T10:00:00"),
        ("Tue Jan  2 10:00:00 2024", "2024-01-02T10:00:00"),
        ("Tue, 2 Jan 2024 10:00:00 (local)", "2024-01-02T10:00:00"),
        ("Tue, 2 Jan 2024 10:00:00 +0000", "2024-01-02T10:00:00Z"),
        ("Tue, 2 Jan 2024 10:00:00 -0000", "2024-01-02T10:00:00Z"),
        ("Tue, 2 Jan 2024 10:00:00+0200", "2024-01-02T08:00:00Z"),
        ("Tue, 2 Jan 2024 10:00:00 EST", "2024-01-02T15:00:00Z"),
        ("Tue, 2 Jan 2024 10:00:00 GMT", "2024-01-02T10:00:00Z"),
        ("Tue, 2 Jan 2024 10:00:00 XYZ", "2024-01-02T10:00:00Z"),
        ("Tue, 2 Jan 2024 10:00:00 +0100 (CET)", "2024-01-02T09:00:00Z"),
        ("soon", ""),
    ],
)
def test_a_date_is_in_utc_only_where_it_notes_a_zone(written: str, noted: str) -> None:
    assert noted_date(f" {written}\r\n".encode()) == noted
    assert field_date(f" {written}\r\n".encode()).removesuffix("Z") == noted.removesuffix("Z")


def test_fields_that_most_messages_lack_are_metadata() -> None:
    data = (
        b"From: John <j@x.org>\nTo: m@x.org\nReply-To: hidden@replyto.example\nSender: John <j@x.org>\nKeywords: Kickback,\n Slushfund\n"
        b"Comments: Not for =?utf-8?Q?Pr=C3=BCfer?=\nOrganization: Rosebud GmbH\nResent-To: third@resent.example\n"
        b"Resent-Cc: fourth@resent.example\nDelivered-To: m@x.org\nX-Original-To: boss@orig.example\n\n"
    )
    assert dict(header_metadata(parse_fields(data, 0, len(data))[0])) == {
        "from": "John <j@x.org>",
        "to": "m@x.org",
        "reply_to": "hidden@replyto.example",
        "resent_to": "third@resent.example, fourth@resent.example",
        "delivered_to": "m@x.org, boss@orig.example",
        "keywords": "Kickback, Slushfund",
        "description": "Not for Prüfer",
        "company": "Rosebud GmbH",
    }


HANDLER = EmlHandler()
text_of, children_of = read_by(HANDLER)
BODY = (
    b"--BB\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n%b\n"
    b"--BB\nContent-Type: application/octet-stream; name=z.txt\nContent-Transfer-Encoding: base64\n\n%b\n--BB--\n"
) % (base64.b64encode(b"Kartoffel Vertrag"), base64.b64encode(b"Zebra words"))
MULTIPART = b'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="BB"\n'


def _read(data: bytes) -> tuple[Text, list[Child]]:
    return text_of(data), children_of(data)


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
def test_fields_that_stand_in_the_text_are_reported(head: bytes) -> None:
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


def _text_of(data: str) -> str:
    """Text and metadata."""
    text = text_of(data.encode())
    return f"{text.text}\n{text.metadata}"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("We met on Monday.\nReceived: 5 boxes\n\nBob\n", ("We met on Monday.", "5 boxes", "Bob")),
        ("Dear Jane,\nas agreed\nReferences: Contract 7\nAll other terms stay.\n\nBob\n", ("Dear Jane,", "as agreed", "Contract 7")),
        ("From our side all is done\nNote: closed\n\nrest\n", ("From our side all is done", "closed", "rest")),
        ("Bob wrote this line\nMessage-ID: <1@x>\n\nrest\n", ("Bob wrote this line", "rest")),
    ],
)  # fmt: skip
def test_no_word_of_a_letter_is_lost(body: str, words: tuple[str, ...]) -> None:
    shown = _text_of(f"From: a@b.c\nTo: c@d.e\nSubject: Lease\nDate: Mon, 3 May 1999 10:00:00 +0000\n{body}")
    assert [word for word in words if word not in shown] == []
    assert "1999-05-03T10:00:00Z" in shown


def test_fields_of_mail_systems_behind_an_odd_line_are_fields_still() -> None:
    shown = _text_of(
        "From: a@b.c\nX-Virus Scanned: by gateway\nReceived: from x by y\nReferences:\n <1@x>\nMIME-Version: 1.0\n"
        "Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\nR2VoZWltbmlz\n"
    )
    assert "Geheimnis" in shown
    assert "MIME-Version" not in shown.splitlines()[0]
