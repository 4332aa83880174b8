"""Threads of mail. A thread follows from its key alone, so every mailbox that holds it holds the same bytes."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dataset_gen.formats.eml import EPOCH, YEARS, Letter
from dataset_gen.made import Made
from dataset_gen.people import Someone, everyone, file_stem
from dataset_gen.rng import Dice, derive, running_totals
from dataset_gen.text import prose
from dataset_gen.workshop import Workshop, extension

_QUOTED_MOST = 6000  # characters of quotation that a reply carries
_ENCODINGS = ("7bit", "7bit", "7bit", "8bit", "quoted-printable", "quoted-printable", "base64")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """One message of a thread before its text and attachments are made."""

    sender: Someone
    to: tuple[Someone, ...]
    cc: tuple[Someone, ...]
    when: int
    characters: int  # of its own text
    html: bool
    encoding: str
    attachments: tuple[tuple[str, str, int], ...]  # format, key, size
    picture: int  # bytes of an inline picture, or 0
    forwards: bool  # carries the message before it as an attachment
    estimate: int  # bytes, about


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A conversation."""

    key: str
    holders: tuple[int, ...]  # custodians whose mailboxes hold it, its owner first
    sketches: tuple[Sketch, ...]


@functools.lru_cache(maxsize=8)
def _totals(weights: tuple[float, ...]) -> tuple[float, ...]:
    return running_totals(weights)


def _count(dice: Dice, weights: tuple[float, ...]) -> int:
    """1, 2, 3 … by weight."""
    return 1 + dice.weighted(range(len(weights)), _totals(weights))


def thread(shop: Workshop, owner: int, number: int, largest: int) -> Thread:
    """Thread `number` of a custodian; no attachment is over `largest` bytes."""
    profile = shop.profile
    key = f"mail/{owner}/{number}"
    dice = Dice(derive(shop.seed, key))
    others = [c for c in range(len(profile.custodians)) if c != owner]
    holders = [owner]
    for _ in range(_count(dice, profile.mail.copies) - 1):
        holders.append(others.pop(dice.below(len(others))))
    people = everyone()
    party = [people[c] for c in holders]
    party += [people[len(profile.custodians) + dice.below(len(people) - 9)] for _ in range(dice.between(1, 3))]
    when = EPOCH + dice.below(YEARS)
    sketches: list[Sketch] = []
    for position in range(_count(dice, profile.mail.thread_lengths)):
        sketches.append(_sketch(shop, dice, f"{key}/{position}", party, when, sketches, largest))
        when += 600 + dice.below(200_000)
    return Thread(key=key, holders=tuple(holders), sketches=tuple(sketches))


def _sketch(
    shop: Workshop, dice: Dice, key: str, party: list[Someone], when: int, earlier: list[Sketch], largest: int
) -> Sketch:
    mix = shop.profile.mail
    sender = dice.pick(party)
    rest = [p for p in party if p is not sender]
    characters = dice.size(mix.body_median, mix.body_sigma, 40, 60_000)
    attachments: list[tuple[str, str, int]] = []
    if dice.chance(mix.attachment_share):
        for n in range(_count(dice, mix.attachment_counts)):
            attachments.append(shop.attachment(dice, f"{key}/a{n}", largest))
    html = dice.chance(0.45)
    picture = dice.size(12_000, 1.0, 2000, 80_000) if html and dice.chance(mix.inline_picture_share / 0.45) else 0
    forwards = bool(earlier) and dice.chance(mix.forward_share)
    quoted = min(_QUOTED_MOST, sum(s.characters for s in earlier))
    estimate = 850 + int((characters + quoted) * (2.3 if html else 1.1))
    estimate += int(1.36 * (picture + sum(size for _, _, size in attachments)))
    if forwards:
        estimate += earlier[-1].estimate
    return Sketch(
        sender=sender,
        to=tuple(rest[:2]),
        cc=tuple(rest[2:]),
        when=when,
        characters=characters,
        html=html,
        encoding=dice.pick(_ENCODINGS),
        attachments=tuple(attachments),
        picture=picture,
        forwards=forwards,
        estimate=estimate,
    )


def letters(shop: Workshop, talk: Thread, wanted: frozenset[int]) -> Iterator[tuple[int, Letter]]:
    """The wanted messages of a thread; attachments are made for these only."""
    dice = Dice(derive(shop.seed, talk.key, "subject"))
    subject = prose().title(dice, dice.between(2, 7))
    base = f"{dice.below(1 << 48):012x}"
    body, terms = "", ()  # type: str, tuple[str, ...]
    before: Letter | None = None
    identifiers: list[str] = []
    for position, sketch in enumerate(talk.sketches):
        body, terms = _body(shop, talk, position, body, terms)
        identifiers.append(f"{base}.{position}@{sketch.sender.address.partition('@')[2]}")
        full = position in wanted or (
            position + 1 < len(talk.sketches) and position + 1 in wanted and talk.sketches[position + 1].forwards
        )
        letter = Letter(
            key=f"{talk.key}/{position}",
            sender=sketch.sender,
            to=sketch.to,
            cc=sketch.cc,
            when=sketch.when,
            subject=subject if position == 0 else f"{'Fwd' if sketch.forwards else 'Re'}: {subject}",
            message_id=identifiers[-1],
            references=tuple(identifiers[:-1]),
            body=body,
            terms=terms,
            html=sketch.html,
            encoding=sketch.encoding,
            attachments=_attached(shop, talk, position) if full else (),
            picture=_picture(shop, talk, position) if full and sketch.picture else None,
            forwarded=before if sketch.forwards else None,
        )
        before = replace(letter, forwarded=None)  # a forwarded forward would grow without end
        if position in wanted:
            yield position, letter


def _body(
    shop: Workshop, talk: Thread, position: int, earlier: str, terms: tuple[str, ...]
) -> tuple[str, tuple[str, ...]]:
    """A message's text with the one before it quoted, and the terms in it."""
    sketch = talk.sketches[position]
    dice = Dice(derive(shop.seed, talk.key, position, "body"))
    own = shop.planted(dice, always=position == 0 and talk.key.endswith("/0"))
    greeting = f"Dear {sketch.to[0].name.split()[0]},"
    lines = [greeting, ""]
    lines += [f"{term}." for term in own]
    lines += prose().lines(dice, sketch.characters, accented=dice.chance(0.5))
    lines += ["", "Best regards", sketch.sender.name]
    if dice.chance(0.2):
        lines += ["", "This message is confidential and meant for the addressee only."]
    text = "\n".join(lines) + "\n"
    if not earlier or len(earlier) > _QUOTED_MOST:
        return text, own
    who = talk.sketches[position - 1].sender.name
    quoted = "".join(f"> {line}\n" for line in earlier.splitlines())
    return f"{text}\n{who} wrote:\n{quoted}", tuple(dict.fromkeys((*own, *terms)))


def _attached(shop: Workshop, talk: Thread, position: int) -> tuple[tuple[str, Made], ...]:
    dice = Dice(derive(shop.seed, talk.key, position, "names"))
    out = []
    for fmt, key, size in talk.sketches[position].attachments:
        stem = _shared_stem(shop, key) if key.startswith("shared/") else file_stem(dice)[:80]
        out.append((f"{stem}.{extension(fmt)}", shop.document(fmt, key, size, 1)))
    return tuple(out)


def _shared_stem(shop: Workshop, key: str) -> str:
    """A shared document mostly keeps its name."""
    return file_stem(Dice(derive(shop.seed, "name of", key)))[:80]


def _picture(shop: Workshop, talk: Thread, position: int) -> Made:
    return shop.document("jpg", f"{talk.key}/{position}/inline", talk.sketches[position].picture, 1)
