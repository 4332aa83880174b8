"""Converts a production of any program to a source: its natives, by custodian, where `edbench discover` finds them,
texts in place of missing natives, and the fields of each record from the load file."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import msgspec

from core.errors import UsageError
from core.imported import LOAD_DIRECTORY, RECORDS, Imported, Record, keys_of, record_path, write_imported
from core.names import display_name
from core.plain import grouped
from production.reading import inside, read_dat, regular
from readers.errors import ExceptionCode


class Names:
    """Free names in a directory; each depends only on the requests before it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._last_suffixes = Counter[str]()  # the last number inserted into a name that existed: none is tried twice

    def free(self, stem: str, suffix: str) -> str:
        """Return this name, with a number inserted if it exists. Raises OSError."""
        name = wanted = f"{stem}{suffix}"
        while (self._directory / name).exists():
            self._last_suffixes[wanted] += 1
            name = f"{stem}-{self._last_suffixes[wanted]}{suffix}"
        return name


_LEADS_OUT, _MISSING = "is outside the production", "missing, or not a file"
_FROM_ROOT = re.compile(r"[\\/](?![\\/])")  # two begin a server name
_ABOVE = 2  # a load file may be in `DATA` of a volume, with paths from the volume or from the directory above it
_LISTED = 16  # directories whose names are cached: records come in the order of their files


class Place:
    """The root of a production. Paths lead to files below it."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._above = self._root.parents[:_ABOVE]
        self._names = lru_cache(_LISTED)(_names)

    def find(self, written: str) -> tuple[Path | None, str]:
        """Return the file, or the reason why there is none. The path is resolved, since a link would have another
        target at its new location."""
        file, why = self._below(self._root, written)
        if file is not None or why == _LEADS_OUT:
            return file, why
        for above in self._above:
            if self._below(above, written)[0] is not None:
                return None, f"{why}; it exists with --root {display_name(os.fsencode(above))}"
        return None, why

    def _below(self, root: Path, written: str) -> tuple[Path | None, str]:
        """Return the file of this name, else the only one that differs from it only in case."""
        exact = inside(root, written[1:] if _FROM_ROOT.match(written) else written)
        if exact is None:
            return None, _LEADS_OUT
        if regular(exact):
            return exact.resolve(), ""
        alike = [path.resolve() for path in self._alike(root, root, exact.relative_to(root).parts)]
        files = [path for path in alike if path.is_relative_to(root) and regular(path)]
        if len(files) > 1:
            return None, f"{_MISSING}; {len(files)} files differ from it only in case, so none is used"
        if files:
            return files[0], ""
        return None, _MISSING if all(path.is_relative_to(root) for path in alike) else _LEADS_OUT

    def _alike(self, root: Path, directory: Path, parts: Sequence[str]) -> Iterator[Path]:
        """Yield the existing paths whose names differ from these only in case; a link out of the root is not
        followed."""
        for name in self._names(directory).get(parts[0].casefold(), ()):
            path = directory / name
            if len(parts) == 1 or not path.resolve().is_relative_to(root):
                yield path
            else:
                yield from self._alike(root, path, parts[1:])


def _names(directory: Path) -> Mapping[str, Sequence[str]]:
    """Return the names in a directory, grouped by their case-folded form; empty if there is no directory."""
    try:
        return grouped(sorted(os.listdir(directory)), str.casefold)
    except OSError:
        return {}


# Titles, letters and digits only: programs separate words by blanks, underscores or dashes.
_NATIVE = ("NATIVEPATH", "NATIVELINK", "NATIVEFILE", "NATIVEFILEPATH")
_TEXT = ("TEXTPATH", "TEXTLINK", "TEXTFILE", "TEXTFILEPATH", "EXTRACTEDTEXT", "OCRPATH")
_BEGIN = ("BEGDOC", "BEGBATES", "BEGINBATES", "DOCID", "PRODBEG", "CONTROLNUMBER")
_FIRST = ("BEGATTACH", "BEGINATTACH", "PRODBEGATT", "PRODBEGATTACH", "BEGATT")
_PARENT = ("PARENTDOC", "PARENTID", "PARENTDOCID", "PARENT")
_CUSTODIAN = ("CUSTODIAN",)
_HASHES = ("SHA256", "SHA256HASH", "SHA1", "SHA1HASH", "MD5", "MD5HASH", "HASH", "HASHVALUE")
_ALGORITHMS = {32: "md5", 40: "sha1", 64: "sha256"}  # by the digits of a hash
_NEITHER = "the load file gives neither a native nor a text"
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,10}")
_MOST_BYTES, _SHOWN, _CHUNK = 120, 200, 1 << 20
_UNSAFE = re.compile(r"[^\w .@+-]|^[. ]+")
_PARTED = re.compile(r"[\W_]")


@dataclass(slots=True)
class Taken:
    """Counts of the records: each becomes an item of a discovery, or is an omitted attachment, or is not imported."""

    records: int = 0
    natives: int = 0  # imported
    texts: int = 0  # imported in place of natives
    bare: int = 0  # have neither: items without bytes
    attached: int = 0  # omitted: they are inside the native of their family's first document
    faults: int = 0  # not imported: an earlier record has their number; a line each
    wrong: int = 0  # imported, but different from the load file: a line each, and an exception of the discovery

    @property
    def items(self) -> int:
        """The number of loose files that a discovery finds."""
        return self.natives + self.texts + self.bare


def take(
    load_file: Path, to: Path, report: Callable[[str], None], *, topmost: bool = False, root: Path | None = None
) -> Taken:
    """Create `to`, which must not exist or be empty, from the files that a load file names: hard links, else copies.
    The load file's paths begin at `root`, else at its own directory. Raises UsageError."""
    if root is not None and not root.is_dir():
        raise UsageError(f"--root {root} is not a directory", field="root")
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise UsageError(f"--out {to} exists and is not an empty directory", field="out")
    taking = _Taking(load_file, to, report, topmost, Place(root or load_file.parent), Names(to))
    for row in read_dat(load_file):
        taking.record(row)
    taking.end()
    return taking.done


@dataclass(frozen=True, slots=True)
class _Found:
    """The file that represents a record."""

    file: Path | None  # None: nothing
    native: bool = False
    sha256: str = ""
    code: ExceptionCode | None = None
    detail: str = ""


@dataclass(slots=True)
class _Family:
    """The family of the record before; its members follow its first."""

    first: str = ""  # path of its file; empty if it is not imported
    custodian: str = ""
    native: bool = False
    members: set[str] = field(default_factory=set)  # numbers


@dataclass(slots=True)
class _Taking:
    load_file: Path
    to: Path
    report: Callable[[str], None]
    topmost: bool
    place: Place
    names: Names
    numbers: set[str] = field(default_factory=set)  # of the records so far
    done: Taken = field(default_factory=Taken)
    keys: Mapping[str, str] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)  # the titles by their letters and digits
    family: _Family = field(default_factory=_Family)
    custodians: Counter[str] = field(default_factory=Counter)
    directories: dict[str, str] = field(default_factory=dict)  # custodians by their directories

    def record(self, row: Mapping[str, str]) -> None:
        """Import one more record. Raises UsageError if nothing can be written."""
        if not self.keys:
            self._begin(row)
        self.done.records += 1
        begin, custodian = self._value(row, _BEGIN), self._directory(self._value(row, _CUSTODIAN))
        called = begin[:_SHOWN] or f"record {self.done.records:,}"
        if begin in self.numbers:
            self._had(row, called, begin, custodian)
            return
        if begin:
            self.numbers.add(begin)
        attached = self._attached(row, called, begin, custodian)
        if attached and self.topmost and self.family.native:
            self.done.attached += 1
            if not begin:
                self.report(f"{called}: it has no number, and is omitted as an attachment")
            return
        found = self._found(row)
        fields = {self.keys[title]: text for title, value in row.items() if (text := value.strip())}
        record = Record(fields=fields, native=found.native, first=self.family.first if attached else "",
                        sha256=found.sha256, code=found.code, detail=found.detail)  # fmt: skip
        relative = self._placed(f"{custodian}/{_safe(begin) or 'item'}", found.file, record)
        if not attached:
            self.family = _Family(relative, custodian, found.native, {begin})
        if not begin:
            self.report(f"{called}: it has no number, and is imported as {relative}")
        self.custodians[custodian] += 1
        self._count(called, found)

    def end(self) -> None:
        """Mark the source as complete. Raises UsageError."""
        name, custodians = display_name(os.fsencode(self.load_file)), dict(self.custodians)
        done = Imported(load_file=name, records=self.done.records, custodians=custodians)
        try:
            (self.to / LOAD_DIRECTORY / RECORDS).mkdir(parents=True, exist_ok=True)
            write_imported(self.to, done)
        except OSError as error:
            raise self._unwritten(LOAD_DIRECTORY, error) from error

    def _begin(self, row: Mapping[str, str]) -> None:
        self.keys, self.titles = keys_of(row), {_PARTED.sub("", title): title for title in reversed([*row])}
        for names in (_BEGIN, (*_NATIVE, *_TEXT)):
            if not any(name in self.titles for name in names):
                raise UsageError(f"{self.load_file} has none of the fields {', '.join(names)}")

    def _directory(self, custodian: str) -> str:
        """Return the custodian's directory; no two custodians share one."""
        name = safe = _safe(custodian) or "unknown"
        number = 0
        while self.directories.setdefault(name, custodian) != custodian:
            number += 1
            name = f"{safe}-{number}"
        return name

    def _value(self, row: Mapping[str, str], names: Iterable[str]) -> str:
        """Return the value of the first of these fields that has one."""
        values = (row[self.titles[name]].strip() for name in names if name in self.titles)
        return next(filter(None, values), "")

    def _had(self, row: Mapping[str, str], called: str, begin: str, custodian: str) -> None:
        """Omit a record with the number of an earlier one. Its attachments do not join the family of the earlier
        record, whose native may not contain them."""
        self.done.faults += 1
        self.report(f"{called}: record {self.done.records:,} has the number of an earlier record and is not imported")
        above = self._above(row, begin)
        if not above or above not in self.family.members or custodian != self.family.custodian:
            self.family = _Family(custodian=custodian, members={begin})

    def _above(self, row: Mapping[str, str], begin: str) -> str:
        """Return the number of the record's parent; empty if it has none."""
        candidates = (self._value(row, names) for names in (_FIRST, _PARENT))
        return next((number for number in candidates if number not in ("", begin)), "")

    def _attached(self, row: Mapping[str, str], called: str, begin: str, custodian: str) -> bool:
        """Return whether the record belongs to the family of the record before, as a child."""
        above = self._above(row, begin)
        if not above:
            return False
        if above not in self.family.members or custodian != self.family.custodian:
            self.report(
                f"{called}: the family of {above[:_SHOWN]!r} is not directly before it, so it begins a new family"
            )
            return False
        if not self.family.first:
            self.report(f"{called}: {above[:_SHOWN]!r}, directly before it, is not imported, so it begins a new family")
            return False
        self.family.members.add(begin)
        return True

    def _found(self, row: Mapping[str, str]) -> _Found:
        """Return the record's native, else its text, else nothing."""
        written = self._value(row, _NATIVE)
        native, lacks = self._there(written)
        if native is not None:
            try:
                sha256, other = _compared(native, {name: self._value(row, (name,)) for name in _HASHES})
            except OSError as error:
                return _Found(native, True, "", ExceptionCode.UNREADABLE, f"{written[:_SHOWN]!r}: {error.strerror}")
            if other is None:
                return _Found(native, True, sha256)
            detail = f"{written[:_SHOWN]!r}: its {other} differs from the load file"
            return _Found(native, True, sha256, ExceptionCode.HASH_DIFFERS, detail)
        text, no_text = self._there(self._value(row, _TEXT))
        if text is not None and not lacks:
            return _Found(text)
        why = " and ".join(filter(None, (lacks, no_text))) or _NEITHER
        return _Found(text, code=ExceptionCode.NO_NATIVE, detail=why)

    def _there(self, written: str) -> tuple[Path | None, str]:
        """Return the file that a path names, or why there is none; nothing without a path."""
        if not written:
            return None, ""
        file, why = self.place.find(written)
        if file is not None:
            return file, ""
        parted = " " if why.startswith("is ") else ": "
        return None, f"{written[:_SHOWN]!r}{parted}{why}"

    def _placed(self, stem: str, file: Path | None, record: Record) -> str:
        """Write the file and return its path below the source. Raises UsageError if nothing can be written."""
        suffix = file.suffix if file is not None and _SUFFIX.fullmatch(file.suffix) else ""
        relative = f"{stem}{suffix}"
        try:
            relative = self.names.free(stem, suffix)
            path, note = self.to / relative, self.to / record_path(relative)
            for each in (path, note):
                each.parent.mkdir(parents=True, exist_ok=True)
            note.write_bytes(msgspec.json.encode(record))
            if file is None:
                path.touch()
            else:
                _link_or_copy(file, path)
        except OSError as error:
            raise self._unwritten(Path(relative).name, error) from error
        return relative

    def _unwritten(self, name: str, error: OSError) -> UsageError:
        message = f"--out {self.to}: {name} cannot be written ({error.strerror}); fix that, empty the directory and import again"
        return UsageError(message, field="out")

    def _count(self, called: str, found: _Found) -> None:
        if found.file is None:
            self.done.bare += 1
        elif found.native:
            self.done.natives += 1
        else:
            self.done.texts += 1
        if found.code is not None and found.detail != _NEITHER:  # many productions have some
            self.done.wrong += 1
            self.report(f"{called}: {found.detail}")


def _compared(native: Path, hashes: Mapping[str, str]) -> tuple[str, str | None]:
    """Return the sha256, and the title of a hash of the record that differs; empty if the record has no hash. Raises
    OSError."""
    wanted = {title: value.lower() for title, value in hashes.items() if value}
    if not wanted:
        return "", None
    names = {"sha256", *(_ALGORITHMS[len(value)] for value in wanted.values() if len(value) in _ALGORITHMS)}
    states = {name: hashlib.new(name, usedforsecurity=False) for name in names}
    with native.open("rb") as file:
        while chunk := file.read(_CHUNK):
            for state in states.values():
                state.update(chunk)
    found = {state.hexdigest() for state in states.values()}
    return states["sha256"].hexdigest(), next((title for title, value in wanted.items() if value not in found), None)


def _link_or_copy(native: Path, name: Path) -> None:
    try:
        os.link(native, name)
    except OSError:  # another file system, or one without links
        try:
            shutil.copy2(native, name)
        except OSError:
            name.unlink(missing_ok=True)  # half of it is no evidence
            raise


def _safe(name: str) -> str:
    """Return a name for a file or directory of ours, short enough to leave room for a suffix."""
    return _UNSAFE.sub("_", name.strip()).encode()[:_MOST_BYTES].decode(errors="ignore")
