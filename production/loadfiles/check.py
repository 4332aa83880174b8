"""Whether a production is what its load files say: every file there with its hash, numbers and families whole, pages as they are
counted, and the load files the same of all of it.

All of them are read once, in step, a record at a time. Held in memory are paths of files, and what is attached to what.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TypeVar

from core.errors import StorageFault, UsageError
from production.loadfiles.checks.documents import files_wrong
from production.loadfiles.checks.filed import KINDS, NATIVE, TEXT, Filed, read_filed, wrong
from production.loadfiles.checks.pages import numbered_wrong, pages_of, told_wrong
from production.loadfiles.checks.ranges import Ranges
from production.loadfiles.checks.stepping import Stepping
from production.loadfiles.checks.values import TITLES, differing
from production.loadfiles.reading import Told, dat_encoding, inside, read_csv, read_dat, read_edrm, read_lines
from production.loadfiles.reading_opt import read_opt

T = TypeVar("T")
Row = Mapping[str, str]  # a record by the columns of a table
_RANGE = ("begin", "end", "begin_family", "end_family")
_LISTED, _TABLE = "hashes.csv", "metadata.csv"  # the second of a job that writes no DAT
_WITHHELD = "withheld.csv"  # of an export of pages that leaves some out
_NOT_TAGS = frozenset({"begin", "parent", NATIVE, TEXT})  # EDRM XML has them otherwise


@dataclass(slots=True)
class Checked:
    """What was looked at; each fault is a line that was told."""

    records: int = 0
    files: int = 0
    faults: int = 0
    load_files: list[str] = field(default_factory=list)


def check(root: Path, tell: Callable[[str], None], *, contents: bool = True, records: int | None = None) -> Checked:
    """Each fault is told in a line. Without `contents` files are not read and not looked for, which somebody else does then, but
    the load files are compared. `records`: how many there are to be, where that is known; nothing else shows an end that all
    load files lack. Raises UsageError where there is none, or one cannot be read at all; StorageFault."""
    first = _first(root)
    try:
        at = _Check(root, first, tell, contents=contents)
        rows = _rows(first)
        ahead = next(rows, None)
        while ahead is not None:
            row, ahead = ahead, next(rows, None)
            at.record(row, None if ahead is None else ahead["begin"])
        at.end()
        if records is not None and at.done.records != records:
            at.fault(f"{first.name}: {at.done.records:,} records, but {records:,} are expected")
    except OSError as error:
        raise StorageFault(f"{root}: {error.strerror or error}") from error
    return at.done


def _first(root: Path) -> Path:
    """The load file that the others are held against."""
    dats, listed, table = sorted(root.glob("*.dat")), root / _LISTED, root / _TABLE
    if listed.is_file() and len(dats) == 1:
        return dats[0]
    if listed.is_file() and not dats and table.is_file():
        return table
    raise UsageError(
        f"{root} has {len(dats)} load files *.dat, {'a' if table.is_file() else 'no'} {_TABLE} and"
        f" {'a' if listed.is_file() else 'no'} {_LISTED}; expected are {_LISTED} and one *.dat, or {_LISTED} and {_TABLE}"
    )


def _rows(first: Path) -> Iterator[Row]:
    dat = first.suffix == ".dat"
    for number, row in enumerate(read_dat(first) if dat else read_csv(first)):
        called = {name: title if dat else name for name, title in TITLES.items()}
        if number == 0 and (lacking := [called[name] for name in _RANGE if called[name] not in row]):
            raise UsageError(f"{first} has no field {', '.join(lacking)}")
        yield {name: row[title] or "" for name, title in called.items() if title in row}


def _withheld(listed: Path) -> Iterator[tuple[str, str]]:
    """Numbers that a production says it leaves out."""
    for row in read_csv(listed) if listed.is_file() else ():
        yield row.get("begin") or "", row.get("end") or ""


class _Check:
    """A record at a time against every load file there is."""

    def __init__(self, root: Path, first: Path, tell: Callable[[str], None], *, contents: bool) -> None:
        self.root, self.done, self._first, self._tell, self._contents = root, Checked(), first, tell, contents
        self._dat = first.suffix == ".dat"
        self._narrow = self._dat and dat_encoding(first) == "cp1252"
        self._listed: set[str] = set()
        self._parents: dict[str, str] = {}  # that XML is still to tell of
        self._relations: Iterator[tuple[str, Told | str]] = iter(())
        self._rest: list[Callable[[], None]] = []
        self.done.load_files.append(first.name)
        self._ranges = Ranges(self.fault, _withheld(root / _WITHHELD))
        self._hashes = self._step(root / _LISTED, self._filed)
        beside, read = (first.with_suffix(".csv"), read_csv) if self._dat else (first.with_suffix(".jsonl"), read_lines)
        self._table = self._beside(
            beside, lambda path: ((row.get("begin") or "", row) for row in read(path)), wanted=True
        )
        self._xml = self._beside(first.with_suffix(".xml"), self._documents, wanted=self._dat)
        self._opt = self._beside(_only(root, "opt"), read_opt, wanted=False)  # pages want it

    def fault(self, line: str) -> None:
        """One more."""
        self.done.faults += 1
        self._tell(line)

    def _step(self, path: Path, read: Callable[[Path], Iterator[tuple[str, T]]]) -> Stepping[T]:
        made = Stepping(path.name, self._first.name, read(path), self.fault)
        self._rest.append(made.rest)
        return made

    def _beside(
        self, path: Path, read: Callable[[Path], Iterator[tuple[str, T]]], *, wanted: bool
    ) -> Stepping[T] | None:
        if not path.is_file():
            if wanted and self._contents:  # else whoever looks for files tells of it
                self.fault(f"{path.name}: missing")
            return None
        self.done.load_files.append(path.name)
        return self._step(path, read)

    def _filed(self, listed: Path) -> Iterator[tuple[str, list[Filed]]]:
        for begin, files in read_filed(listed):
            for file in files:
                if file.path in self._listed:
                    self.fault(f"{begin}: {listed.name} has {file.path} twice")
                self._listed.add(file.path)
            yield begin, files

    def _documents(self, xml: Path) -> Iterator[tuple[str, Told]]:
        """Those before the first relationship."""
        told = read_edrm(xml)
        for number, one in told:
            if isinstance(one, str):
                self._relations = chain([(number, one)], told)
                return
            yield number, one

    def record(self, row: Row, following: str | None) -> None:
        """The next one, and the number of the one behind it."""
        begin = row["begin"]
        self._ranges.at(row)
        files = self._hashes.at(begin, following, wanted=False) or []
        self.done.records, self.done.files = self.done.records + 1, self.done.files + len(files)
        for line in chain(self._read(files), self._named(row, files), self._paged(row, files, following)):
            self.fault(line)
        if self._table is not None and (told := self._table.at(begin, following)) is not None:
            self._compared(row, told, self._table.name, row.keys())
        if self._xml is not None:
            if row.get("parent"):
                self._parents[begin] = row["parent"]
            if (document := self._xml.at(begin, following)) is not None:
                values = {name: document.values.get(title, "") for name, title in TITLES.items()}
                self._compared(row, values, self._xml.name, [name for name in row if name not in _NOT_TAGS])
                for line in files_wrong(begin, document, files, self._xml.name, _LISTED):
                    self.fault(line)

    def _read(self, files: list[Filed]) -> Iterator[str]:
        for file in files if self._contents else ():
            if (why := wrong(self.root, file, _LISTED)) is not None:
                yield why

    def _named(self, row: Row, files: list[Filed]) -> Iterator[str]:
        """Native and text are those of the list, and so are hashes and bytes."""
        begin = row["begin"]
        for name in (NATIVE, TEXT):
            said, title = row.get(name, ""), self._title(name)
            path, listed = said.replace("\\", "/"), [file.path for file in files if file.kind == name]
            if said and path not in listed:
                inner = inside(self.root, said) is not None
                why = (
                    f"{said} is not listed for {begin} in {_LISTED}" if inner else f"{said!r} is outside the production"
                )
                yield f"{begin}: {title} {why}"
            yield from (f"{begin}: {title} does not name {one}, which {_LISTED} has" for one in listed if one != path)
        yield from (f"{begin}: {_LISTED} calls {file.path} {file.kind!r}" for file in files if file.kind not in KINDS)
        native = next((file for file in files if file.kind == NATIVE), None)
        if native is None and row.get("md5"):
            yield f"{begin}: {self._title('md5')} is given, but there is no native"
        elif native is not None:
            ours = {"md5": native.md5, "sha256": native.sha256, "bytes": native.bytes}
            for name in (name for name, value in ours.items() if row.get(name, value) != value):
                yield f"{begin}: {self._title(name)} is not that of {native.path}"

    def _paged(self, row: Row, files: list[Filed], following: str | None) -> Iterator[str]:
        images = pages_of(files)
        yield from numbered_wrong(row, images, _LISTED)
        if images and self._opt is None:
            yield f"{row['begin']}: has pages, but there is no load file *.opt"
        elif images and self._opt is not None and (document := self._opt.at(row["begin"], following)) is not None:
            yield from told_wrong(self.root, document, images, self._opt.name, _LISTED)

    def _compared(self, row: Row, other: Row, name: str, columns: Iterable[str]) -> None:
        if differ := differing(row, other, columns, narrow=self._narrow):
            titles = ", ".join(map(self._title, differ))
            self.fault(f"{row['begin']}: {name} and {self._first.name} differ in {titles}")

    def _title(self, name: str) -> str:
        return TITLES[name] if self._dat else name

    def end(self) -> None:
        """There is no record any more."""
        self._ranges.end()
        for rest in self._rest:
            rest()
        name = self._first.with_suffix(".xml").name
        for child, parent in self._relations:
            if not isinstance(parent, str):
                self.fault(f"{child}: {name} has a document after the relationships")
            elif self._parents.pop(child, None) != parent:
                self.fault(f"{child}: {name} has it as attached to {parent}, {self._first.name} does not")
        for begin in self._parents:
            self.fault(f"{begin}: {name} does not give its parent")
        if self._contents:
            self._nothing_else()

    def _nothing_else(self) -> None:
        """Files of the volumes that the list lacks."""
        for volume in sorted(self.root.glob("VOL[0-9]*")):
            for directory, _, names in os.walk(volume):
                for name in names:
                    relative = os.path.relpath(os.path.join(directory, name), self.root)
                    if relative not in self._listed:
                        self.fault(f"{os.fsencode(relative).decode('utf-8', 'backslashreplace')}: not in any list")


def _only(root: Path, suffix: str) -> Path:
    """The load file of this suffix; where there is none, a name that is none."""
    found = sorted(root.glob(f"*.{suffix}"))
    if len(found) > 1:
        raise UsageError(f"{root} has {len(found)} load files *.{suffix}; only one is expected")
    return found[0] if found else root / f"no.{suffix}"
