"""The mail of a plan: threads for all custodians until each has his bytes, then the files that hold them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dataset_gen.formats.mail.eml import EPOCH
from dataset_gen.material.mail import Thread, thread
from dataset_gen.planning.shelf import LETTER, MAILDIR, NOTE, PST, STORE, FileSpec, Shelf
from dataset_gen.rng import Dice, derive
from dataset_gen.workshop import Workshop

_LETTERS_A_FOLDER = 250
_KEPT = 0.85  # of a thread's messages are also with custodians who do not own it
_YEAR = 365 * 86_400
_SINGLE = {"files": (LETTER, "eml"), "msg": (NOTE, "msg"), "maildir": (MAILDIR, "")}


@dataclass(slots=True)
class _Box:
    """One mailbox while it is filled."""

    shelf: Shelf
    wanted: float
    left: float
    letters: list[tuple[Thread, int, int]]  # thread, number, position


def plan_mail(
    shop: Workshop, shelves: list[Shelf], shares: Sequence[float], largest: int, lengths: Counter[int]
) -> list[FileSpec]:
    """All files that hold mail, of each custodian's bytes the given share; none when all are 0. Threads are counted by
    their messages in `lengths`."""
    if not any(shares):
        return []
    boxes = [_Box(s, s.target * share, s.target * share, []) for s, share in zip(shelves, shares, strict=True)]
    counts = [0] * len(boxes)
    while boxes:
        owner = max(boxes, key=lambda b: b.left / max(1.0, b.wanted))
        if owner.left <= 0:
            break
        at = owner.shelf.number
        talk = thread(shop, at, counts[at], largest)
        lengths[len(talk.sketches)] += 1
        _keep(shop, boxes, talk, counts[at])
        counts[at] += 1
    out: list[FileSpec] = []
    for box in boxes:
        out += _single_files(box, largest) if box.shelf.style in _SINGLE else _stores(box, largest)
    return out


def _keep(shop: Workshop, boxes: list[_Box], talk: Thread, number: int) -> None:
    for rank, holder in enumerate(talk.holders):
        dice = Dice(derive(shop.seed, talk.key, "holder", holder))
        for position, sketch in enumerate(talk.sketches):
            if rank == 0 or dice.chance(_KEPT):
                boxes[holder].letters.append((talk, number, position))
                boxes[holder].left -= sketch.estimate


def _single_files(box: _Box, largest: int) -> list[FileSpec]:
    fmt, ext = _SINGLE[box.shelf.style]
    out = []
    for count, (talk, number, position) in enumerate(box.letters):
        sketch = talk.sketches[position]
        if fmt == MAILDIR:
            where, name = _maildir_name(talk, position)
        else:
            where, name = f"Mail/{count // _LETTERS_A_FOLDER:03d}", f"{count:06d}"
        out.append(
            FileSpec(
                path=box.shelf.place(name, ext, where),
                fmt=fmt,
                key=f"{talk.key}/{position}",
                size=sketch.estimate,
                mtime_ns=sketch.when * 1_000_000_000,
                letters=((talk.holders[0], number, (position,)),),
                largest=largest,
            )
        )
    return out


def _maildir_name(talk: Thread, position: int) -> tuple[str, str]:
    """Directory and name as in a Maildir: unread messages are in `new`, the others in `cur` with their flags."""
    draw = derive(0, talk.key, position, "flags")
    name = f"{talk.sketches[position].when}.M{draw % 1_000_000:06d}P{draw // 7 % 30_000}.mail"
    folder = ("", "", ".Sent/", ".Archive/")[derive(0, talk.key) % 4]
    if draw % 12 == 0:
        return f"Maildir/{folder}new", name
    flags = "".join(flag for bit, flag in ((3, "F"), (2, "R")) if draw >> bit & 3 == 0)
    return f"Maildir/{folder}cur", f"{name}:2,{flags}S"


def _stores(box: _Box, largest: int) -> list[FileSpec]:
    """One store, or a store a folder and year."""
    groups: dict[str, list[tuple[Thread, int, int]]] = {}
    for talk, number, position in box.letters:
        year = 2015 + (talk.sketches[0].when - EPOCH) // _YEAR
        part = ("Inbox", "Inbox", "Sent", "Archive")[derive(0, talk.key) % 4]
        name = {"store": "All mail", "folders": f"{part} {year}"}.get(box.shelf.style, _pst_name(box.shelf, year))
        groups.setdefault(name, []).append((talk, number, position))
    pst = box.shelf.style == "pst"
    return [
        _store(box.shelf, name, letters, PST if pst else STORE, "pst" if pst else "mbox", largest)
        for name, letters in groups.items()
    ]


def _pst_name(shelf: Shelf, year: int) -> str:
    """Some keep all in one file, some archive by years."""
    return "Outlook" if shelf.number % 2 else f"Archive {year - year % 3}"


def _store(
    shelf: Shelf, name: str, letters: list[tuple[Thread, int, int]], fmt: str, ext: str, largest: int
) -> FileSpec:
    together: dict[tuple[int, int], set[int]] = {}
    for talk, number, position in letters:
        together.setdefault((talk.holders[0], number), set()).add(position)
    return FileSpec(
        path=shelf.place(name, ext, "Mail"),
        fmt=fmt,
        key=f"{shelf.name}/{name}",
        size=sum(talk.sketches[position].estimate for talk, _, position in letters),
        mtime_ns=max(talk.sketches[position].when for talk, _, position in letters) * 1_000_000_000,
        letters=tuple((owner, number, tuple(sorted(at))) for (owner, number), at in together.items()),
        largest=largest,
    )
