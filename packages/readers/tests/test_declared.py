"""readers.declared: every handler of ours says what it reads and what it does not, and does no other."""

from __future__ import annotations

import pytest

from core.records import Limits
from readers.base import Handler, MemorySource
from readers.declared import Declared, flaws
from readers.keys import misfits
from readers.registry import all_handlers, handler_for


@pytest.mark.parametrize("handler", all_handlers(), ids=lambda handler: handler.name)
def test_every_handler_is_declared(handler: Handler) -> None:
    """A handler without declarations would be missing from docs/formats.md: readers.declared says how to
    declare."""
    assert flaws(handler.media_types, handler.declared) == []


@pytest.mark.parametrize(
    ("flaw", "declared"),
    [
        ("no format", ()),
        ("omitted", (Declared(title="T", extensions=("t",), leaves_out=()),)),
        ("no key", (Declared(title="T", extensions=(), metadata=("invented",), leaves_out=("x",)),)),
        ("full stop", (Declared(title="T", extensions=(), text="Words.", leaves_out=("x",)),)),
        ("no extension", (Declared(title="T", extensions=(".T",), leaves_out=("x",)),)),
        ("has none", (Declared(title="T", extensions=(), announces="it", leaves_out=("x",)),)),
        ("has", (Declared(title="T", extensions=(), media_types=("a/b",), leaves_out=("x",)),)),
        ("no title", (Declared(title="", extensions=(), leaves_out=("x",)),)),
    ],
)
def test_flaws_are_found(flaw: str, declared: tuple[Declared, ...]) -> None:
    assert any(flaw in found for found in flaws(("application/x-t",), declared))


def test_dates_and_types_of_values_are_told_from_others() -> None:
    assert misfits({"created": "2020-01-02T03:04:05Z", "date": "2020-01-02", "pages": 3, "to": ["a"], "rows": 2}) == [
        "pages=3",
        "to=['a']",
    ]
    assert misfits({"modified": "yesterday", "well_formed": False}) == ["modified='yesterday'"]


def test_every_recipient_is_kept() -> None:
    people = ", ".join(f"person{n}@example.org" for n in range(400))
    mail = f"From: a@b.example\nTo: {people}\nSubject: {'x' * 3000}\n\ntext\n"
    found = handler_for("message/rfc822").text(MemorySource(b"m.eml", mail.encode()), Limits()).metadata
    assert found["to"] == people
    assert len(found["subject"]) == 1_000
