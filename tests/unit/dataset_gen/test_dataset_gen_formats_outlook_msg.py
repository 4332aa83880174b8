"""Outlook items are read item by item by two independent readers: python-oxmsg, and Debian's msgconvert (Perl)."""

import email
import email.policy
import io
import struct
import subprocess
from email.message import EmailMessage
from pathlib import Path

import olefile
import oxmsg
import pytest
from debian_programs import program
from hypothesis import given, settings
from outlook_forms import SAMPLE, forms

from dataset_gen.formats import mapi_mail
from dataset_gen.formats.mapi_mail import (
    BINARY,
    LONG,
    MANY_STRING,
    STRING,
    TIME,
    Details,
    Message,
    Named,
    crc,
    filetime,
    message_of,
    short,
)
from dataset_gen.formats.msg import write_item
from readers.mail_form import MailForm


def _read(form: MailForm) -> oxmsg.Message:
    return oxmsg.Message.load(io.BytesIO(write_item(message_of(form))))


def _lf(text: str | None) -> str | None:
    return None if text is None else text.replace("\r\n", "\n")


@settings(max_examples=25, deadline=None)
@given(forms())
def test_oxmsg_reads_every_field(form: MailForm) -> None:
    found = _read(form)
    assert found.message_class == "IPM.Note"
    assert found.subject == form.subject
    assert found.sent_date.timestamp() == form.sent
    assert (found.properties.str_prop_value(0x0C1A), found.properties.str_prop_value(0x5D01)) == form.sender
    assert _lf(found.body or "") == (form.plain or "")
    assert _lf(found.html_body or "") == (form.html or "")
    rows = [(r.name, r.email_address, r.properties.int_prop_value(0x0C15)) for r in found.recipients]
    people = [(p, kind) for kind, some in ((1, form.to), (2, form.cc), (3, form.bcc)) for p in some]
    assert rows == [(name, address, kind) for (name, address), kind in people]
    assert found.attachment_count == len(form.attachments)
    for stored, attachment in zip(found.attachments, form.attachments, strict=True):
        if attachment.message is None:
            assert stored.file_name == attachment.name
            assert (stored.file_bytes or b"") == attachment.data
            assert stored.mime_type == attachment.media_type
            assert (stored.properties.str_prop_value(0x3712) or "") == attachment.content_id
        else:
            assert stored.properties.int_prop_value(0x3705) == 5
    identifier, references, parent = (found.properties.str_prop_value(i) for i in (0x1035, 0x1039, 0x1042))
    assert identifier == f"<{form.message_id}>"
    assert (references or "") == " ".join(f"<{r}>" for r in form.references)
    assert (parent or "") == (f"<{form.in_reply_to}>" if form.in_reply_to else "")


def test_the_header_is_that_of_the_message() -> None:
    header = _read(SAMPLE).message_headers
    assert header["Message-ID"] == "<outer@quarry.example>"
    assert header["References"].split() == ["<first@quarry.example>", "<second@quarry.example>"]
    assert header["Date"] == "Sun, 13 Sep 2020 12:26:41 +0000"
    assert "Content-Type" not in header


def _parts(message: EmailMessage) -> list[EmailMessage]:
    """The parts that are neither multipart nor inside an attached message."""
    if message.get_content_maintype() != "multipart":
        return [message]
    return [part for inner in message.iter_parts() if isinstance(inner, EmailMessage) for part in _parts(inner)]


def _compare(found: EmailMessage, form: MailForm) -> None:
    assert found["Subject"] == form.subject
    assert found["Message-Id"] == f"<{form.message_id}>"
    assert found["Date"].datetime.timestamp() == form.sent
    assert (found["References"] or "").split() == [f"<{r}>" for r in form.references]
    for name, people in (("From", (form.sender,)), ("To", form.to), ("Cc", form.cc)):
        shown = found[name].addresses if found[name] else ()
        assert [(a.display_name, a.addr_spec) for a in shown] == list(people)
    texts = [text for text in (form.plain, form.html) if text is not None]
    parts = _parts(found)
    assert [str(p.get_content()).replace("\r\n", "\n").rstrip("\n") for p in parts[: len(texts)]] == [
        text.rstrip("\n") for text in texts
    ]
    for part, attachment in zip(parts[len(texts) :], form.attachments, strict=True):
        if attachment.message is not None:
            assert part.get_content_type() == "message/rfc822"
            _compare(part.get_content(), attachment.message)
        else:
            assert part.get_filename() == attachment.name
            assert part.get_content_type() == attachment.media_type
            assert part.get_payload(decode=True) == attachment.data


def test_msgconvert_reads_every_field_of_messages_in_messages(tmp_path: Path) -> None:
    convert = program("msgconvert", "libemail-outlook-message-perl")
    (tmp_path / "a.msg").write_bytes(write_item(message_of(SAMPLE)))
    done = subprocess.run(
        [convert, "--outfile", "a.eml", "a.msg"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    found = email.message_from_bytes((tmp_path / "a.eml").read_bytes(), policy=email.policy.default)
    assert isinstance(found, EmailMessage)
    _compare(found, SAMPLE)


_NAMES: dict[Named, mapi_mail.Value] = {
    Named(mapi_mail.PS_PUBLIC_STRINGS, "Keywords", MANY_STRING): ("Größe", "b"),
    Named(mapi_mail.PSETID_APPOINTMENT, 0x820D, TIME): filetime(1_600_000_000),
    Named(mapi_mail.PSETID_APPOINTMENT, 0x8208, STRING): "Room 1",
    Named(mapi_mail.PSETID_MEETING, 3, BINARY): b"\1\2\3",
    Named(mapi_mail.PS_INTERNET_HEADERS, "x-mailer", STRING): "Another",
    Named(mapi_mail.PSETID_COMMON, 0x8501, LONG): -15,
}


def test_named_properties_are_found_by_name_and_by_hash() -> None:
    """As [MS-OXMSG] 2.2.3 has readers do it, in both directions."""
    data = write_item(message_of(SAMPLE, Details(named=_NAMES)))
    with olefile.OleFileIO(data) as ole:

        def stream(name: str) -> bytes:
            return bytes(ole.openstream(f"__nameid_version1.0/__substg1.0_{name}0102").read())

        sets, strings = stream("0002"), stream("0004")
        found = []
        for ident, kind, index in struct.iter_unpack("<IHH", stream("0003")):
            where = kind >> 1
            owner = (
                [mapi_mail.PS_MAPI, mapi_mail.PS_PUBLIC_STRINGS][where - 1]
                if where < 3
                else sets[16 * (where - 3) :][:16]
            )
            name: int | str = ident
            if kind & 1:
                (length,) = struct.unpack_from("<I", strings, ident)
                name = strings[ident + 4 : ident + 4 + length].decode("utf-16-le")
                ident = crc(strings[ident + 4 : ident + 4 + length])
            hashed = stream(f"{0x1000 + (ident ^ kind) % 0x1F:04X}")
            assert (ident, kind, index) in struct.iter_unpack("<IHH", hashed)
            found.append((owner, name, index))
        assert {(n.set, n.name) for n in _NAMES} == {(owner, name) for owner, name, _ in found}
        tags = {(n.set, n.name): n.type for n in _NAMES}
        stored = {name: f"__substg1.0_{0x8000 + index << 16 | tags[owner, name]:08X}" for owner, name, index in found}
        assert ole.openstream(stored["x-mailer"]).read().decode("utf-16-le") == "Another"
        assert ole.openstream(stored[3]).read() == b"\1\2\3"
        assert ole.openstream(stored["Keywords"] + "-00000000").read().decode("utf-16-le") == "Größe\0"


def test_the_hash_of_a_name_is_the_one_microsoft_gives() -> None:
    assert crc("x-mailer".encode("utf-16-le")) == 0xFF504E89
    assert 0x1000 + (0xFF504E89 ^ (3 << 1 | 1)) % 0x1F == 0x100F


def test_an_item_states_what_it_is() -> None:
    details = Details(message_class="IPM.Appointment", properties={0x00170003: 2})
    data = write_item(message_of(SAMPLE, details))
    found = oxmsg.Message.load(io.BytesIO(data))
    assert found.message_class == "IPM.Appointment"
    assert found.properties.int_prop_value(0x0017) == 2
    with olefile.OleFileIO(data) as ole:
        assert ole.root.clsid == "00020D0B-0000-0000-C000-000000000046"


def test_what_cannot_be_stored_is_refused() -> None:
    with pytest.raises(ValueError, match="0x0037001f"):
        write_item(Message({0x0037001F: b"bytes"}))
    with pytest.raises(ValueError, match="0x00370005"):
        write_item(Message({0x00370005: 1}))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.txt", "A.TXT"),
        ("longer name.docx", "LONGER~1.DOC"),
        ("日本語.pdf", "FILE~1.PDF"),
        ("README", "README"),
        ("", "FILE~1"),
    ],
)
def test_short_names_fit_into_eight_and_three(name: str, expected: str) -> None:
    assert short(name) == expected
