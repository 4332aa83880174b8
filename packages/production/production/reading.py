"""Readers of load files of any program, by the specifications of the formats; they share nothing with the writers."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from lxml import etree

from core.errors import UsageError, read_problem, reading_errors
from core.plain import unambiguous
from core.texts import many
from production.fields import text

_LONGEST = 16_000_000  # characters of one record
_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_DRIVE = re.compile(r"[A-Za-z]:")


def dat_encoding(path: Path) -> str:
    """Return the encoding: by its byte-order mark, else UTF-8 if the whole file is valid, else Windows-1252. Raises
    UsageError if it cannot be read."""
    try:
        with path.open("rb") as file:
            begins = file.read(3)
        found = next((name for mark, name in _MARKS.items() if begins.startswith(mark)), None)
        if found is not None:
            return found
        with path.open(encoding="utf-8", newline="") as file:
            while file.read(1 << 20):
                pass
    except UnicodeDecodeError:
        return "cp1252"
    except OSError as error:
        raise UsageError(read_problem(path, error)) from error
    return "utf-8"


def read_dat(path: Path) -> Iterator[Mapping[str, str]]:
    """Yield the records of a Concordance DAT, or of one with other delimiters, by the titles of its first line in
    capitals. The quote is the file's first character, the delimiter of fields the character after the second quote.
    Raises UsageError."""
    with path.open(encoding=dat_encoding(path), errors="replace", newline="") as file:
        head = file.readline(_LONGEST)
        if "\0" in head:
            raise UsageError(f"{path} is UTF-16 without a byte-order mark, or not text; convert it to UTF-8")
        second = head.find(head[:1], 1)
        if (
            len(head) < 4
            or (head[0].isascii() and head[0].isalnum())
            or head[0] in "\r\n"
            or not 0 < second < len(head) - 1
        ):
            raise UsageError(f"{path} is not a load file with quoted fields: its first line begins {head[:40]!r}")
        quote, delimiter = head[0], head[second + 1]
        if len(head) >= _LONGEST:
            raise UsageError(f"{path}: its first line has {_LONGEST:,} characters or more; give a load file")
        titles = [title.strip().upper() for title in _fields(head, quote, delimiter)]
        if len(set(titles)) < len(titles):
            raise UsageError(f"{path} lists a field twice in its first line")
        for number, line in enumerate(_records(path, file, quote), 1):
            values = _fields(line, quote, delimiter)
            if len(values) != len(titles):
                raise UsageError(
                    f"{path}, record {number:,}: {many(len(values), 'value')} for {many(len(titles), 'field')}"
                )
            yield dict(zip(titles, (value.replace("\xae", "\n") for value in values), strict=True))


def _records(path: Path, file: TextIO, quote: str) -> Iterator[str]:
    """Yield the records: lines, where a line end inside quotes does not end the record."""
    pending: list[str] = []
    characters = quotes = 0
    while line := file.readline(_LONGEST):
        pending.append(line)
        characters, quotes = characters + len(line), quotes + line.count(quote)
        if characters >= _LONGEST:
            raise UsageError(f"{path}: a record has more than {_LONGEST:,} characters; check for a missing quote")
        if quotes % 2 == 0:
            record = "".join(pending)
            if record.strip("\r\n"):
                yield record
            pending, characters, quotes = [], 0, 0
    if pending:
        raise UsageError(f"{path} ends in the middle of a record")


def _fields(line: str, quote: str, delimiter: str) -> list[str]:
    line = line.rstrip("\r\n")
    if line.startswith(quote) and line.endswith(quote):
        return line[1:-1].split(quote + delimiter + quote)
    return [value.strip(quote) for value in line.split(delimiter)]


def read_csv(path: Path) -> Iterator[Mapping[str, str]]:
    """Yield the records of a CSV with a head (RFC 4180), in UTF-8. Raises UsageError."""
    csv.field_size_limit(
        _LONGEST
    )  # for the whole process: recipients of one message may exceed the default 131,072 characters
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, strict=True)
            if len(set(rows.fieldnames or ())) < len(rows.fieldnames or ()):
                raise UsageError(f"{path} has two columns of one name")
            yield from rows
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(read_problem(path, error)) from error


def read_lines(path: Path) -> Iterator[Mapping[str, str]]:
    """Yield the records of a file with a JSON object on each line, with lists joined as in a table. Raises
    UsageError."""
    with reading_errors(path), path.open(encoding="utf-8", newline="\n") as file:
        number = 0
        while line := file.readline(_LONGEST):
            number += 1
            record = unambiguous(line)
            if not isinstance(record, dict):
                raise UsageError(f"{path}, line {number:,}, is not a JSON object")
            yield {name: text(name, value) for name, value in record.items()}


@dataclass(frozen=True, slots=True)
class EdrmFile:
    """A file of a document of EDRM XML."""

    kind: str
    path: str  # with backslashes
    bytes: str
    md5: str


@dataclass(frozen=True, slots=True)
class EdrmDocument:
    """A document of EDRM XML: its fields by their names in capitals, and its other elements as CUSTODIAN, FILEPATH and
    MIMETYPE. Predefined fields are named without their `#`; #DateSent is DATE."""

    values: Mapping[str, str]
    files: Sequence[EdrmFile]


def read_edrm(path: Path) -> Iterator[tuple[str, EdrmDocument | str]]:
    """Yield (DocID, its fields and files) of each document, and (DocID, DocID of its parent) of each relationship.
    Fields are tags of a document, or `FieldValues` by the keys of the root's `Fields`. Raises UsageError; nothing
    outside the file is read."""
    names: dict[str, str] = {}
    try:
        wanted = ("{*}Field", "{*}Document", "{*}Relationship")
        for _, element in etree.iterparse(str(path), tag=wanted, resolve_entities=False, no_network=True):
            above, kind = element.getparent(), etree.QName(element).localname
            if kind == "Field":
                names[element.get("Key", "")] = element.get("Name", "")
            elif kind == "Relationship":
                yield _id(element, "Child"), _id(element, "Parent")
            elif above is None or etree.QName(above).localname != "Folder":  # that only gives its location
                yield _id(element, ""), _document(element, names)
            element.clear()
            while element.getprevious() is not None:  # remove processed elements: memory holds one document
                del above[0]
    except (etree.XMLSyntaxError, OSError) as error:
        raise UsageError(f"{path}: {error}") from error


def _id(element: Any, whose: str) -> str:
    """Return the document's id; writers spell the attribute in two ways."""
    return element.get(f"{whose}DocID") or element.get(f"{whose}DocId") or ""


def _document(element: Any, names: Mapping[str, str]) -> EdrmDocument:
    fields = [(tag.get("TagName", ""), tag.get("TagValue", "")) for tag in element.iterfind(".//{*}Tag")]
    for value in element.iterfind("{*}FieldValues/*"):
        key = etree.QName(value).localname
        fields.append((names.get(key, key), value.text or ""))
    values: dict[str, str] = {}
    for name, value in fields:  # a field that is there twice differs from every other load file
        called = _field(name)
        values[called] = f"{values[called]}; {value}" if called in values else value
    values["MIMETYPE"] = element.get("MimeType", "")
    values["CUSTODIAN"] = element.findtext(".//{*}Custodian") or ""
    values["FILEPATH"] = element.findtext(".//{*}LocationURI") or ""
    return EdrmDocument(values, [_file(file) for file in element.iterfind(".//{*}File")])


def _field(name: str) -> str:
    called = name.removeprefix("#").upper()
    return "DATE" if called == "DATESENT" else called


def _file(element: Any) -> EdrmFile:
    """Return the file; its values are empty if it has no external file."""
    file = element.find("{*}ExternalFile")
    at = {} if file is None else file.attrib
    path = f"{at.get('FilePath', '')}\\{at.get('FileName', '')}"
    return EdrmFile(element.get("FileType", ""), path, at.get("FileSize", ""), at.get("Hash", ""))


def inside(root: Path, path: str) -> Path | None:
    """Return the file that a path of a load file names; None for one that leads out of the production: absolute, with a
    drive or a server, with `..`, or over a symbolic link."""
    parts = re.split(r"[\\/]", path)
    if parts and parts[0] == ".":
        parts = parts[1:]
    if not parts or any(part in ("", ".", "..") or "\0" in part for part in parts) or _DRIVE.match(parts[0]):
        return None
    base = root.resolve()
    found = base.joinpath(*parts)
    return found if found.resolve().is_relative_to(base) else None


def regular(path: Path) -> bool:
    """Return whether there is a file whose bytes can be read: not if no file can have that name, nor for a FIFO, which
    would block."""
    try:
        return path.is_file()
    except OSError:
        return False
