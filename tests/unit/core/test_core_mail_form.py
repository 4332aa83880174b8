"""readers.mail_form: what is written is the same everywhere and reads back as it was given."""

from __future__ import annotations

import email
import hashlib
from email.message import EmailMessage
from email.policy import default as modern

from hypothesis import given
from hypothesis import strategies as st

from core.names import unsafe_name
from core.records import Limits
from readers.base import MemorySource
from readers.mail.eml import EmlHandler
from readers.mail.headers import decode_text
from readers.mail.parts import Message
from readers.mail_form import (
    MailAttachment,
    MailForm,
    base64_lines,
    clean_text,
    message_name,
    store_name,
    write_message,
)

HANDLER = EmlHandler()


def full() -> MailForm:
    inner = MailForm(message_id="in@x.example", subject="Re: 1/2", plain="inner\n")
    return MailForm(
        message_id="one@x.example",
        sent=1_700_000_000,
        sender=("Grün, Öl", "gruen@x.example"),
        to=(('The "Boss"', "boss@x.example"), ("", "b@x.example")),
        cc=(("No Address", ""),),
        bcc=(("c@x.example", "c@x.example"),),
        subject="Prüfung: " + "ein langer Betreff " * 6,
        in_reply_to="zero@x.example",
        references=("minus@x.example", "zero@x.example"),
        plain="Guten Tag\nÄ\n",
        html="<p>Guten <b>Tag</b>",
        attachments=(
            MailAttachment(name='a "b"; c=d.pdf', data=b"%PDF-1.4 \0\xff" * 99, media_type="application/pdf"),
            MailAttachment(name="", message=inner),
            MailAttachment(name="größe.png", data=b"\x89PNG", media_type="image/png", content_id="p1@x"),
            MailAttachment(name="note.txt", data=b"--text", media_type="text/plain; charset=x"),
            MailAttachment(name="", data=b""),
        ),
    )


def test_the_bytes_never_change() -> None:
    digest = hashlib.sha256(write_message(full())).hexdigest()
    assert digest == "2e8c5734b2ecafd13ec5874440658326b2061db0777a04e6a32488320b757d74"


def test_children_and_text_as_given() -> None:
    data = write_message(full())
    source = MemorySource(b"m", data)
    assert HANDLER.text(source, Limits()).text == "Guten Tag\nÄ\n"
    found = list(HANDLER.children(source, Limits()))
    assert [child.name.decode() for child in found] == [
        'a "b"; c=d.pdf', "Re: 1_2.eml", "größe.png", "note.txt", "part-4",
    ]  # fmt: skip
    assert [child.media_type for child in found] == [
        "application/pdf", "message/rfc822", "image/png", "text/plain", "application/octet-stream",
    ]  # fmt: skip
    inner = full().attachments[1].message
    assert inner is not None
    assert [child.data for child in found] == [
        b"%PDF-1.4 \0\xff" * 99, write_message(inner), b"\x89PNG", b"--text", b"",
    ]  # fmt: skip
    assert b"Content-ID: <p1@x>" in data


def test_another_parser_reads_the_same() -> None:
    message = email.message_from_bytes(write_message(full()), policy=modern)
    assert isinstance(message, EmailMessage)
    assert message["subject"].strip() == full().subject.strip()
    assert [a.display_name for a in message["from"].addresses] == ["Grün, Öl"]
    assert [(a.display_name, a.addr_spec) for a in message["to"].addresses] == list(full().to)
    assert message["date"].datetime.timestamp() == full().sent
    assert [part.get_content_type() for part in message.walk()] == [
        "multipart/mixed", "multipart/alternative", "text/plain", "text/html", "application/pdf", "message/rfc822",
        "text/plain", "image/png", "text/plain", "application/octet-stream",
    ]  # fmt: skip
    assert all(not part.defects for part in message.walk())
    assert max(map(len, write_message(full()).split(b"\n"))) <= 120


def test_html_alone_is_the_text() -> None:
    html = HANDLER.text(MemorySource(b"m", write_message(MailForm(html="<p>only <i>this</i>"))), Limits())
    assert html.text.split() == ["only", "this"]
    bare = write_message(MailForm())
    assert HANDLER.text(MemorySource(b"m", bare), Limits()).text == ""
    assert b"Date:" not in bare
    files = write_message(MailForm(attachments=(MailAttachment(name="a", data=b"x"),)))
    assert [child.name for child in HANDLER.children(MemorySource(b"m", files), Limits())] == [b"a"]


def test_a_message_inside_a_message_inside() -> None:
    """Boundaries of a message are never those of a message inside it, even when nothing else tells them apart."""
    form = MailForm(attachments=(MailAttachment(name="a", data=b"x"),))
    for _ in range(6):
        form = MailForm(attachments=(MailAttachment(name="", message=form),))
    for _ in range(6):
        (child,) = HANDLER.children(MemorySource(b"m", write_message(form)), Limits())
        assert form.attachments[0].message is not None
        form = form.attachments[0].message
        assert child.data == write_message(form)


_TEXT = (
    st.text(max_size=60) | st.text('aä?=\r\n"\\<>,;: \t/', max_size=60) | st.just("wide " * 400) | st.just("w" * 3000)
)


@given(subject=_TEXT, name=_TEXT, file=_TEXT, plain=_TEXT, ident=_TEXT, when=st.integers(-(10**14), 10**14))
def test_no_field_breaks_another(subject: str, name: str, file: str, plain: str, ident: str, when: int) -> None:
    """Whatever the fields hold, each comes back as it was but for white space, and none makes a field or part."""
    form = MailForm(
        message_id=ident,
        sent=when,
        sender=(name, "a@b.example"),
        to=((name, "c@d.example"),),
        subject=subject,
        plain=plain,
        attachments=(MailAttachment(name=file, data=plain.encode(), media_type=file),),
    )
    data = write_message(form)
    root = Message(data).root
    assert decode_text(root.fields.raw(b"subject")).strip() == subject.strip()
    assert root.fields.raw(b"bcc") == b""
    assert "a@b.example" in root.fields.text(b"from")
    assert "c@d.example" in root.fields.text(b"to")
    assert root.media_type == "multipart/mixed"
    (child,) = HANDLER.children(MemorySource(b"m", data), Limits())
    assert child.data == plain.encode()
    assert max(map(len, data.split(b"\n"))) <= 998 or len(file) > 250 or len(ident) > 900


@given(st.lists(_TEXT, max_size=3), _TEXT)
def test_names_in_a_store_are_safe(folders: list[str], subject: str) -> None:
    """A name that we make is no exception, and has as many parts as there are folders and a message."""
    name = store_name(folders, subject)
    assert unsafe_name(name) is None
    assert name.count(b"/") == len(folders)
    assert all(name.split(b"/"))
    assert unsafe_name(message_name(subject).encode()) is None


def test_names_in_a_store() -> None:
    assert store_name(("Inbox", "Project X"), "Subject") == b"Inbox/Project X/Subject"
    assert store_name(("A/B",), "") == b"A_B/message"
    assert store_name((), "R: lunch") == b"R_ lunch"
    assert message_name("") == "message.eml"


def test_clean_text() -> None:
    assert clean_text("a\r\nb\rc\n\0\0") == "a\nb\nc\n"


def test_base64_lines() -> None:
    assert base64_lines(b"x" * 58) == b"eHh4" * 19 + b"\neA==\n"
    assert base64_lines(b"") == b""
