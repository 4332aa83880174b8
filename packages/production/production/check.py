"""Check that a production agrees with its load files: every file exists with its hash, numbers and families are
complete, page counts are right, and all load files have the same content.

All of them are read once, in step, a record at a time. Memory holds the paths of files, and the parents within a
family."""

from __future__ import annotations

import hashlib
import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from pathlib import Path
from typing import Generic, TypeVar

from core.errors import StorageFault, UsageError, system_errors
from core.texts import many
from production.opticon import Page, read_opt
from production.reading import EdrmDocument, dat_encoding, inside, read_csv, read_dat, read_edrm, read_lines, regular

_MOST_DIGITS = 4_000  # that Python converts to a number


def before(one: str, other: str) -> bool:
    """Return whether one number is lower than the other."""
    return _key(one) < _key(other)


def span(first: str, last: str) -> int:
    """Return how many numbers there are from one to the other, both included; none if the second is lower, or has
    another prefix."""
    (prefix, low), (other, high) = _key(first), _key(last)
    return max(0, high - low + 1) if prefix == other else 0


def _key(number: str) -> tuple[str, int]:
    prefix = number.rstrip("0123456789")
    return prefix, int(number[len(prefix) :][:_MOST_DIGITS] or 0)


T = TypeVar("T")


class Stepping(Generic[T]):
    """Records of one load file, in rising order of their numbers, matched with those of another. Two of them are
    held."""

    def __init__(self, name: str, other: str, records: Iterator[tuple[str, T]], fault: Callable[[str], None]) -> None:
        self.name, self._other, self._fault = name, other, fault
        self._records = records
        self._ahead: deque[tuple[str, T]] = deque()

    def at(self, number: str, following: str | None, *, wanted: bool = True) -> T | None:
        """Return the record of this number. A missing record is a fault, unless it is not `wanted`. `following` is the
        number requested next: if this one is not lower than that, it cannot be relied on, and no record is skipped for
        it."""
        out_of_order = following is not None and not before(number, following)
        while (first := self._peek(0)) is not None and first[0] != number and not out_of_order:
            second = self._peek(1)
            if not before(first[0], number) and (second is None or before(first[0], second[0])):
                break
            self._report_extra()
        if first is not None and first[0] == number:
            self._ahead.popleft()
            return first[1]
        if wanted:
            self._fault(f"{number}: {self.name} lacks it")
        return None

    def rest(self) -> None:
        """Report the remaining records, once the other load file is at its end."""
        while self._peek(0) is not None:
            self._report_extra()

    def _report_extra(self) -> None:
        number, _ = self._ahead.popleft()
        self._fault(f"{number}: it is in {self.name}, but not in {self._other}")

    def _peek(self, place: int) -> tuple[str, T] | None:
        while len(self._ahead) <= place:
            if (coming := next(self._records, None)) is None:
                return None
            self._ahead.append(coming)
        return self._ahead[place]


class Ranges:
    """Check the numbers of the records in their order; hold the numbers of one family. `withheld`: first and last
    numbers that are listed as omitted, in order."""

    def __init__(self, fault: Callable[[str], None], withheld: Iterable[tuple[str, str]] = ()) -> None:
        self._fault, self._withheld = fault, iter(withheld)
        self._left_out = next(self._withheld, None)  # the next omitted range
        self._last = ""  # number of the record before
        self._family = ("", "")
        self._members: set[str] = set()

    def at(self, row: Mapping[str, str]) -> None:
        """Check the next record."""
        begin, end = row["begin"], row["end"]
        known = self._known(begin)
        family = (row["begin_family"], row["end_family"])
        if self._last and not before(self._last, begin):
            self._fault(f"{begin}: it is listed after {self._last}")
        elif self._last and span(known, begin) != 2:
            self._fault(f"{begin}: numbers between {known} and it are missing")
        if before(end, begin) or before(begin, family[0]) or before(family[1], end):
            self._fault(f"{begin}: {begin} to {end} is not within its family's {family[0]} to {family[1]}")
        if self._left_out is not None and not before(end, self._left_out[0]):
            self._fault(f"{begin}: it is listed as withheld too")
        if family != self._family:
            self._begins(begin, family)
        self._check_parent(begin, row.get("parent") or "")
        self._last = end
        self._members.add(begin)

    def _known(self, begin: str) -> str:
        """Return the last number before this one that needs no gap to be explained: the previous record's, or one that
        is listed as omitted."""
        known = self._last
        while self._left_out is not None and before(self._left_out[0], begin):
            if known and span(known, self._left_out[0]) == 2:
                known = self._left_out[1]
            self._left_out = next(self._withheld, None)
        return known

    def end(self) -> None:
        """Check the last family, after the last record."""
        if self._family[1] != self._last:
            self._fault(f"{self._last}: it is the last of its family, but the family ends at {self._family[1]}")

    def _begins(self, begin: str, family: tuple[str, str]) -> None:
        if self._last:
            self.end()
            if not before(self._family[1], family[0]):
                shown = " to ".join(family)
                self._fault(f"{begin}: its family {shown} begins inside {' to '.join(self._family)}")
        if begin != family[0]:
            self._fault(f"{begin}: it is the first of its family, but the family begins at {family[0]}")
        self._family, self._members = family, set()

    def _check_parent(self, begin: str, parent: str) -> None:
        """Check that every member of a family but the first is attached to an earlier one."""
        if parent and parent not in self._members:
            self._fault(f"{begin}: its parent {parent} is not before it in its family")
        elif not parent and self._members:
            self._fault(f"{begin}: it has no parent, but is not the first of its family")


KINDS = (NATIVE, TEXT, IMAGE) = ("native", "text", "image")
_COLUMNS = ("path", "bytes", "md5", "sha256", "begin", "kind", "page")
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Filed:
    """One file, as the list describes it."""

    path: str  # relative to the production, with slashes
    bytes: str
    md5: str
    sha256: str
    kind: str
    page: str  # of an image, from 1


def read_filed(listed: Path) -> Iterator[tuple[str, list[Filed]]]:
    """Yield the number of each record that has files, and the files. Raises UsageError."""
    for begin, rows in groupby(_rows(listed), key=lambda row: row["begin"] or ""):
        yield begin, [Filed(**{name: row[name] or "" for name in _COLUMNS if name != "begin"}) for row in rows]


def _rows(listed: Path) -> Iterator[Mapping[str, str]]:
    for number, row in enumerate(read_csv(listed)):
        if number == 0 and (lacking := [name for name in _COLUMNS if name not in row]):
            raise UsageError(f"{listed} has no column {', '.join(lacking)}")
        yield row


def wrong(root: Path, file: Filed, listed: str) -> str | None:
    """Read a whole file and return how it differs from the list; None if it agrees."""
    found = inside(root, file.path)
    if found is None:
        return f"{listed}: {file.path!r} is outside the production"
    read = _read(found)
    if read is None:
        return f"{file.path}: missing"
    size, md5, sha256 = read
    if (md5, sha256) != (file.md5, file.sha256):
        return f"{file.path}: its hash differs from {listed}"
    if str(size) != file.bytes:
        return f"{file.path}: it has {size:,} bytes, but {listed} gives {file.bytes or 'no size'}"
    return None


def _read(path: Path) -> tuple[int, str, str] | None:
    """Return bytes, MD5 and SHA-256; None if the file cannot be read."""
    size, md5, sha256 = 0, hashlib.md5(usedforsecurity=False), hashlib.sha256()
    if not regular(path):
        return None
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                size += len(chunk)
                md5.update(chunk)
                sha256.update(chunk)
    except OSError:
        return None
    return size, md5.hexdigest(), sha256.hexdigest()


def files_wrong(begin: str, document: EdrmDocument, files: Sequence[Filed], xml: str, listed: str) -> Iterator[str]:
    """Yield differences between the files of the record and `hashes.csv`, in both directions."""
    named = {file.path.replace("\\", "/"): file for file in document.files}
    if len(named) < len(document.files):
        yield f"{begin}: {xml} lists a file twice"
    for file in files:
        one = named.pop(file.path, None)
        if one is None:
            yield f"{begin}: {xml} does not name {file.path}"
        elif one.md5 != file.md5:
            yield f"{begin}: {xml} has another MD5 for {file.path}"
        elif (one.kind.lower(), one.bytes) != (file.kind, file.bytes):
            yield f"{begin}: {xml} has {one.kind or 'no type'} of {one.bytes or 'no'} bytes for {file.path}"
    for path in named:
        yield f"{begin}: {xml} lists {path}, but {listed} does not"


def pages_of(files: Sequence[Filed]) -> list[Filed]:
    """Return the images among a record's files."""
    return [file for file in files if file.kind == IMAGE]


def numbered_wrong(row: Mapping[str, str], images: Sequence[Filed], listed: str) -> Iterator[str]:
    """Yield differences between a record's numbers and its pages; a record without pages has one number."""
    begin, end, counted = row["begin"], row["end"], row.get("pages") or ""
    if [file.page for file in images] != [str(number + 1) for number in range(len(images))]:
        yield f"{begin}: {listed} has pages {', '.join(file.page or '?' for file in images[:10])} for it"
    if span(begin, end) != max(1, len(images)):
        yield f"{begin}: {begin} to {end} are {span(begin, end):,} numbers, but it has {many(len(images), 'page')}"
    if images and counted != str(len(images)):
        yield f"{begin}: has {many(len(images), 'page')}, but its page count is {counted or 'missing'}"


def opt_wrong(root: Path, document: Sequence[Page], images: Sequence[Filed], opt: str, listed: str) -> Iterator[str]:
    """Yield differences between Opticon and `hashes.csv` for one document. Of its pages only the first that differs is
    reported, since all pages after a missing or doubled one differ."""
    first = document[0]
    if not first.begins:
        yield f"{first.id}: {opt} does not mark it as the first page of a document"
    if len(document) != len(images):
        yield f"{first.id}: {opt} has {many(len(document), 'page')} for it, {listed} has {len(images):,}"
    if first.count and first.count != str(len(images)):
        yield f"{first.id}: {opt} counts {first.count} pages, it has {len(images):,}"
    for place, (page, image) in enumerate(zip(document, images, strict=False), 1):
        if (why := _page(root, page, image, first.id, place)) is not None:
            yield f"{page.id}: {opt} {why}"
            return


def _page(root: Path, page: Page, image: Filed, begin: str, place: int) -> str | None:
    if (path := page.path.replace("\\", "/").removeprefix("./")) != image.path:
        if inside(root, page.path) is None:
            return f"names {page.path!r}, which is outside the production"
        return f"gives {path}, but page {place} of {begin} is {image.path}"
    if span(begin, page.id) != place or page.id != Path(path).stem:
        return f"is the id of page {place} of {begin}, whose file is {image.path}"
    if page.volume != path.partition("/")[0]:
        return f"has volume {page.volume or 'none'} for {path}"
    if place > 1 and page.count:
        return f"counts pages at page {place} of {begin}"
    return None


# Names of the columns in a DAT and an EDRM file: as documented, not imported from the writers.
TITLES: Mapping[str, str] = {
    "begin": "BEGDOC", "end": "ENDDOC", "begin_family": "BEGATTACH", "end_family": "ENDATTACH", "parent": "PARENTDOC",
    "custodian": "CUSTODIAN", "all_custodians": "ALLCUSTODIANS", "path": "FILEPATH", "name": "FILENAME", "kind": "DOCTYPE",
    "media_type": "MIMETYPE", "bytes": "FILESIZE", "sha256": "SHA256", "md5": "MD5", "message_id_hash": "MESSAGEIDHASH",
    "modified": "DATEMODIFIED", "from": "FROM", "to": "TO", "cc": "CC", "bcc": "BCC", "subject": "SUBJECT", "date": "DATE",
    "title": "TITLE", "author": "AUTHOR", "pages": "PGCOUNT", "found_pages": "PAGESFOUND", "text_state": "TEXTSTATE",
    "native": "NATIVEPATH", "text": "TEXTPATH", "exceptions": "EXCEPTIONS",
}  # fmt: skip
PATHS = frozenset({"native", "text"})
_APOSTROPHE = re.compile("^'(?=[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20])")  # keeps a spreadsheet from running the value
_NEWLINE = re.compile("\r\n|\r")
# Characters that one of the formats cannot represent: halves of surrogate pairs, and those that XML lacks, which a DAT escapes.
_LOST = re.compile(
    "\\\\u(?:d[89a-f][0-9a-f]{2}|fff[d-f])|\\[U\\+00(?:00|0B|0C|14|1C|1D|1E)\\]"
    "|[^\t\n\r\x20-\ud7ff\ue000-\ufffc\U00010000-\U0010ffff]"
)
_MARKS = re.compile(
    "[þ®\x85\u2028\u2029]"
)  # a DAT escapes them, because readers take them for a delimiter or a line's end


def differing(
    one: Mapping[str, str], other: Mapping[str, str], columns: Iterable[str], *, narrow: bool = False
) -> list[str]:
    """Return the columns whose values differ. `narrow`: one of the files is Windows-1252, and has escapes for other
    characters."""
    return [
        name
        for name in columns
        if (mine := one.get(name) or "") != (theirs := other.get(name) or "")
        and _plain(name, mine, narrow) != _plain(name, theirs, narrow)
    ]


def _plain(name: str, value: str, narrow: bool) -> str:
    """Return the value without the peculiarities of one format."""
    if name in PATHS:
        return value.replace("\\", "/")
    value = _LOST.sub("?", _NEWLINE.sub("\n", _APOSTROPHE.sub("", value)))
    value = _MARKS.sub(lambda found: f"[U+{ord(found[0]):04X}]", value)
    return value.encode("cp1252", "backslashreplace").decode("cp1252") if narrow else value


Row = Mapping[str, str]  # a record by the columns of a table
_RANGE = ("begin", "end", "begin_family", "end_family")
_LISTED, _TABLE = "hashes.csv", "metadata.csv"  # the second for a job that writes no DAT
_WITHHELD = "withheld.csv"  # of an export of pages that omits some
_NOT_TAGS = frozenset({"begin", "parent", NATIVE, TEXT})  # EDRM XML has them in other elements


@dataclass(slots=True)
class Checked:
    """The outcome: counts, and the load files."""

    records: int = 0
    files: int = 0
    faults: int = 0
    load_files: list[str] = field(default_factory=list)


def check(root: Path, report: Callable[[str], None], *, contents: bool = True, records: int | None = None) -> Checked:
    """Report each fault in a line. Without `contents` the files are neither read nor looked for, which the caller does
    itself, but the load files are compared. `records`: the expected number of records, if known; nothing else reveals
    an end that all load files lack. Raises UsageError if there is no load file, or one cannot be read at all;
    StorageFault."""
    first = _first(root)
    with system_errors(StorageFault, root):
        at = _Check(root, first, report, contents=contents)
        rows = _table_rows(first)
        ahead = next(rows, None)
        while ahead is not None:
            row, ahead = ahead, next(rows, None)
            at.record(row, None if ahead is None else ahead["begin"])
        at.end()
        if records is not None and at.done.records != records:
            at.fault(f"{first.name}: {many(at.done.records, 'record')}, but {records:,} are expected")
    return at.done


def _first(root: Path) -> Path:
    """Return the load file that the others are compared with."""
    dats, listed, table = sorted(root.glob("*.dat")), root / _LISTED, root / _TABLE
    if listed.is_file() and len(dats) == 1:
        return dats[0]
    if listed.is_file() and not dats and table.is_file():
        return table
    if not root.is_dir():
        raise UsageError(f"{root} is not a directory; give the one that the production was written to")
    raise UsageError(
        f"{root} has {len(dats)} load files *.dat, {'a' if table.is_file() else 'no'} {_TABLE} and"
        f" {'a' if listed.is_file() else 'no'} {_LISTED}; expected are {_LISTED} and one *.dat, or {_LISTED} and {_TABLE}"
    )


def _table_rows(first: Path) -> Iterator[Row]:
    dat = first.suffix == ".dat"
    for number, row in enumerate(read_dat(first) if dat else read_csv(first)):
        called = {name: title if dat else name for name, title in TITLES.items()}
        if number == 0 and (lacking := [called[name] for name in _RANGE if called[name] not in row]):
            raise UsageError(f"{first} has no field {', '.join(lacking)}")
        yield {name: row[title] or "" for name, title in called.items() if title in row}


def _withheld(listed: Path) -> Iterator[tuple[str, str]]:
    """Yield the numbers that a production lists as omitted."""
    for row in read_csv(listed) if listed.is_file() else ():
        yield row.get("begin") or "", row.get("end") or ""


class _Check:
    """Comparison of one record at a time with every load file."""

    def __init__(self, root: Path, first: Path, report: Callable[[str], None], *, contents: bool) -> None:
        self.root, self.done, self._first, self._report, self._contents = root, Checked(), first, report, contents
        self._dat = first.suffix == ".dat"
        self._narrow = self._dat and dat_encoding(first) == "cp1252"
        self._listed: set[str] = set()
        self._parents: dict[str, str] = {}  # that XML has yet to list
        self._relations: Iterator[tuple[str, EdrmDocument | str]] = iter(())
        self._rest: list[Callable[[], None]] = []
        self.done.load_files.append(first.name)
        self._ranges = Ranges(self.fault, _withheld(root / _WITHHELD))
        self._hashes = self._step(root / _LISTED, self._filed)
        table, read = (first.with_suffix(".csv"), read_csv) if self._dat else (first.with_suffix(".jsonl"), read_lines)
        self._table = self._opened(
            table, lambda path: ((row.get("begin") or "", row) for row in read(path)), wanted=True
        )
        self._xml = self._opened(first.with_suffix(".xml"), self._documents, wanted=self._dat)
        self._opt = self._opened(_only(root, "opt"), read_opt, wanted=False)  # required only by pages

    def fault(self, line: str) -> None:
        """Report one more fault."""
        self.done.faults += 1
        self._report(line)

    def _step(self, path: Path, read: Callable[[Path], Iterator[tuple[str, T]]]) -> Stepping[T]:
        made = Stepping(path.name, self._first.name, read(path), self.fault)
        self._rest.append(made.rest)
        return made

    def _opened(
        self, path: Path, read: Callable[[Path], Iterator[tuple[str, T]]], *, wanted: bool
    ) -> Stepping[T] | None:
        if not path.is_file():
            if wanted and self._contents:  # else the caller, which looks for files, reports it
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

    def _documents(self, xml: Path) -> Iterator[tuple[str, EdrmDocument]]:
        """Yield the documents before the first relationship."""
        entries = read_edrm(xml)
        for number, one in entries:
            if isinstance(one, str):
                self._relations = chain([(number, one)], entries)
                return
            yield number, one

    def record(self, row: Row, following: str | None) -> None:
        """Check the next record; `following` is the number of the record after it."""
        begin = row["begin"]
        self._ranges.at(row)
        files = self._hashes.at(begin, following, wanted=False) or []
        self.done.records, self.done.files = self.done.records + 1, self.done.files + len(files)
        for line in chain(self._read(files), self._named(row, files), self._paged(row, files, following)):
            self.fault(line)
        if self._table is not None and (entry := self._table.at(begin, following)) is not None:
            self._compared(row, entry, self._table.name, TITLES)
        if self._xml is not None:
            if row.get("parent"):
                self._parents[begin] = row["parent"]
            if (document := self._xml.at(begin, following)) is not None:
                values = {name: document.values.get(title, "") for name, title in TITLES.items()}
                self._compared(row, values, self._xml.name, [name for name in TITLES if name not in _NOT_TAGS])
                for line in files_wrong(begin, document, files, self._xml.name, _LISTED):
                    self.fault(line)

    def _read(self, files: list[Filed]) -> Iterator[str]:
        for file in files if self._contents else ():
            if (why := wrong(self.root, file, _LISTED)) is not None:
                yield why

    def _named(self, row: Row, files: list[Filed]) -> Iterator[str]:
        """Check that native and text, hashes and bytes are those of the list."""
        begin = row["begin"]
        for name in (NATIVE, TEXT):
            given, title = row.get(name, ""), self._title(name)
            path, listed = given.replace("\\", "/"), [file.path for file in files if file.kind == name]
            if given and path not in listed:
                inner = inside(self.root, given) is not None
                why = (
                    f"{given} is not listed for {begin} in {_LISTED}"
                    if inner
                    else f"{given!r} is outside the production"
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
            yield from opt_wrong(self.root, document, images, self._opt.name, _LISTED)

    def _compared(self, row: Row, other: Row, name: str, columns: Iterable[str]) -> None:
        if differ := differing(row, other, columns, narrow=self._narrow):
            titles = ", ".join(map(self._title, differ))
            self.fault(f"{row['begin']}: {name} and {self._first.name} differ in {titles}")

    def _title(self, name: str) -> str:
        return TITLES[name] if self._dat else name

    def end(self) -> None:
        """Check what remains, after the last record."""
        self._ranges.end()
        for rest in self._rest:
            rest()
        name = self._first.with_suffix(".xml").name
        for child, parent in self._relations:
            if not isinstance(parent, str):
                self.fault(f"{child}: {name} has a document after the relationships")
            elif self._parents.pop(child, None) != parent:
                self.fault(f"{child}: {name} lists it as attached to {parent}, but {self._first.name} does not")
        for begin in self._parents:
            self.fault(f"{begin}: {name} does not give its parent")
        if self._contents:
            self._nothing_else()

    def _nothing_else(self) -> None:
        """Report files of the volumes that the list lacks."""
        for volume in sorted(self.root.glob("VOL[0-9]*")):
            for directory, folders, names in os.walk(volume):
                links = [name for name in folders if os.path.islink(os.path.join(directory, name))]
                for name in (*names, *links):
                    relative = os.path.relpath(os.path.join(directory, name), self.root)
                    if relative not in self._listed:
                        self.fault(f"{os.fsencode(relative).decode('utf-8', 'backslashreplace')}: not in any list")


def _only(root: Path, suffix: str) -> Path:
    """Return the load file of this suffix; if there is none, the name of a file that does not exist."""
    found = sorted(root.glob(f"*.{suffix}"))
    if len(found) > 1:
        raise UsageError(f"{root} has {len(found)} load files *.{suffix}; only one is expected")
    return found[0] if found else root / f"no.{suffix}"
