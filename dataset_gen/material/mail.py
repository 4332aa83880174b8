"""Threads of mail. A thread follows from its key alone, so that all its mailboxes have the same bytes."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dataset_gen.formats.eml import EPOCH, YEARS, Letter, mail_date
from dataset_gen.formats.tnef import FILE_NAME as WINMAIL
from dataset_gen.made import Made
from dataset_gen.material.people import Someone, everyone, file_stem
from dataset_gen.material.text import prose
from dataset_gen.rng import Dice, at_share, derive, even_at, running_totals
from dataset_gen.workshop import Workshop, extension

_STRANGERS = 1200  # people that are no custodians
_MOST_ATTACHED = 20_000_000  # bytes of all attachments of a message: servers refuse more
_LEAST_ATTACHED = 2_000
_QUOTED_MOST = 6000  # characters of quotation that a reply carries
_ENCODINGS = ("7bit", "7bit", "7bit", "8bit", "quoted-printable", "quoted-printable", "base64")
# Charsets of mail by language; a text with other letters is UTF-8.
_CHARSETS = {
    "en": ("utf-8", "utf-8", "windows-1252", "iso-8859-1"),
    "ja": ("iso-2022-jp", "iso-2022-jp", "utf-8", "shift_jis"),
    "pl": ("utf-8", "iso-8859-2"),
    "ru": ("koi8-r", "windows-1251", "utf-8"),
    "": ("utf-8", "iso-8859-1", "windows-1252"),
}
_GREETINGS = {"de": "Guten Tag", "fr": "Bonjour", "es": "Hola", "ru": "Здравствуйте", "pl": "Witam", "pt": "Bom dia"}
_REGARDS = {"de": "Viele Grüße", "fr": "Cordialement", "es": "Saludos", "ru": "С уважением", "pl": "Pozdrawiam"}
_DISCLAIMER = (
    "This message and anything attached to it is confidential and meant for the addressee only. Any other use, "
    "copying or passing on is not permitted. If it reached you by mistake, please tell the sender and delete it. "
    "Messages can be changed on their way, and no liability is accepted for that. This message was scanned before "
    "it was sent."
)


_MARKS = ("Re", "Fwd", "Read")
_FIRST_MESSAGE = "mail/0/0/0"  # of the first custodian's first thread
_ROLES = ("Counsel", "Controller", "Head of purchasing", "Project manager", "Assistant", "Engineer", "Analyst")


@dataclass(slots=True, kw_only=True)
class Sketch:
    """One message of a thread, before its text and attachments are built."""

    sender: Someone
    to: tuple[Someone, ...]
    cc: tuple[Someone, ...]
    when: int
    characters: int  # of its own text
    html: bool
    encoding: str
    attachments: tuple[tuple[str, str, int], ...]  # format, key, size
    picture: int  # bytes of an inline picture, or 0
    charset: str
    receipt: bool  # reports that the message before it was read
    forwards: bool  # carries the message before it as an attachment
    estimate: int  # bytes, about


@dataclass(slots=True, kw_only=True)
class Thread:
    """A conversation."""

    key: str
    holders: tuple[int, ...]  # custodians whose mailboxes hold it, its owner first
    sketches: tuple[Sketch, ...]
    language: str


def _count(dice: Dice, weights: tuple[float, ...]) -> int:
    """1, 2, 3 … by weight."""
    return 1 + dice.weighted(range(len(weights)), running_totals(weights))


@functools.lru_cache(maxsize=8)
def _lengths(ranges: tuple[tuple[int, int, float], ...]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Every length and the running totals of their weights."""
    each = [(n, weight / (last - first + 1)) for first, last, weight in ranges for n in range(first, last + 1)]
    return tuple(n for n, _ in each), running_totals(tuple(weight for _, weight in each))


def thread(shop: Workshop, owner: int, number: int, largest: int) -> Thread:
    """Thread `number` of a custodian; no attachment is over `largest` bytes."""
    profile = shop.profile
    key = f"mail/{owner}/{number}"
    dice = Dice(derive(shop.seed, key))
    others = [c for c in range(len(profile.custodians)) if c != owner]
    holders = [owner]
    for _ in range(min(_count(dice, profile.mail.copies) - 1, len(others))):
        holders.append(others.pop(dice.below(len(others))))
    people = everyone()
    party = [people[c] for c in holders]
    party += [people[len(profile.custodians) + dice.below(_STRANGERS)] for _ in range(dice.between(1, 3))]
    when = EPOCH + dice.below(YEARS)
    language = dice.weighted(*shop.languages)
    # Lengths are spread evenly over a custodian's threads: the few long ones would upset a small corpus.
    length = at_share(*_lengths(profile.mail.thread_lengths), even_at(derive(shop.seed, "lengths", owner), number))
    sketches: list[Sketch] = []
    for position in range(length):
        sketches.append(_sketch(shop, dice, f"{key}/{position}", party, when, sketches, largest, language))
        when += 600 + dice.below(200_000)
    return Thread(key=key, holders=tuple(holders), sketches=tuple(sketches), language=language)


def _sketch(
    shop: Workshop,
    dice: Dice,
    key: str,
    party: list[Someone],
    when: int,
    earlier: list[Sketch],
    largest: int,
    language: str,
) -> Sketch:
    mix = shop.profile.mail
    sender = dice.pick(party)
    rest = [p for p in party if p is not sender]
    characters = dice.size(mix.body_median, mix.body_sigma, 40, 60_000)
    attachments: list[tuple[str, str, int]] = []
    if dice.chance(mix.attachment_share):
        room = _MOST_ATTACHED
        for n in range(_count(dice, mix.attachment_counts)):
            attachments.append(shop.attachment(dice, f"{key}/a{n}", min(largest, room)))
            room -= attachments[-1][2]
            if room < _LEAST_ATTACHED:
                break
    html = dice.chance(mix.html_share)
    pictured = html and dice.chance(mix.inline_picture_share / max(mix.html_share, 1e-6))
    picture = dice.size(12_000, 1.0, 2000, 80_000) if pictured else 0
    # However small the corpus, there is one winmail.dat.
    if mix.tnef_share and key == _FIRST_MESSAGE:
        attachments = attachments or [shop.attachment(dice, f"{key}/a0", min(largest, 60_000))]
    if attachments and (dice.chance(mix.tnef_share / max(mix.attachment_share, 1e-6)) or key == _FIRST_MESSAGE):
        attachments = [("tnef", f"{key}/winmail", 4000 + sum(size for _, _, size in attachments))]
    receipt = bool(earlier) and dice.chance(mix.receipt_share)
    if receipt:
        characters, attachments, html, picture = 60, [], False, 0
    elif dice.chance(mix.calendar_share):
        attachments.append(("ics", f"{key}/meeting", 700))
    forwards = bool(earlier) and not receipt and dice.chance(mix.forward_share)
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
        charset=dice.pick(_CHARSETS.get(language, _CHARSETS[""])),
        receipt=receipt,
        attachments=tuple(attachments),
        picture=picture,
        forwards=forwards,
        estimate=estimate,
    )


def letters(shop: Workshop, talk: Thread, wanted: frozenset[int]) -> Iterator[tuple[int, Letter]]:
    """Yield the wanted messages of a thread; attachments are built for these only."""
    dice = Dice(derive(shop.seed, talk.key, "subject"))
    dice.language = talk.language
    subject = prose().title(dice, dice.between(2, 7), any_script=True)
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
            subject=subject if position == 0 else f"{_MARKS[sketch.forwards + 2 * sketch.receipt]}: {subject}",
            message_id=identifiers[-1],
            references=tuple(identifiers[:-1]),
            body=body,
            terms=terms,
            html=sketch.html,
            encoding=sketch.encoding,
            charset=sketch.charset,
            receipt=sketch.receipt,
            attachments=_attached(shop, talk, position) if full else (),
            picture=shop.document("jpg", f"{talk.key}/{position}/inline", sketch.picture, 1)
            if full and sketch.picture
            else None,
            forwarded=before if sketch.forwards else None,
        )
        before = replace(letter, forwarded=None)  # a forwarded forward would grow without end
        if position in wanted:
            yield position, letter


def _body(
    shop: Workshop, talk: Thread, position: int, earlier: str, terms: tuple[str, ...]
) -> tuple[str, tuple[str, ...]]:
    """Return a message's text with the previous one quoted, and the terms in it."""
    sketch = talk.sketches[position]
    dice = Dice(derive(shop.seed, talk.key, position, "body"))
    dice.language = talk.language
    if sketch.receipt:
        read = talk.sketches[position - 1]
        return f"Your message of {mail_date(read.when)} was read on {mail_date(sketch.when)}.\n", ()
    own = shop.planted(dice, always=position == 0 and talk.key.endswith("/0"))
    lines = [f"{_GREETINGS.get(talk.language, 'Dear')} {sketch.to[0].name.split()[0]},", ""]
    lines += [f"{term}." for term in own]
    lines += prose().lines(dice, sketch.characters, accented=True, any_script=True)
    lines += ["", _REGARDS.get(talk.language, "Best regards"), *_signature(sketch.sender)]
    if dice.chance(shop.profile.mail.disclaimer_share):
        lines += ["", _DISCLAIMER]
    text = "\n".join(lines) + "\n"
    if not earlier or len(earlier) > _QUOTED_MOST:
        return text, own
    who = talk.sketches[position - 1].sender.name
    quoted = "".join(f"> {line}\n" for line in earlier.splitlines())
    return f"{text}\n{who} wrote:\n{quoted}", tuple(dict.fromkeys((*own, *terms)))


def _signature(who: Someone) -> list[str]:
    """Return a person's signature, always the same; some have only their name."""
    draw = derive(0, "signature", who.address)
    if draw % 3 == 0:
        return [who.name]
    phone = f"+1 555 {draw // 3 % 1000:03d} {draw // 3000 % 10_000:04d}"
    lines = ["-- ", who.name, _ROLES[draw // 7 % len(_ROLES)], who.address.partition("@")[2], phone]
    return lines if draw % 2 else [*lines, f"Room {draw // 11 % 40 + 1}.{draw // 13 % 30:02d}", who.address]


def _attached(shop: Workshop, talk: Thread, position: int) -> tuple[tuple[str, Made], ...]:
    dice = Dice(derive(shop.seed, talk.key, position, "names"))
    out = []
    for fmt, key, size in talk.sketches[position].attachments:
        stem = _stem(shop, dice, key)
        name = WINMAIL if fmt == "tnef" else f"{stem}.{extension(fmt)}"
        out.append((name, shop.document(fmt, key, size, 1)))
    return tuple(out)


def _stem(shop: Workshop, dice: Dice, key: str) -> str:
    """Return a file name stem; a shared document mostly keeps its name."""
    base = key.rpartition("/")[2]
    if base in ("meeting", "winmail"):
        return base
    return file_stem(Dice(derive(shop.seed, "name of", key)) if key.startswith("shared/") else dice)[:80]
