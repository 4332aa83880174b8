"""Outlook items and winmail.dat as the builders make them: the worker finds what the ground truth states, and every
file is one that Debian's programs can open."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from core.records import Limits
from dataset_gen.formats.mail import eml
from dataset_gen.formats.mail.eml import Letter
from dataset_gen.formats.outlook import msg_letter
from dataset_gen.made import Made, Truth
from dataset_gen.material.mail import letters, thread
from dataset_gen.profile import load_profile
from dataset_gen.workshop import Workshop
from readers.base import MemorySource
from readers.identification.identify import identify
from readers.registry import handler_for

OUTLOOK, TNEF, MAIL = "application/vnd.ms-outlook", "application/vnd.ms-tnef", "message/rfc822"


@pytest.fixture(scope="module")
def shop() -> Workshop:
    return Workshop(load_profile("reference"), 3, 0.001)


def _letters(shop: Workshop, threads: int) -> Iterator[Letter]:
    for number in range(threads):
        talk = thread(shop, 0, number, 60_000)
        for _, letter in letters(shop, talk, frozenset(range(len(talk.sketches)))):
            yield letter


def _check(name: bytes, data: bytes, truth: Truth, seen: Counter[str], declared: str | None = None) -> None:
    """One item and, for mails of all kinds, everything in it."""
    source = MemorySource(name, data)
    media_type = identify(source, declared)
    assert (media_type, len(data)) == (truth.media_type, truth.size), name
    assert hashlib.sha256(data).digest() == truth.sha256
    seen[media_type] += 1
    if media_type not in (OUTLOOK, TNEF, MAIL) or truth.exceptions:
        return
    handler = handler_for(media_type)
    found = list(handler.children(source, Limits()))
    assert [(c.name, c.ordinal, c.kind) for c in found] == [(p.name, p.ordinal, p.kind) for p in truth.children]
    text = handler.text(source, Limits())
    assert text.error is None
    for term in truth.terms:
        assert term in " ".join(text.text.split())
    for child, placed in zip(found, truth.children, strict=True):
        assert child.data is not None
        assert child.error is None
        _check(child.name, child.data, placed.truth, seen, child.media_type)


def test_letters_as_loose_files(shop: Workshop) -> None:
    seen: Counter[str] = Counter()
    for letter in _letters(shop, 30):
        made = msg_letter.write(letter)
        _check(b"a.msg", made.data, made.truth, seen)
        canonical = eml.formed(letter).message()
        assert canonical.truth.children == made.truth.children
        assert canonical.truth.terms == made.truth.terms
        _check(b"a.eml", canonical.data, canonical.truth, seen)
    assert seen[OUTLOOK] > 30
    assert len(seen) > 4


@pytest.mark.parametrize("fmt", ["msg", "tnef"])
def test_items_on_their_own(shop: Workshop, fmt: str) -> None:
    seen: Counter[str] = Counter()
    for number in range(40):
        made = shop.document(
            fmt, f"{'first/' if number % 4 == 0 else ''}{fmt}/{number}", (3000, 20_000, 60_000)[number % 3]
        )
        assert bool(made.truth.terms) or number % 4
        _check(fmt.encode(), made.data, made.truth, seen)
    assert seen[OUTLOOK if fmt == "msg" else TNEF] == 40
    assert seen[MAIL] >= 1, "messages in messages"


@pytest.mark.parametrize("fmt", ["msg", "tnef"])
def test_the_bytes_follow_from_the_key(fmt: str) -> None:
    def make() -> list[Made]:
        maker: Callable[..., Made] = Workshop(load_profile("reference"), 3, 0.001).document
        return [maker(fmt, f"again/{number}", 30_000) for number in range(6)]

    assert make() == make()


def test_items_of_several_classes(shop: Workshop) -> None:
    names = ["IPM.Note", "REPORT.IPM.Note.IPNRN", "IPM.Appointment", "IPM.Schedule.Meeting.Request"]
    found: Counter[str] = Counter()
    for number in range(120):
        data = shop.document("msg", f"class/{number}", 3000).data
        found.update(name for name in names if f"{name}".encode("utf-16-le") + b"\0" in data)
    assert all(found[name] for name in names), found
