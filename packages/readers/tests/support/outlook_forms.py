"""Mails to be written as Outlook does, as Hypothesis strategies, mail stores of them, and the programs that read them back."""

import io
from typing import Any

from hypothesis import strategies as st

from dataset_gen.formats.mapi_mail import NOTE, Details
from dataset_gen.formats.pst.writer import PstWriter
from readers.mail_form import Address, MailAttachment, MailForm

# What XML 1.0 allows, and a few letters beyond the BMP; lone surrogates cannot be stored.
_LETTERS = st.characters(exclude_categories=["Cs", "Cc", "Cn"])
_LINE = st.text(_LETTERS, max_size=60)
_TEXT = st.builds("\n".join, st.lists(_LINE, max_size=8))
_WORD = st.text(st.characters(categories=["Lu", "Ll", "Nd"]), min_size=1, max_size=20)
_ID = st.from_regex(r"[a-z0-9]{1,12}@[a-z]{1,8}\.example", fullmatch=True)
_PEOPLE = st.lists(st.tuples(_WORD, _ID), max_size=4).map(tuple)
_TYPES = st.sampled_from(["application/octet-stream", "application/pdf", "image/png"])


def addresses() -> st.SearchStrategy[Address]:
    """A name and an address."""
    return st.tuples(_WORD, _ID)


def _files() -> st.SearchStrategy[MailAttachment]:
    name = st.builds("{}.{}".format, _WORD, st.sampled_from(["pdf", "docx", "x", "jpeg"]))
    data = st.one_of(st.binary(max_size=200), st.builds(bytes, st.sampled_from([0, 4095, 4096, 9000])))
    return st.builds(MailAttachment, name=name, data=data, media_type=_TYPES, content_id=st.one_of(st.just(""), _ID))


def forms(depth: int = 1) -> st.SearchStrategy[MailForm]:
    """Mails with files and, so many levels deep, with mails in them."""
    attached = _files()
    if depth:
        attached = st.one_of(attached, st.builds(MailAttachment, name=st.just(""), message=forms(depth - 1)))
    return st.builds(
        MailForm,
        message_id=_ID,
        sent=st.integers(0, 2_000_000_000),
        sender=addresses(),
        to=_PEOPLE,
        cc=_PEOPLE,
        bcc=_PEOPLE,
        subject=_LINE,
        in_reply_to=st.one_of(st.just(""), _ID),
        references=st.lists(_ID, max_size=3).map(tuple),
        plain=st.one_of(st.none(), _TEXT),
        html=st.one_of(st.none(), st.builds("<html><body>{}</body></html>\n".format, _TEXT)),
        attachments=st.lists(attached, max_size=3).map(tuple),
    )


SAMPLE = MailForm(
    message_id="outer@quarry.example",
    sent=1_600_000_001,
    sender=("Ånna Müller", "anna@northgate.example"),
    to=(("Bob Lee", "bob@quarry.example"), ("Ωmega", "omega@quarry.example")),
    cc=(("Carla", "carla@mail.example"),),
    subject="Re: Übersicht 日本 – final",
    in_reply_to="second@quarry.example",
    references=("first@quarry.example", "second@quarry.example"),
    plain="Dear Bob,\n\nsee the files. Größe 😀\n",
    html='<html><body><p>see the files. Größe 😀</p><img src="cid:pic@x"></body></html>\n',
    attachments=(
        MailAttachment(name="image001.png", data=b"\x89PNG\r\n\x1a\n" + bytes(50), media_type="image/png", content_id="pic@x"),
        MailAttachment(name="Отчёт für 2021.pdf", data=b"%PDF-1.4\n" + bytes(range(256)) * 40, media_type="application/pdf"),
        MailAttachment(
            name="",
            message=MailForm(
                message_id="inner@quarry.example",
                sent=1_500_000_000,
                sender=("Bob Lee", "bob@quarry.example"),
                to=(("Ånna Müller", "anna@northgate.example"),),
                subject="The inner one",
                plain="inner text\n",
                attachments=(
                    MailAttachment(name="notes.txt", data=b"some notes\n", media_type="text/plain"),
                    MailAttachment(
                        name="",
                        message=MailForm(
                            message_id="innermost@quarry.example",
                            sent=1_400_000_000,
                            sender=("Carla", "carla@mail.example"),
                            to=(("Bob Lee", "bob@quarry.example"),),
                            subject="The innermost one",
                            plain="innermost text\n",
                        ),
                    ),
                ),
            ),
        ),
    ),
)  # fmt: skip


def mail_store(*items: tuple[tuple[str, ...], MailForm], details: Details = NOTE, **how: Any) -> bytes:
    """A PST file with these messages, each with its folder."""
    file = io.BytesIO()
    writer = PstWriter(file, **how)
    for folder, form in items:
        writer.add(folder, form, details)
    writer.finish()
    return file.getvalue()
