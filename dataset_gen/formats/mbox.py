"""Mail stores as mbox (RFC 4155): a From_ line, the message, an empty line."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Callable, Iterable

from dataset_gen.formats.eml import Letter, notes, write
from dataset_gen.made import Made, Order, Placed, Truth, branch, content_of, placed
from dataset_gen.material.people import Someone, everyone
from dataset_gen.material.text import prose
from dataset_gen.rng import Dice
from readers.records import Kind

_FOLD = 75  # octets of a line


def _folded(line: str) -> str:
    """Fold a long line: a line break and a blank (RFC 5545, 3.1). Breaks fall between characters."""
    if len(line) <= _FOLD:
        return line
    step = _FOLD - 1
    return "\r\n ".join([line[:_FOLD], *(line[i : i + step] for i in range(_FOLD, len(line), step))])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace(",", "\\,").replace(";", "\\;").replace("\n", "\\n")


def _finish(order: Order, lines: list[str], media_type: str, inner: list[tuple[str, Made]]) -> Made:
    data = "".join([_folded(line) + "\r\n" for line in lines]).encode("utf-8")
    inline = sum(made.truth.size for _, made in inner)
    characters = max(1, (len(data) - inline * 4 // 3) * 7 // 8)  # an eighth is parameters and folding
    return branch(
        data,
        media_type,
        own=(data,),
        children=placed(Kind.EMBEDDED_OBJECT, inner),
        characters=characters,
        terms=order.terms,
    )


def _card(dice: Dice, person: Someone) -> list[str]:
    first, _, last = person.name.partition(" ")
    return [
        "BEGIN:VCARD",
        "VERSION:3.0",
        f"N:{_escaped(last)};{_escaped(first)};;;",
        f"FN:{_escaped(person.name)}",
        f"EMAIL;TYPE=INTERNET:{person.address}",
        f"TEL;TYPE=WORK:+1 555 {dice.between(200, 999)} {dice.below(10_000):04d}",
        f"ORG:{_escaped(prose().title(dice, 2))}",
        f"ADR;TYPE=WORK:;;{dice.between(1, 300)} {prose().title(dice, 1)} Street;Springfield;;{dice.below(100_000):05d};",
        f"NOTE:{_escaped(dice.pick(prose().plain))}",
    ]


def build_vcf(order: Order) -> Made:
    """Build one contact or an address book; some have a photo inline."""
    dice = order.dice
    people = everyone()
    lines: list[str] = []
    inner: list[tuple[str, Made]] = []
    terms = [f"NOTE:{_escaped(term)}." for term in order.terms]
    left = order.size
    while left > 0 or not lines:
        card = [*_card(dice, dice.pick(people)), *terms]
        if left > 8000 and len(inner) < 20 and dice.chance(0.3):
            made = order.child("jpg", len(inner), min(left // 2, 30_000))
            card.append("PHOTO;ENCODING=b;TYPE=JPEG:" + base64.b64encode(made.data).decode("ascii"))
            inner.append((f"photo-{len(inner)}", made))
        card.append("END:VCARD")
        lines += card
        left -= sum(map(len, card)) + 2 * len(card)
        terms = []
    return _finish(order, lines, "text/vcard", inner)


def _event(dice: Dice, number: int, stamp: str) -> list[str]:
    people = everyone()
    day = f"20{dice.between(15, 23)}{dice.between(1, 12):02d}{dice.between(1, 28):02d}"
    hour = dice.between(7, 17)
    guests = [dice.pick(people) for _ in range(dice.between(1, 6))]
    organiser = dice.pick(people)
    return [
        "BEGIN:VEVENT",
        f"UID:{dice.below(1 << 60):015x}-{number}@edbench.example",
        f"DTSTAMP:{stamp}",
        f"DTSTART:{day}T{hour:02d}0000Z",
        f"DTEND:{day}T{hour + 1:02d}0000Z",
        f"SUMMARY:{_escaped(prose().title(dice))}",
        f"LOCATION:Room {dice.between(1, 40)}",
        f"ORGANIZER;CN={organiser.name}:mailto:{organiser.address}",
        *(f"ATTENDEE;ROLE=REQ-PARTICIPANT;CN={guest.name}:mailto:{guest.address}" for guest in guests),
        f"DESCRIPTION:{_escaped(' '.join(prose().paragraphs(dice, 200)))}",
    ]


def build_ics(order: Order) -> Made:
    """Build one invitation or a calendar; a few have a file inline."""
    dice = order.dice
    stamp = f"2021{dice.between(1, 12):02d}{dice.between(1, 28):02d}T090000Z"
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Edbench//Corpus//EN", "METHOD:PUBLISH"]
    inner: list[tuple[str, Made]] = []
    terms = [f"COMMENT:{_escaped(term)}." for term in order.terms]
    left, number = order.size - 100, 0
    while left > 0 or not number:
        event = [*_event(dice, number, stamp), *terms]
        if left > 8000 and not inner and dice.chance(0.1):
            made = order.child("txt", 0, 3000)
            coded = base64.b64encode(made.data).decode("ascii")
            event.append(f"ATTACH;VALUE=BINARY;ENCODING=BASE64;FMTTYPE=text/plain;X-FILENAME=agenda.txt:{coded}")
            inner.append(("agenda.txt", made))
        event.append("END:VEVENT")
        lines += event
        left -= sum(map(len, event)) + 2 * len(event)
        terms, number = [], number + 1
    lines.append("END:VCALENDAR")
    return _finish(order, lines, "text/calendar", inner)


MEDIA_TYPE = "application/mbox"


def write_store(letters: Iterable[Letter], put: Callable[[bytes], object]) -> Truth:
    """Write a store message by message, so that its size does not matter for memory."""
    children: list[Placed] = []
    state = hashlib.sha256()
    offset = 0
    for letter in letters:
        made = write(letter)
        head = f"From {letter.sender.address} {time.asctime(time.gmtime(letter.when))}\n".encode()
        for piece in (head, made.data, b"\n"):
            put(piece)
            state.update(piece)
        name = b"message@%d" % offset
        children.append(Placed(name=name, ordinal=offset, kind=Kind.MESSAGE, truth=made.truth))
        offset += len(head) + len(made.data) + 1
    return Truth(
        media_type=MEDIA_TYPE,
        size=offset,
        sha256=state.digest(),
        content=content_of((), children),
        container=True,
        children=tuple(children),
        failed=0,
    )


def build(order: Order) -> Made:
    """Build a small store of messages on their own."""
    pieces: list[bytes] = []
    truth = write_store(notes(order), pieces.append)
    return Made(b"".join(pieces), truth)
