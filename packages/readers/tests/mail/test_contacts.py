"""readers.mail.contacts: vCards and calendars, folded, quoted-printable, with things inline."""

import base64
import tracemalloc
from pathlib import Path

import pytest
from as_found import read_by, text_of

from core.records import Limits
from readers.base import MemorySource
from readers.identification.identify import identify
from readers.mail.contacts import CalendarHandler, VCardHandler
from readers.records import Kind

text_of_card, children_of_card = read_by(VCardHandler())
IN_UTF8 = {"charset": "utf-8", "charset_source": "utf-8"}


def test_vcards() -> None:
    data = (
        b"BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ann M\xc3\xbcl\r\n ler\r\nitem1.EMAIL;TYPE=work:ann@example.org\r\n"
        b"NOTE:one\\, two\\nthree\r\nEND:VCARD\r\nBEGIN:VCARD\nFN:Bob\nEMAIL:bob@example.org\nEND:VCARD\n"
    )
    out = text_of(data)
    assert "FN:Ann Müller\n" in out.text
    assert "NOTE:one, two\nthree\n" in out.text
    assert out.metadata == {
        "contacts": 2,
        "title": "Ann Müller",
        "names": ["Ann Müller", "Bob"],
        "mail": ["ann@example.org", "bob@example.org"],
        **IN_UTF8,
    }


def test_quoted_printable_of_vcard_2() -> None:
    data = b"BEGIN:VCARD\r\nVERSION:2.1\r\nFN;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:M=FC=\r\nller\r\nTEL:1=\r\nEND:VCARD\r\n"
    text = text_of(data).text
    assert "FN:Müller\n" in text
    assert "TEL:1=\n" in text


def test_calendar() -> None:
    data = (
        b"BEGIN:VCALENDAR\r\nBEGIN:VTIMEZONE\r\nDTSTART:19700101T000000\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT\r\nSUMMARY:Board\\; all\r\n"
        b"DTSTART;TZID=Europe/Berlin:20201123T190000\r\nDTEND:20201123T210000Z\r\nLOCATION:Room 5\r\n"
        b'ORGANIZER;CN="Ann: A":mailto:ann@example.org\r\nATTENDEE;CN=b@example.org:MAILTO:b@example.org\r\nstray line\r\n'
        b"END:VEVENT\r\nBEGIN:VEVENT\r\nSUMMARY:Other\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    )
    out = text_of(data)
    assert out.metadata == {
        "events": 2,
        "subject": "Board; all",
        "location": "Room 5",
        "start": "2020-11-23T19:00:00[Europe/Berlin]",
        "end": "2020-11-23T21:00:00+00:00",
        "from": "Ann: A <ann@example.org>",
        "to": "b@example.org",
        **IN_UTF8,
    }
    assert "stray line\n" in out.text
    assert "Ann: A" in out.text


def test_inline_files_arechildren_of_card() -> None:
    coded = base64.b64encode(b"\xff\xd8 picture").decode()
    card = f"BEGIN:VCARD\nPHOTO;ENCODING=b;TYPE=JPEG:{coded[:8]}\n {coded[8:]}\nLOGO:data:image/png;base64,{coded}\nPHOTO;VALUE=uri:http://x\nEND:VCARD\n"
    event = f'BEGIN:VCALENDAR\nATTACH;VALUE=BINARY;ENCODING=BASE64;X-FILENAME="a;b.jpg":{coded}\nEND:VCALENDAR\n'
    cards = list(VCardHandler().children(MemorySource(b"", card.encode()), Limits()))
    events = list(CalendarHandler().children(MemorySource(b"", event.encode()), Limits()))
    assert [(c.name, c.ordinal, c.data) for c in cards] == [
        (b"photo-0", 0, b"\xff\xd8 picture"),
        (b"logo-1", 1, b"\xff\xd8 picture"),
    ]
    assert [(c.name, c.data, c.kind) for c in events] == [(b"a;b.jpg", b"\xff\xd8 picture", Kind.EMBEDDED_OBJECT)]
    assert coded not in text_of(card.encode()).text
    assert "http://x" in text_of(card.encode()).text


def test_real_files(real_files: Path) -> None:
    files = real_files / "ingest-file"
    assert text_of((files / "john-doe.vcf").read_bytes()).metadata["names"] == ["John Doe"]
    assert "Max Müüüüüller" in text_of((files / "multiline_quoted_printable.vcf").read_bytes()).text
    meeting = text_of((files / "meetup.ics").read_bytes())
    assert meeting.metadata["start"] == "2020-11-23T19:00:00[Europe/Berlin]"
    assert "From idea to 6000 users in a week" in meeting.text


def test_a_property_with_parameters_without_end_needs_little_memory() -> None:
    data = (
        b"BEGIN:VCARD\nFN;CN=Ann"
        + b"".join(b";P%d=v" % n for n in range(200_000))
        + b";CN=Eve:Bob\nX"
        + b';A="b"' * 200_000
    )
    tracemalloc.start()
    try:
        out = text_of(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert out.metadata["names"] == ["Bob"]
    assert "FN:Ann Bob\n" in out.text
    assert peak < 10 * len(data)


def test_an_inline_file_is_found_however_its_name_is_written() -> None:
    for data in (
        b"BEGIN:VCARD\nPHO\n TO;ENCODING=b:AAAA\n",
        b"BEGIN:VCARD\nphoto;encoding=b:AAAA\n",
        "\ufeffBEGIN:VCARD\nPHOTO;ENCODING=b:AAAA\n".encode("utf-16-le"),
    ):
        (child,) = VCardHandler().children(MemorySource(b"", data), Limits())
        assert child.data == bytes(3)


def test_metadata_are_of_the_first_event() -> None:
    data = b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:\nSUMMARY:One\nEND:VEVENT\nBEGIN:VTODO\nORGANIZER:mailto:b@c.d\nLOCATION:L\n"
    assert text_of(data).metadata == {"events": 2, "subject": "One", **IN_UTF8}


def test_addresses_in_parameters_are_text() -> None:
    data = (
        b'BEGIN:VCALENDAR\nBEGIN:VEVENT\nATTENDEE;CN="Jane Roe";EMAIL="jane@corp.example":/aMTIz/principal/\n'
        b'ATTENDEE;CN=Boss;DELEGATED-TO="mailto:one@corp.example","mailto:two@corp.example";SENT-BY="mailto:desk@corp.example"'
        b":mailto:boss@corp.example\nORGANIZER;EMAIL=boss@corp.example:mailto:boss@corp.example\n"
        b"X-PLACE;X-TITLE=\"The ^'Wheel^', Ghent\";TYPE=x:geo:1\nEND:VEVENT\n"
    )
    lines = text_of(data).text.splitlines()
    assert lines[2:] == [
        "ATTENDEE:Jane Roe /aMTIz/principal/ jane@corp.example",
        "ATTENDEE:Boss mailto:boss@corp.example desk@corp.example one@corp.example,two@corp.example",
        "ORGANIZER:mailto:boss@corp.example",
        'X-PLACE:geo:1 The "Wheel", Ghent',
        "END:VEVENT",
    ]
    assert text_of(data).metadata["to"] == "Jane Roe <jane@corp.example>, Boss <boss@corp.example>"


def test_the_printed_address_of_vcard_4() -> None:
    card = b'BEGIN:VCARD\nVERSION:4.0\nADR;LABEL="Kaiserstrasse 7^n60311 Frankfurt\\, M":;;Kaiserstr;;;;\nEND:VCARD\n'
    assert "ADR:;;Kaiserstr;;;; Kaiserstrasse 7\n60311 Frankfurt, M\n" in text_of(card).text


@pytest.mark.parametrize(
    ("version", "wanted"), [("2.1", "folded at white space"), ("3.0", "folded at whitespace"), ("4.0", "folded at whitespace")]
)  # fmt: skip
def test_version_2_folds_at_white_space_and_keeps_it(version: str, wanted: str) -> None:
    card = f"BEGIN:VCARD\r\nVERSION:{version}\r\nNOTE:folded at white\r\n space\r\nEND:VCARD\r\n"
    assert f"NOTE:{wanted}\n" in text_of(card.encode()).text
    mixed = card + card.replace(version, "3.0")
    assert text_of(mixed.encode()).text.count("at whitespace\n") == 2


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-be", "utf-32-le"])
def test_lines_are_unfolded_in_every_charset(codec: str) -> None:
    card = "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Jane\r\nNOTE:fol\r\n ded in the middle of a word\r\nEND:VCARD\r\n"
    out = text_of(card.encode(codec))
    assert "NOTE:folded in the middle of a word\n" in out.text
    assert out.metadata["charset"].startswith(codec[:6])


@pytest.mark.parametrize(
    "lines",
    [
        b"PHOTO;ENCODING=BASE64;JPEG:/9j/4HBo\nb3Rv\n\n",
        b"PHOTO;ENCODING=BASE64;JPEG:\n /9j/4HBo\n b3Rv\n\n",
        b"PHOTO;ENCODING=b,b;TYPE=JPEG,jpeg;X-A=1&0&\n &2&e:/9j/4HBob3Rv\n",
        b"PHOTO;ENCODING=b;TYPE=jpeg:/9j/4HBo\r b3Rv\r",
    ],
)
def test_base64_continues_in_the_next_line(lines: bytes) -> None:
    data = b"BEGIN:VCARD\nVERSION:2.1\n" + lines + b"TEL:123\nEND:VCARD\n"
    data = data.replace(b"\n", b"\r") if b"\r" in lines else data
    (child,) = children_of_card(data)
    assert (child.data, child.error) == (b"\xff\xd8\xff\xe0photo", None)
    assert "TEL:123" in text_of_card(data).text


def test_damaged_base64_is_reported() -> None:
    (child,) = children_of_card(b"BEGIN:VCARD\nVERSION:3.0\nPHOTO;ENCODING=b:/9j/4A?!\nEND:VCARD\n")
    assert child.error is not None
    assert child.data


def test_quoted_printable_that_is_folded() -> None:
    head = b"BEGIN:VCARD\r\nVERSION:2.1\r\nFN;ENCODING=QUOTED-PRINTABLE;CHARSET=UTF-8:"
    for value in (b"=D0=A2=D0\r\n =B0", b"=D0=A2=D0=\r\n =B0", b"=D0=A2=D0= \r\n=B0"):
        assert "FN:\u0422\u0430\n" in text_of_card(head + value + b"\r\nEND:VCARD\r\n").text
    assert "FN:one two\n" in text_of_card(head + b"one=20=\r\ntwo\r\nEND:VCARD\r\n").text


def test_every_line_may_be_folded() -> None:
    data = b"BEGI\r\n N:VC\r\n ARD\r\nVERSION:3.0\r\nFN:A\r\n nn\r\nEND:VCARD\r\n"
    assert identify(MemorySource(b"x", data)) == "text/vcard"
    assert "FN:Ann\n" in text_of_card(data).text
