"""Threads: the same message in every mailbox that holds it, in many languages and charsets."""

from __future__ import annotations

import email
import email.policy
import itertools
from collections import Counter

import pytest

from dataset_gen.formats.mail.eml import Letter, write
from dataset_gen.material.mail import letters, thread
from dataset_gen.profile import load_profile
from dataset_gen.workshop import Workshop

LARGEST = 30_000


@pytest.fixture(scope="module")
def shop() -> Workshop:
    """A maker for the reference profile."""
    return Workshop(load_profile("reference"), 5, 0.01)


@pytest.fixture(scope="module")
def found(shop: Workshop) -> list[Letter]:
    """All messages of a few hundred threads."""
    out: list[Letter] = []
    for number in range(300):
        talk = thread(shop, number % 9, number, LARGEST)
        out += [letter for _, letter in letters(shop, talk, frozenset(range(len(talk.sketches))))]
    return out


def test_a_message_is_the_same_whoever_holds_it(shop: Workshop) -> None:
    talk = next(t for n in range(400) if len((t := thread(shop, 0, n, LARGEST)).sketches) >= 4)
    everything = dict(letters(shop, talk, frozenset(range(len(talk.sketches)))))
    for position in (0, 3):
        ((_, alone),) = letters(Workshop(shop.profile, 5, 0.01), talk, frozenset((position,)))
        assert write(alone).data == write(everything[position]).data


def test_threads_hang_together(shop: Workshop) -> None:
    talk = next(t for n in range(400) if len((t := thread(shop, 0, n, LARGEST)).sketches) >= 4)
    found = [letter for _, letter in letters(shop, talk, frozenset(range(len(talk.sketches))))]
    for before, letter in itertools.pairwise(found):
        assert letter.references[-1] == before.message_id
        assert letter.when > before.when
    assert any(line.startswith("> ") for line in found[1].body.splitlines()) or found[1].receipt


def test_the_smallest_corpus_has_a_winmail_dat() -> None:
    for seed in range(6):
        first = thread(Workshop(load_profile("reference"), seed, 0.0001), 0, 0, LARGEST).sketches[0]
        assert "tnef" in [fmt for fmt, _, _ in first.attachments]


def test_attachments_of_a_message_have_a_limit(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dataset_gen.material.mail._MOST_ATTACHED", 50_000)
    sums = [
        sum(size for fmt, _, size in sketch.attachments if fmt not in ("ics", "tnef"))
        for number in range(400)
        for sketch in thread(shop, 1, number, 300_000).sketches
    ]
    assert 20_000 < max(sums) <= 50_000 + 300_000 // 2


def test_lengths_of_threads(shop: Workshop) -> None:
    counts = Counter(len(thread(shop, 3, number, LARGEST).sketches) for number in range(400))
    assert 0.77 < counts[1] / 400 < 0.85
    assert 0.08 < counts[2] / 400 < 0.14
    assert max(counts) > 10


def test_languages_and_charsets(found: list[Letter]) -> None:
    seen: Counter[str] = Counter()
    for letter in found:
        message = email.message_from_bytes(write(letter).data, policy=email.policy.default)
        body = message.get_body(("plain",))
        assert body is not None
        assert body.get_content().replace("\r\n", "\n").rstrip("\n") == letter.body.rstrip("\n")
        seen[str(body.get_content_charset())] += 1
    assert {"us-ascii", "utf-8", "iso-8859-1", "windows-1252"} <= set(seen)
    assert len(seen) >= 6
    assert any("キ" in letter.body or "の" in letter.body or "。" in letter.body for letter in found)


def test_what_messages_carry(found: list[Letter]) -> None:
    names = [name for letter in found for name, _ in letter.attachments]
    assert {"meeting.ics", "winmail.dat"} <= set(names) or len(names) > 50
    assert any(letter.picture for letter in found)
    assert any(letter.forwarded for letter in found)
    receipt = next(letter for letter in found if letter.receipt)
    message = email.message_from_bytes(write(receipt).data, policy=email.policy.default)
    assert message.get_content_type() == "multipart/report"
    assert any("\n-- \n" in letter.body for letter in found)
