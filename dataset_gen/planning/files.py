"""Decides every loose file of a corpus: path, format, seed key, size, time. No bytes are made here.

A corpus is planned in rounds: `Planner.rounds` yields files, and when they are written and counted it decides what is
still missing (see `level`). The same counts give the same files, so a plan follows from profile, seed and scale."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.errors import UsageError
from dataset_gen import faults
from dataset_gen.formats.eml import EPOCH
from dataset_gen.languages import SIZES, Manner, pairs, sample_key, sample_size
from dataset_gen.material.blocks import plan_series
from dataset_gen.material.mail import Thread, thread
from dataset_gen.material.people import custodian_names, file_stem, folder
from dataset_gen.material.system_files import SYSTEM_FILES
from dataset_gen.material.text import prose
from dataset_gen.mix import Profile, Tree
from dataset_gen.planning.level import archive_bytes, archive_counts, counts, fitted, goal_of, stretches
from dataset_gen.planning.tally import CorpusTotals
from dataset_gen.rng import Dice, Even, at_share, derive, size_at
from dataset_gen.workshop import FIRST, NEAR, WITH_TEXT, Workshop, extension

STORE = "store"  # an mbox of threads
LETTER = "letter"  # one message of a thread as an eml file
MAILDIR = "maildir"  # one message of a thread as a file of a Maildir
PST = "pst-store"  # a PST of threads
NOTE = "msg-letter"  # one message of a thread as a msg file
SYSTEM_FILE = "system"
SERIES = "series"
LANGUAGE = "language"  # a piece of real text in some charset
ITEM_BYTES = 60_000  # raw bytes for each loose file, about, for the numbers of rare things
_YEAR = 365 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSpec:
    """One loose file to be written; its bytes follow from the corpus's seed and these."""

    path: bytes  # relative to DIR/data, custodian first
    fmt: str
    key: str
    size: int  # bytes, about
    mtime_ns: int
    letters: tuple[tuple[int, int, tuple[int, ...]], ...] = ()  # owner, thread number, positions
    largest: int = 0  # largest attachment, as the threads were drawn with


@dataclass(slots=True)
class Shelf:
    """One custodian's part of the corpus."""

    number: int
    name: str
    target: int  # raw bytes
    style: str
    dice: Dice
    tree: Tree
    paths: set[bytes] = field(default_factory=set)
    folders: list[str] = field(default_factory=lambda: [""])
    planned: int = 0  # bytes, about

    def place(self, name: str, ext: str, where: str | None = None) -> bytes:
        """Return an unused path in the folder `where`; by default in a folder of the tree."""
        if where is None:
            where = self._folder()
        stem = name.replace("/", "-")
        for number in range(1, 100_000):
            shown = stem if number == 1 else f"{stem} ({number})"
            full = f"{shown}.{ext}" if ext else shown
            path = "/".join(filter(None, (self.name, where, full))).encode("utf-8", "surrogateescape")
            if path not in self.paths:
                self.paths.add(path)
                return path
        raise AssertionError(f"too many files named {stem}")

    def _folder(self) -> str:
        """Return one of the folders; now and then a new one."""
        if self.dice.chance(1 / self.tree.files_a_folder):
            parent = self.dice.pick(self.folders)
            if parent.count("/") < self.tree.deepest:
                new = f"{parent}/{folder(self.dice)}".lstrip("/")
                if new not in self.folders[-50:]:
                    self.folders.append(new)
        return self.dice.pick(self.folders)

    def time(self) -> int:
        """Return a time in nanoseconds; recent years have more files than early ones."""
        back = self.dice.random() * self.dice.random()
        seconds = int(self.tree.years * _YEAR * (1 - back))
        return (EPOCH + seconds) * 1_000_000_000 + self.dice.below(1_000_000_000)


_LETTERS_A_FOLDER = 250
_KEPT = 0.85  # of a thread's messages are also with custodians who do not own it
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
        dice = Dice(derive(shop.seed, talk.key, "holder", holder)) if rank else None  # its owner keeps all
        for position, sketch in enumerate(talk.sketches):
            if dice is None or dice.chance(_KEPT):
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
    """Return directory and name in a Maildir: unread messages are in `new`, the others in `cur` with their flags."""
    draw = derive(0, talk.key, position, "flags")
    name = f"{talk.sketches[position].when}.M{draw % 1_000_000:06d}P{draw // 7 % 30_000}.mail"
    folder = ("", "", ".Sent/", ".Archive/")[derive(0, talk.key) % 4]
    if draw % 12 == 0:
        return f"Maildir/{folder}new", name
    flags = "".join(flag for bit, flag in ((3, "F"), (2, "R")) if draw >> bit & 3 == 0)
    return f"Maildir/{folder}cur", f"{name}:2,{flags}S"


def _stores(box: _Box, largest: int) -> list[FileSpec]:
    """Return one store, or a store for each folder and year."""
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
    """Return the name of a store: some custodians keep all in one file, some archive by years."""
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


SMALLEST_RAW = 2_000_000  # bytes; below this the parts of a corpus no longer fit in
_FIRST_BYTES = 60_000  # of the one of each format, at most
_OPEN = 0.64  # share of the archives that is drawn by chance, where the rest can level the totals out
_OPEN_DOCUMENTS = 0.35  # share of the loose documents; mail and the content of archives must fit in as well
_SURE = 0.8  # part of the missing archives that is made at once: they hold others, by chance
_SMALL_ARCHIVE = 60_000  # bytes
_ROUNDS = (0.7, 0.75, 0.8, 1.0)  # parts of the missing documents that each levelling round adds


class Planner:
    """Planner of one corpus; iterate over `rounds` once."""

    def __init__(self, profile: Profile, seed: int, scale: float) -> None:
        raw = profile.raw_bytes * scale
        if raw < SMALLEST_RAW:
            least = math.ceil(SMALLEST_RAW / profile.raw_bytes * 1e5) / 1e5  # the scale that is printed has to suffice
            raise UsageError(f"scale {scale:g} gives {raw / 1e6:.1f} MB; use at least {least:.5f}")
        self.profile, self.seed, self.scale = profile, seed, scale
        self.raw = int(raw)
        self.goal = goal_of(profile, scale)
        self.shop = Workshop(profile, seed, scale)
        self.largest = max(60_000, int(raw / 150))  # one file may not upset the shares of a small corpus
        total = sum(c.weight for c in profile.custodians)
        people = zip(custodian_names(len(profile.custodians)), profile.custodians, strict=True)
        self.shelves = [
            Shelf(n, name, int(raw * c.weight / total), c.mail, Dice(derive(seed, "custodian", n)), profile.tree)
            for n, (name, c) in enumerate(people)
        ]
        self.threads: Counter[int] = Counter()  # by number of messages
        self._numbers: Counter[str] = Counter()
        self._sizes: dict[str, Even] = {}
        self._asked: Counter[str] = Counter()  # bytes of each format that were planned
        self._originals: list[FileSpec] = []

    def rounds(self, tally: CorpusTotals) -> Iterator[list[FileSpec]]:
        """Yield the files to write, round by round; `tally` must include all of them before the next round."""
        yield self._first()
        if not any(mix.loose for mix in self.profile.formats.values()):
            return
        yield self._level_archives(tally)
        for part in _ROUNDS if self.goal.types else (1.0,):
            yield self._level_documents(tally, part)
        self._originals.clear()  # 100 MB of a whole corpus that nothing needs any more
        for shelf in self.shelves:
            shelf.paths.clear()

    def _first(self) -> list[FileSpec]:
        """Return mail, series, faults, system files, and most of archives and documents."""
        out = plan_mail(self.shop, self.shelves, self.profile.mail_shares(), self.largest, self.threads)
        out += self._series()
        out += self._language_files()
        out += self._one_of_each()
        out += self._faults()
        out += self._system_files()
        shelves = {shelf.name: shelf for shelf in self.shelves}
        for spec in out:
            shelves[spec.path.partition(b"/")[0].decode()].planned += spec.size
        containers = [fmt for fmt in self.profile.shares if fmt != "mail"]
        for fmt in containers:
            out += self._archives(fmt, self.raw * self.profile.shares[fmt] * _OPEN)
        out += self._documents()
        return out

    def _series(self) -> list[FileSpec]:
        out = []
        for at, series in enumerate(self.profile.series):
            shelf = self.shelves[at % len(self.shelves)]
            for n, file in enumerate(plan_series(series, self.seed, self.raw * series.share)):
                where, _, name = file.name.rpartition("/")
                path = shelf.place(name.rpartition(".")[0], name.rpartition(".")[2], where)
                key = f"{at}/{n}"
                out.append(FileSpec(path=path, fmt=SERIES, key=key, size=file.size, mtime_ns=shelf.time()))
        return out

    def _language_files(self) -> list[FileSpec]:
        """Return every language in every charset, at least once."""
        if not self.profile.language_files:
            return []
        wanted = self.raw * self.profile.language_files / (sum(SIZES) / len(SIZES))
        out = []
        for number in range(max(len(pairs()), round(wanted))):
            shelf = self.shelves[number % len(self.shelves)]
            key, size = sample_key(number), sample_size(number)
            language, charset, manner, _ = key.split("/")
            path = shelf.place(f"{charset} {manner}", Manner(manner).kind, language)
            out.append(FileSpec(path=path, fmt=LANGUAGE, key=key, size=size, mtime_ns=shelf.time()))
        return out

    def _add(self, shelf: Shelf, fmt: str, size: int, key: str, stem: str | None = None) -> FileSpec:
        name = file_stem(shelf.dice) if stem is None else stem
        path = shelf.place(name, extension(fmt))
        self._asked[fmt] += size
        return FileSpec(path=path, fmt=fmt, key=key, size=size, mtime_ns=shelf.time())

    def _one_of_each(self) -> list[FileSpec]:
        """Return one of each loose format, with terms to be found, and of each container, however small the corpus."""
        loose, _ = self.profile.choices("loose")
        formats = [*loose, *(fmt for fmt in self.profile.shares if fmt != "mail" and fmt not in loose)]
        room = min(_FIRST_BYTES, self.raw // (5 * max(1, len(formats))))
        return [
            self._add(self.shelves[n % len(self.shelves)], fmt, self._size(fmt, room), f"{FIRST}{fmt}")
            for n, fmt in enumerate(formats)
        ]

    def _faults(self) -> list[FileSpec]:
        """Plan the faults of the profile: at least one file of each kind."""
        dice = Dice(derive(self.seed, "faults"))
        files = self.raw / ITEM_BYTES
        out = []
        for fault, share in self.profile.faults.items():
            for number in range(max(1, round(files * share)) if share else 0):
                out.append(self._add(dice.pick(self.shelves), fault, faults.FILES[fault][1], f"fault/{number}"))
        return out

    def _system_files(self) -> list[FileSpec]:
        """Return the system files of each custodian: a number from the start of the list, fewest for the last
        custodian."""
        if not self.profile.system_files:
            return []
        wanted = max(len(self.shelves), round(self.raw / ITEM_BYTES * self.profile.system_files))
        out = []
        for n, shelf in enumerate(self.shelves):
            mine = wanted * (n + 1) // len(self.shelves) - wanted * n // len(self.shelves)
            for copy in range(mine):
                entry = SYSTEM_FILES[copy % len(SYSTEM_FILES)]
                where = entry.folder if copy < len(SYSTEM_FILES) else f"{entry.folder}/{copy // len(SYSTEM_FILES)}"
                path = shelf.place(entry.stem, entry.fmt, where)
                out.append(
                    FileSpec(path=path, fmt=SYSTEM_FILE, key=entry.key, size=entry.size, mtime_ns=entry.mtime_ns)
                )
        return out

    def _size(self, fmt: str, largest: int) -> int:
        """Return the format's next size: over many calls, all sizes occur as often as the profile demands."""
        even = self._sizes.get(fmt)
        if even is None:
            even = self._sizes[fmt] = Even(derive(self.seed, "sizes", fmt) % 65_536 / 65_536)
        mix = self.profile.formats[fmt]
        return size_at(even.next(), mix.median, mix.sigma, 300, max(300, min(mix.largest, largest)))

    def _archives(self, fmt: str, budget: float, number: int | None = None) -> list[FileSpec]:
        """Archives of about that many bytes together; of a given number where there is one."""
        sizes: list[int] = []
        while (number is None and sum(sizes) < budget) or (number is not None and len(sizes) < number):
            sizes.append(self._size(fmt, self.largest))
        if number is not None and sizes:
            factor = budget / sum(sizes)
            sizes = [max(300, min(int(size * factor), 4 * self.largest)) for size in sizes]
        out = []
        for size in sorted(sizes, reverse=True):
            shelf = max(self.shelves, key=lambda s: s.target - s.planned)
            shelf.planned += size
            out.append(self._add(shelf, fmt, size, f"{fmt}/{self._number(fmt)}"))
        return out

    def _number(self, fmt: str) -> int:
        self._numbers[fmt] += 1
        return self._numbers[fmt]

    def _documents(self) -> list[FileSpec]:
        """Loose documents for most of each custodian's bytes; some copy another one, of any custodian."""
        names, totals = self.profile.choices("loose")
        kinds = Even(derive(self.seed, "kinds") % 65_536 / 65_536)
        out: list[FileSpec] = []
        for shelf in self.shelves:
            reserve = (1 - _OPEN) * sum(v for k, v in self.profile.shares.items() if k != "mail")
            budget = (shelf.target * (1 - reserve) - shelf.planned) * _OPEN_DOCUMENTS if names else 0.0
            while budget > 0:
                fmt = at_share(names, totals, kinds.next())
                spec = self._document(shelf, fmt, self._size(fmt, self.largest))
                if spec.size > budget and not shelf.dice.chance(budget / spec.size):
                    break
                budget -= spec.size
                out.append(spec)
        return out

    def _document(self, shelf: Shelf, fmt: str, size: int) -> FileSpec:
        """Return a new document, a copy of another one or a near-duplicate."""
        dice, mix = shelf.dice, self.profile.duplicates
        key = f"{fmt}/{self._number(fmt)}"
        draw = dice.random()
        if draw < mix.loose_copies + mix.near_copies and self._originals:
            same = [s for s in (dice.pick(self._originals) for _ in range(4)) if s.fmt == fmt]
            if same and draw < mix.loose_copies:
                return self._add(shelf, fmt, same[0].size, same[0].key)
            if same and fmt in WITH_TEXT:
                return self._add(shelf, fmt, same[0].size, f"{same[0].key}{NEAR}{self._number('near')}")
        spec = self._add(shelf, fmt, size, key, self._odd_name(dice))
        self._originals.append(spec)
        return spec

    def _odd_name(self, dice: Dice) -> str | None:
        """Return now and then a name that is not UTF-8; of the first two documents, one has such a name and one a long
        name."""
        number = self._number("documents")
        if number == 2:
            return f"{prose().title(dice, 30)} {prose().title(dice, 30)}"[:180].strip()
        if dice.chance(self.profile.tree.raw_names) or number == 1:
            return b"r\xe9sum\xe9 ".decode("utf-8", "surrogateescape") + str(number)
        return None

    def _level_archives(self, tally: CorpusTotals) -> list[FileSpec]:
        """Archives for the expansion that is still missing."""
        shares = {fmt: share for fmt, share in self.profile.shares.items() if fmt != "mail"}
        loose = {fmt: mix.loose for fmt, mix in self.profile.formats.items() if mix.loose}
        self._measure(tally)
        total = sum(shares.values())
        if not total:
            return []
        budget = archive_bytes(self.goal, tally, shares, loose)
        if not self.goal.extracted:
            budget = self.raw * total * (1 - _OPEN)
        budgets = {fmt: budget * share / total for fmt, share in shares.items()}
        number = {fmt: int(_SURE * n) for fmt, n in archive_counts(self.goal, tally, budgets).items()}
        out = []
        for fmt, size in budgets.items():
            out += self._archives(fmt, size / self._drift(fmt, tally), number.get(fmt))
        return out

    def _missing_archives(self, tally: CorpusTotals) -> list[FileSpec]:
        """Return small archives for those that are still missing."""
        nothing = {fmt: 0.0 for fmt in self.profile.shares if fmt != "mail"}
        out = []
        for fmt, number in archive_counts(self.goal, tally, nothing).items():
            out += self._archives(fmt, number * _SMALL_ARCHIVE, number)
        return out

    def _drift(self, fmt: str, tally: CorpusTotals) -> float:
        """Return the ratio of written to requested bytes of a format, within bounds."""
        asked = self._asked[fmt]
        return min(max(tally.formats[fmt].raw / asked, 0.4), 2.5) if asked and fmt in tally.formats else 1.0

    def _measure(self, tally: CorpusTotals) -> None:
        for shelf in self.shelves:
            shelf.planned = tally.custodians[shelf.name]

    def _level_documents(self, tally: CorpusTotals, part: float) -> list[FileSpec]:
        """Loose documents for the types, bytes and pages that are still missing."""
        self._measure(tally)
        names, _ = self.profile.choices("loose")
        weights = {fmt: self.profile.formats[fmt].loose for fmt in names}
        sizes = self._level_sizes(tally, weights, part)
        out = self._missing_archives(tally) if part != _ROUNDS[0] else []
        drifts = {fmt: self._drift(fmt, tally) for fmt in sizes}
        for size, fmt in sorted(((s, f) for f, all_sizes in sizes.items() for s in all_sizes), reverse=True):
            shelf = max(self.shelves, key=lambda s: s.target - s.planned)
            shelf.planned += size
            out.append(self._document(shelf, fmt, max(300, int(size / drifts[fmt]))))
        return out

    def _level_sizes(self, tally: CorpusTotals, weights: dict[str, float], part: float) -> dict[str, list[int]]:
        """Sizes of the documents that a round adds, by format."""
        missing = counts(self.goal, tally, weights)
        if not missing:
            return self._sizes_for(self.goal.raw - tally.raw, weights)
        number = {fmt: round(count) for fmt, count in missing.items()}
        sizes = {fmt: [self._size(fmt, self.largest) for _ in range(count)] for fmt, count in number.items()}
        factors = stretches(self.goal, tally, {f: float(sum(s)) for f, s in sizes.items()})
        least = {fmt: tally.formats[fmt].smallest for fmt in sizes}
        most = {fmt: min(2 * self.largest, self.profile.formats[fmt].largest) for fmt in sizes}
        stretched = fitted(sizes, factors, least, most, self.goal.raw - tally.raw)
        return stretched if part == 1.0 else {fmt: some[: int(len(some) * part)] for fmt, some in stretched.items()}

    def _sizes_for(self, budget: float, weights: dict[str, float]) -> dict[str, list[int]]:
        """Sizes that add up to the budget, formats by weight."""
        names, totals = self.profile.choices("loose")
        kinds = Even(derive(self.seed, "kinds", "last") % 65_536 / 65_536)
        out: dict[str, list[int]] = {fmt: [] for fmt in weights}
        while budget > 300:
            fmt = at_share(names, totals, kinds.next())
            size = min(self._size(fmt, self.largest), int(budget) + 1)
            out[fmt].append(size)
            budget -= size
        return out


def outline(profile: Profile, scale: float) -> dict[str, Any]:
    """Totals and shares; a total is 0 where the profile leaves it to chance."""
    goal = goal_of(profile, scale)
    weight = sum(c.weight for c in profile.custodians)
    names = custodian_names(len(profile.custodians))
    mail = {"mail": profile.mail_share()} if profile.mail_share() else {}
    shares = {**profile.shares, **mail, **{f"series {s.kind}": s.share for s in profile.series}}
    if profile.language_files:
        shares["language files"] = profile.language_files
    rest = 1 - sum(shares.values())
    if rest > 1e-6:
        shares["loose documents"] = rest
    loose = {name: mix for name, mix in profile.formats.items() if mix.loose}
    total = sum(mix.loose for mix in loose.values())
    return {
        "name": profile.name,
        "version": profile.version,
        "about": profile.about,
        "scale": scale,
        "raw_bytes": int(goal.raw),
        "items": round(goal.items),
        "pages": round(goal.pages),
        "discovered_bytes": int(goal.raw + goal.extracted) if goal.extracted else 0,
        "custodians": [
            {
                "name": name,
                "raw_bytes": int(goal.raw * c.weight / weight),
                "mail": c.mail if share else "-",
                "mail_bytes": int(goal.raw * c.weight / weight * share),
            }
            for name, c, share in zip(names, profile.custodians, profile.mail_shares(), strict=True)
        ],
        "shares": {name: {"share": share, "raw_bytes": int(goal.raw * share)} for name, share in shares.items()},
        "types": {name: {"share": share, "items": round(goal.items * share)} for name, share in profile.types.items()},
        "loose": {name: {"share": mix.loose / total, "median": int(mix.median)} for name, mix in loose.items()},
        "faults": {
            name: max(1, round(goal.raw / ITEM_BYTES * share)) for name, share in profile.faults.items() if share
        },
    }
