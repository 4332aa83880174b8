"""Decides every loose file of a corpus: path, format, seed key, size, time. No bytes are made here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from core.errors import UsageError
from dataset_gen import faults
from dataset_gen.formats.eml import EPOCH, YEARS
from dataset_gen.mail import Thread, thread
from dataset_gen.people import custodian_names, file_stem, folder
from dataset_gen.profile import Profile
from dataset_gen.rng import Dice, derive
from dataset_gen.workshop import FIRST, Workshop, extension

SMALLEST_RAW = 2_000_000  # bytes; below this the parts of a corpus no longer fit in
STORE = "store"  # an mbox of threads
LETTER = "letter"  # one message of a thread as an eml file
_FILES_A_FOLDER = 10
_LETTERS_A_FOLDER = 250
_MAX_DEPTH = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSpec:
    """One loose file to be written; its bytes follow from the corpus's seed and these."""

    path: bytes  # relative to DIR/data, custodian first
    fmt: str
    key: str
    size: int  # bytes, about
    mtime_ns: int
    letters: tuple[tuple[int, int, frozenset[int]], ...] = ()  # owner, thread number, positions
    largest: int = 0  # largest attachment, as the threads were drawn with


@dataclass(slots=True)
class _Custodian:
    """What one custodian's part looks like while it is planned."""

    number: int
    name: str
    target: int  # raw bytes
    style: str
    dice: Dice
    specs: list[FileSpec] = field(default_factory=list)
    paths: set[bytes] = field(default_factory=set)
    folders: list[str] = field(default_factory=lambda: [""])
    mail_left: float = 0.0
    letters: list[tuple[Thread, int, int]] = field(default_factory=list)  # thread, number, position

    def place(self, name: str, ext: str, where: str | None = None) -> bytes:
        """A path that is not taken yet, in a folder of the tree unless told where."""
        if where is None:
            where = self._folder()
        stem = name.replace("/", "-")
        for number in range(1, 1000):
            shown = stem if number == 1 else f"{stem} ({number})"
            path = "/".join(filter(None, (self.name, where, f"{shown}.{ext}"))).encode("utf-8", "surrogateescape")
            if path not in self.paths:
                self.paths.add(path)
                return path
        raise AssertionError(f"a thousand files named {stem}")

    def _folder(self) -> str:
        """One of the folders; a new one for about every tenth file."""
        if self.dice.chance(1 / _FILES_A_FOLDER):
            parent = self.dice.pick(self.folders)
            if parent.count("/") < _MAX_DEPTH:
                new = f"{parent}/{folder(self.dice)}".lstrip("/")
                if new not in self.folders[-50:]:
                    self.folders.append(new)
        return self.dice.pick(self.folders)

    def time(self) -> int:
        """Some second in nine years, in nanoseconds."""
        return (EPOCH + self.dice.below(YEARS)) * 1_000_000_000 + self.dice.below(1_000_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The loose files of a corpus in path order, and what to expect."""

    profile: Profile
    seed: int
    scale: float
    specs: tuple[FileSpec, ...]
    estimate: int  # raw bytes, about


def make_plan(profile: Profile, seed: int, scale: float) -> Plan:
    """The plan of a corpus; raises UsageError when the scale is too small."""
    raw = profile.raw_bytes * scale
    if raw < SMALLEST_RAW:
        least = SMALLEST_RAW / profile.raw_bytes
        raise UsageError(f"scale {scale:g} gives {raw / 1e6:.1f} MB; take at least {least:.5f}")
    shop = Workshop(profile, seed, scale)
    total = sum(c.weight for c in profile.custodians)
    people = [
        _Custodian(n, name, int(raw * mix.weight / total), mix.mail, Dice(derive(seed, "custodian", n)))
        for n, (name, mix) in enumerate(zip(custodian_names(len(profile.custodians)), profile.custodians, strict=True))
    ]
    largest = max(60_000, int(raw / 150))  # one file may not upset the shares of a small corpus
    _plan_mail(shop, people, largest)
    for person in people:
        _place_mail(person, largest)
    _plan_faults(shop, people)
    _plan_archives(shop, people, largest)
    _plan_documents(shop, people, largest)
    specs = tuple(sorted((s for p in people for s in p.specs), key=lambda s: s.path))
    return Plan(profile=profile, seed=seed, scale=scale, specs=specs, estimate=sum(s.size for s in specs))


def _plan_mail(shop: Workshop, people: list[_Custodian], largest: int) -> None:
    """Threads for whoever has the largest share of his mail still to get, until all have theirs."""
    share = shop.profile.shares["mail"]
    for person in people:
        person.mail_left = person.target * share
    counts = [0] * len(people)
    while True:
        owner = max(people, key=lambda p: p.mail_left / p.target)
        if owner.mail_left <= 0:
            return
        number = counts[owner.number]
        counts[owner.number] += 1
        talk = thread(shop, owner.number, number, largest)
        for rank, holder in enumerate(talk.holders):
            person = people[holder]
            dice = Dice(derive(shop.seed, talk.key, "holder", holder))
            for position, sketch in enumerate(talk.sketches):
                if rank == 0 or dice.chance(0.85):
                    person.letters.append((talk, number, position))
                    person.mail_left -= sketch.estimate


def _place_mail(person: _Custodian, largest: int) -> None:
    """Files for a custodian's mail: one store, a store a folder and year, or a file a message."""
    if person.style == "files":
        _place_letters(person, largest)
        return
    groups: dict[str, list[tuple[Thread, int, int]]] = {}
    for talk, number, position in person.letters:
        year = 2015 + (talk.sketches[0].when - EPOCH) // (365 * 86_400)
        box = ("Inbox", "Inbox", "Sent", "Archive")[derive(0, talk.key) % 4]
        groups.setdefault("All mail" if person.style == "store" else f"{box} {year}", []).append(
            (talk, number, position)
        )
    for name, letters in groups.items():
        together: dict[tuple[int, int], set[int]] = {}
        for talk, number, position in letters:
            together.setdefault((talk.holders[0], number), set()).add(position)
        person.specs.append(
            FileSpec(
                path=person.place(name, "mbox", "Mail"),
                fmt=STORE,
                key=f"{person.name}/{name}",
                size=sum(talk.sketches[position].estimate for talk, _, position in letters),
                mtime_ns=max(talk.sketches[position].when for talk, _, position in letters) * 1_000_000_000,
                letters=tuple((owner, number, frozenset(at)) for (owner, number), at in together.items()),
                largest=largest,
            )
        )


def _place_letters(person: _Custodian, largest: int) -> None:
    for count, (talk, number, position) in enumerate(person.letters):
        sketch = talk.sketches[position]
        person.specs.append(
            FileSpec(
                path=person.place(f"{count:06d}", "eml", f"Mail/{count // _LETTERS_A_FOLDER:03d}"),
                fmt=LETTER,
                key=f"{talk.key}/{position}",
                size=sketch.estimate,
                mtime_ns=sketch.when * 1_000_000_000,
                letters=((talk.holders[0], number, frozenset((position,))),),
                largest=largest,
            )
        )


def _draw_sizes(shop: Workshop, dice: Dice, fmt: str, budget: float, largest: int) -> Iterator[int]:
    """Sizes that add up to the budget; what the last one is over or under is left to chance, fairly."""
    while budget > 0:
        size = shop.size_of(dice, fmt, largest)
        if size > budget and not dice.chance(budget / size):
            return
        budget -= size
        yield size


def _plan_archives(shop: Workshop, people: list[_Custodian], largest: int) -> None:
    for fmt in ("zip", "tar", "tgz", "gz"):
        count = 0
        for person in people:
            budget = person.target * shop.profile.shares[fmt]
            for size in _draw_sizes(shop, person.dice, fmt, budget, largest):
                _add(person, fmt, size, f"{person.name}/{fmt}/{count}")
                count += 1
        if count == 0:  # one of each, however small the corpus
            _add(people[-1], fmt, 20_000, f"{people[-1].name}/{fmt}/0")


def _add(person: _Custodian, fmt: str, size: int, key: str) -> None:
    path = person.place(file_stem(person.dice), extension(fmt))
    person.specs.append(FileSpec(path=path, fmt=fmt, key=key, size=size, mtime_ns=person.time()))


def _plan_faults(shop: Workshop, people: list[_Custodian]) -> None:
    """At least one of each kind."""
    profile = shop.profile
    dice = Dice(derive(shop.seed, "faults"))
    files = profile.raw_bytes * shop.scale / 90_000  # loose files, about
    for fault, (_, size) in faults.FILES.items():
        for number in range(max(1, int(files * profile.faults[fault] + 0.5))):
            _add(dice.pick(people), fault, size, f"fault/{number}")


def _plan_documents(shop: Workshop, people: list[_Custodian], largest: int) -> None:
    """Loose documents for the rest of each custodian's bytes; some copy another one, of any custodian."""
    profile = shop.profile
    names, totals = profile.choices("loose")
    originals: list[FileSpec] = []
    for fmt in names:  # one of each, with terms to be found, however small the corpus
        size = shop.size_of(people[0].dice, fmt, 60_000)
        _add(people[0], fmt, size, f"{FIRST}{fmt}")
    for person in people:
        budget, number, dice = person.target - sum(s.size for s in person.specs), 0, person.dice
        while budget > 0:
            if originals and dice.chance(profile.duplicates["loose_copies"]):
                spec = dice.pick(originals)
                fmt, key, size = spec.fmt, spec.key, spec.size
            else:
                fmt = dice.weighted(names, totals)
                key, size = f"{person.name}/{number}", shop.size_of(dice, fmt, largest)
            number += 1
            if size > budget and not dice.chance(budget / size):
                break
            budget -= size
            stem = file_stem(dice)
            if dice.chance(profile.faults["raw_names"]) or (person.number == 1 and number == 1):
                stem = b"r\xe9sum\xe9 ".decode("utf-8", "surrogateescape") + str(number)
            path = person.place(stem, extension(fmt))
            person.specs.append(FileSpec(path=path, fmt=fmt, key=key, size=size, mtime_ns=person.time()))
            originals.append(person.specs[-1])
