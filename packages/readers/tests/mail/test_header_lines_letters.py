"""Letters that lack a blank line behind their fields keep all of their words, whatever these look like."""

from __future__ import annotations

import pytest

from core.records import JobOptions
from readers.base import MemorySource
from readers.mail.eml import EmlHandler


def _said(data: str) -> str:
    """Text and metadata."""
    handler, limits = EmlHandler(), JobOptions().limits
    text = handler.text(MemorySource(b"m.eml", data.encode()), limits)
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
    said = _said(f"From: a@b.c\nTo: c@d.e\nSubject: Lease\nDate: Mon, 3 May 1999 10:00:00 +0000\n{body}")
    assert [word for word in words if word not in said] == []
    assert "1999-05-03T10:00:00Z" in said


def test_fields_of_mail_systems_behind_an_odd_line_are_fields_still() -> None:
    said = _said(
        "From: a@b.c\nX-Virus Scanned: by gateway\nReceived: from x by y\nReferences:\n <1@x>\nMIME-Version: 1.0\n"
        "Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\nR2VoZWltbmlz\n"
    )
    assert "Geheimnis" in said
    assert "MIME-Version" not in said.splitlines()[0]
