"""readers.mail.emlx: Apple Mail's messages; and messages in a Maildir, which need no handler of their own."""

from pathlib import Path

import pytest

from core.records import Limits
from readers.base import MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.mail.eml import EmlHandler
from readers.mail.emlx import EmlxHandler
from readers.mail_form import MailAttachment, MailForm, write_message

HANDLER = EmlxHandler()
MESSAGE = write_message(
    MailForm(
        message_id="a@b.example",
        sender=("A", "a@b.example"),
        to=(("", "c@d.example"),),
        subject="s",
        plain="text\n",
        attachments=(MailAttachment(name="f.bin", data=b"\0\1"),),
    )
)
PLIST = b'<?xml version="1.0"?><plist version="1.0"><dict><key>flags</key><integer>1</integer></dict></plist>\n'


def emlx(message: bytes, count: int) -> MemorySource:
    return MemorySource(b"12.emlx", b"%-10d\n" % count + message + PLIST)


def test_the_message_is_what_counts() -> None:
    own, other = emlx(MESSAGE, len(MESSAGE)), MemorySource(b"12.emlx", MESSAGE)
    assert identify(own) == "message/x-emlx"
    assert HANDLER.text(own, Limits()) == EmlHandler().text(other, Limits())
    assert list(HANDLER.children(own, Limits())) == list(EmlHandler().children(other, Limits()))
    assert HANDLER.message_hashes(own, Limits()) == EmlHandler().message_hashes(other, Limits())


def test_damage() -> None:
    """A count beyond the end is `truncated`, none at all `corrupt`."""
    own = emlx(MESSAGE, 10**6)
    text = HANDLER.text(own, Limits())
    assert text.text == "text\n"
    assert (text.error and text.error.code) is ExceptionCode.TRUNCATED
    with pytest.raises(DocumentError, match=r"^corrupt:"):
        HANDLER.text(MemorySource(b"12.emlx", b"no count\n" + MESSAGE), Limits())
    assert HANDLER.message_hashes(MemorySource(b"12.emlx", b"x"), Limits()) is not None


@pytest.mark.parametrize(
    "plist", [PLIST, PLIST.replace(b"?>", b"?>\n<!DOCTYPE plist PUBLIC>\n"), b"<plist></plist>", b"bplist00"]
)
def test_a_count_that_is_too_small(plist: bytes) -> None:
    other = EmlHandler().text(MemorySource(b"12.emlx", MESSAGE), Limits())
    for count in (0, 1, 60, len(MESSAGE) - 1):
        own = MemorySource(b"12.emlx", b"%d\n" % count + MESSAGE + plist)
        assert HANDLER.text(own, Limits()) == other
        assert len(list(HANDLER.children(own, Limits()))) == 1


def test_a_count_that_is_too_small_without_a_property_list() -> None:
    text = HANDLER.text(MemorySource(b"12.emlx", b"9\nFrom: a@b.c\nTo: d@e.f\n\nwords\n"), Limits())
    assert (text.text, text.error is not None) == ("words\n", True)
    doctype = PLIST.replace(b"?>", b"?>\n<!DOCTYPE plist PUBLIC>\n")
    data = b"9\nFrom: a@b.c\nTo: d@e.f\n\nwords\n" + doctype
    assert HANDLER.text(MemorySource(b"12.emlx", data), Limits()).text == "words\n"
    assert HANDLER.text(MemorySource(b"12.emlx", b"%d\n" % len(MESSAGE) + MESSAGE), Limits()).error is None


@pytest.mark.parametrize("name", [b"1388532061.M2P3V4.host:2,S", b"1388532061.15983_0.mail.example,S=980:2,RS"])
def test_messages_of_a_maildir(name: bytes) -> None:
    assert identify(MemorySource(name, MESSAGE)) == "message/rfc822"


@pytest.mark.parametrize("name", ["plaintext.emlx", "richtext.emlx"])
def test_real_messages(name: str, real_files: Path) -> None:
    own = MemorySource(name.encode(), (real_files / "ingest-file" / name).read_bytes())
    assert identify(own) == "message/x-emlx"
    text = HANDLER.text(own, Limits())
    assert text.error is None
    assert text.metadata["subject"] == "Re: Emlx library"
    assert "plist" not in text.text
    assert text.text.strip()


def test_a_property_list_within_the_message_does_not_end_it() -> None:
    message = b"From: a@b.c\nSubject: s\n\nthe "
    own = emlx(message + PLIST + b"tailword\n", len(message))
    text = HANDLER.text(own, Limits())
    assert "tailword" in text.text
    assert "the" in text.text
