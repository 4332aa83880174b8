"""readers.mail.around: file names and header fields in eight bits, without a charset of their own."""

from __future__ import annotations

import pytest

from core.records import Limits
from readers.base import MemorySource
from readers.mail.around import charset_around, charset_of_names
from readers.mail.eml import EmlHandler

HANDLER = EmlHandler()
RUSSIAN = "Добрый день, коллеги, документы во вложении"


def _mail(names: list[str], charset: str, *, body: bytes, label: str = "", subject: bytes = b"t") -> bytes:
    declared = f"; charset={label}".encode() if label else b""
    parts = [b"Content-Type: text/plain" + declared + b"\n\n" + body]
    for name in names:
        raw = name.encode(charset)
        parts.append(
            b'Content-Type: a/b; name="%b"\nContent-Disposition: attachment; filename="%b"\n\ndata' % (raw, raw)
        )
    head = b"From: a@b.c\nSubject: " + subject + b"\nContent-Type: multipart/mixed; boundary=B\n\n--B\n"
    return head + b"\n--B\n".join(parts) + b"\n--B--\n"


def _names(data: bytes) -> list[str]:
    return [child.name.decode() for child in HANDLER.children(MemorySource(b"m.eml", data), Limits())]


@pytest.mark.parametrize(
    ("label", "body", "subject"),
    [
        ("windows-1251", RUSSIAN.encode("cp1251"), b"t"),
        ("windows-1251", b"see the attachment", b"t"),
        ("", RUSSIAN.encode("cp1251"), b"t"),
        ("", b"see the attachment", RUSSIAN.encode("cp1251")),
        ("iso-8859-1", b"see the attachment", RUSSIAN.encode("cp1251")),
    ],
)
def test_a_short_name_is_read_in_what_the_message_is_in(label: str, body: bytes, subject: bytes) -> None:
    data = _mail(["Счёт.txt", "plain.txt"], "cp1251", body=body, label=label, subject=subject)
    assert _names(data) == ["Счёт.txt", "plain.txt"]
    assert HANDLER.text(MemorySource(b"m.eml", data), Limits()).metadata["attachments"] == ["Счёт.txt", "plain.txt"]
    assert _names(_mail(["Счёт.txt"], "utf-8", body=body, label=label, subject=subject)) == ["Счёт.txt"]


def test_names_tell_each_other() -> None:
    """Where nothing else does, all of them are looked at together."""
    names = ["Отчёт за третий квартал.doc", "Договор поставки оборудования.pdf", "Счёт.xls"]
    assert _names(_mail(names, "koi8-r", body=b"see the attachment")) == names


def test_a_header_is_read_in_what_the_text_below_it_is_in() -> None:
    data = _mail([], "cp1251", body=RUSSIAN.encode("cp1251"), label="windows-1251", subject="Счёт".encode("cp1251"))
    assert HANDLER.text(MemorySource(b"m.eml", data), Limits()).metadata["subject"] == "Счёт"


def test_what_tells_nothing() -> None:
    assert (
        charset_around([(b"abc", "iso-8859-1"), (b"abc", "us-ascii"), ("ä".encode(), "utf-8"), (b"abc", "nonsense")])
        == ""
    )
    assert charset_around([(b"abc", "koi8-r"), (RUSSIAN.encode("cp1251"), "")]) == "cp1251"
    assert charset_of_names([b"abc", b"\xe4\xc3"]) == ""
