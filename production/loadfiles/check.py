"""Whether a production is what its load files say: every file there with its hash, ranges in order, families whole."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import UsageError
from production.loadfiles.reading import inside, read_csv, read_dat, read_edrm, regular

_FILE_FIELDS = ("NATIVEPATH", "TEXTPATH")
_RANGE = ("BEGDOC", "ENDDOC", "BEGATTACH", "ENDATTACH")


@dataclass(slots=True)
class Checked:
    """What was looked at; each fault is a line that was told."""

    records: int = 0
    files: int = 0
    faults: int = 0
    load_files: list[str] = field(default_factory=list)


class _Check:
    def __init__(self, root: Path, tell: Callable[[str], None]) -> None:
        self.root, self._tell, self.done = root, tell, Checked()
        self.md5: dict[str, str] = {}  # of files that were found as the hashes say, by path with slashes
        self._listed: set[str] = set()

    def fault(self, line: str) -> None:
        self.done.faults += 1
        self._tell(line)

    def hashes(self, listed: Path) -> None:
        """Each file of the list is read."""
        for row in read_csv(listed):
            said = row.get("path") or ""
            self._listed.add(said)
            found = inside(self.root, said)
            if found is None:
                self.fault(f"{listed.name}: {said!r} leads out of the production")
            elif (digests := _digests(found)) is None:
                self.fault(f"{said}: missing")
            elif digests != (row.get("md5"), row.get("sha256")):
                self.fault(f"{said}: its hash is another than {listed.name} says")
            else:
                self.md5[said] = digests[0]
            self.done.files += 1

    def nothing_else(self) -> None:
        """Files of the volumes that the list lacks."""
        for volume in sorted(self.root.glob("VOL[0-9]*")):
            for directory, _, names in os.walk(volume):
                for name in names:
                    relative = os.path.relpath(os.path.join(directory, name), self.root)
                    if relative not in self._listed:
                        self.fault(f"{os.fsencode(relative).decode('utf-8', 'backslashreplace')}: no list has it")

    def ranges(self, dat: Path) -> None:
        """Numbers rise, each range lies in its family's, and all of a family say the same range of it."""
        before, family = "", ("", "")
        for number, row in enumerate(read_dat(dat), 1):
            if number == 1 and (lacking := [title for title in _RANGE if title not in row]):
                raise UsageError(f"{dat} has no field {', '.join(lacking)}")
            begin, end, first, last = (row[title] for title in _RANGE)
            if _before(begin, before) or begin == before:
                self.fault(f"{begin}: comes after {before}")
            if _before(end, begin) or _before(begin, first) or _before(last, end):
                self.fault(f"{begin}: {begin} to {end} is not within its family's {first} to {last}")
            if (first, last) != family and (family[1] and not _before(family[1], first)):
                self.fault(f"{begin}: its family {first} to {last} begins inside {family[0]} to {family[1]}")
            before, family = end, (first, last)
            if (parent := row.get("PARENTDOC")) and (_before(parent, first) or not _before(parent, begin)):
                self.fault(f"{begin}: its parent {parent} is not before it in its family")
            self._paths(begin, row)
            self.done.records += 1

    def _paths(self, begin: str, row: Mapping[str, str]) -> None:
        for title in _FILE_FIELDS:
            said = row.get(title) or ""
            if not said:
                continue
            path = said.replace("\\", "/")
            if inside(self.root, said) is None:
                self.fault(f"{begin}: {title} {said!r} leads out of the production")
            elif path not in self._listed:
                self.fault(f"{begin}: {title} {said} is not in hashes.csv")
            elif title == "NATIVEPATH" and path in self.md5 and row.get("MD5") not in (None, self.md5[path]):
                self.fault(f"{begin}: MD5 is not that of {said}")

    def table(self, dat: Path, table: Path) -> None:
        """The CSV has the same items and files."""
        nothing: Mapping[str, str] = {}
        for one, other in itertools.zip_longest(read_dat(dat), read_csv(table), fillvalue=nothing):
            mine = (
                one.get("BEGDOC"),
                one.get("ENDATTACH"),
                (one.get("NATIVEPATH") or "").replace("\\", "/"),
                one.get("MD5"),
            )
            if mine != (other.get("begin"), other.get("end_family"), other.get("native") or "", other.get("md5")):
                self.fault(f"{one.get('BEGDOC') or other.get('begin')}: {table.name} and {dat.name} differ")

    def edrm(self, dat: Path, xml: Path) -> None:
        """The XML has the same items, files and parents."""
        told = iter(read_edrm(xml))
        parents: dict[str, str] = {}
        for row in read_dat(dat):
            begin, files = next(told, ("", {}))
            wanted = {row[title] for title in _FILE_FIELDS if row.get(title)}
            if begin != row["BEGDOC"] or not wanted <= files.keys():
                self.fault(f"{row['BEGDOC']}: {xml.name} and {dat.name} differ")
            for path, md5 in files.items():
                if self.md5.get(path.replace("\\", "/"), md5) != md5:
                    self.fault(f"{begin}: {xml.name} has another MD5 of {path}")
            if row.get("PARENTDOC"):
                parents[row["BEGDOC"]] = row["PARENTDOC"]
        for parent, child in told:
            if parents.pop(child.get("child", ""), None) != parent:
                self.fault(f"{child.get('child')}: {xml.name} says it is attached to {parent}, {dat.name} does not")
        for begin in parents:
            self.fault(f"{begin}: {xml.name} does not say what it is attached to")


def check(root: Path, tell: Callable[[str], None]) -> Checked:
    """Each fault is told in a line. Raises UsageError where there is no load file, or one cannot be read at all."""
    at = _Check(root, tell)
    dats, listed = sorted(root.glob("*.dat")), root / "hashes.csv"
    if len(dats) != 1 or not listed.is_file():
        raise UsageError(f"{root} has {len(dats)} load files *.dat and {'a' if listed.is_file() else 'no'} hashes.csv;"
                         " one of each is wanted")  # fmt: skip
    at.hashes(listed)
    at.nothing_else()
    at.ranges(dats[0])
    for suffix, compare in ((".csv", at.table), (".xml", at.edrm)):
        beside = dats[0].with_suffix(suffix)
        if beside.is_file():
            compare(dats[0], beside)
            at.done.load_files.append(beside.name)
    at.done.load_files.insert(0, dats[0].name)
    return at.done


def _before(one: str, other: str) -> bool:
    """Control numbers by their digits: `A10` comes after `A9`."""
    return _key(one) < _key(other)


def _key(number: str) -> tuple[str, int]:
    prefix = number.rstrip("0123456789")
    return prefix, int(number[len(prefix) :][:4000] or 0)


def _digests(path: Path) -> tuple[str, str] | None:
    md5, sha256 = hashlib.md5(usedforsecurity=False), hashlib.sha256()
    if not regular(path):
        return None
    try:
        with path.open("rb") as file:
            for chunk in _chunks(file.read):
                md5.update(chunk)
                sha256.update(chunk)
    except OSError:
        return None
    return md5.hexdigest(), sha256.hexdigest()


def _chunks(read: Callable[[int], bytes]) -> Iterator[bytes]:
    return iter(lambda: read(1 << 20), b"")
