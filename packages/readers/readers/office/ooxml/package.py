"""Parts of an Office Open XML package (ECMA-376 part 2), read from its zip archive as far as possible."""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import BinaryIO
from urllib.parse import unquote

from readers.archives.zip.directory import ZipEntry, find_directory, iter_entries
from readers.archives.zip.handler import failed_member
from readers.archives.zip.member import MemberReader, open_member
from readers.archives.zip.salvage import local_entries, salvage
from readers.base import Child
from readers.errors import (
    DocumentError,
    ExceptionCode,
    corrupt,
    encrypted,
    expansion_limit,
    keep_error,
    too_large,
    unsupported,
)
from readers.inflate import METHODS
from readers.office.ole import objects as ole_objects
from readers.office.ooxml.kinds import KNOWN
from readers.office.ooxml.xml import elements
from readers.records import Kind, Limits
from readers.rest import rest
from readers.streams import SMALL_MEMBER

_MAX_PARTS = 100_000
_ADDRESSES = 10_000  # different ones of a document
_BUDGET = 4  # XML bytes read of one document, in units of Limits.parse_bytes
_ROLE_OF_NAME = {
    "document": "main",
    "workbook": "main",
    "presentation": "main",
    "sheet": "worksheet",
    "core": "core-properties",
    "app": "extended-properties",
    "custom": "custom-properties",
}
_NUMBER = re.compile(r"(\d+)")
THUMBNAIL = re.compile(rb"docprops/thumbnail[^/]*$|thumbnails/[^/]+$", re.IGNORECASE)
# Relationships of a main part to parts with text; by expressions, because every document has some.
_WITH_TEXT = re.compile(
    rb"<(?:\w+:)?Relationship\s(?=[^<>]*/relationships/(?:worksheet|slide|header|footer|footnotes|endnotes|comments)[\"'])[^<>]*>"
)
_TARGET = re.compile(rb"\sTarget\s*=\s*[\"']([^\"']*)")


class Package:
    """An open package. `error` is the damage of the archive as a whole; its members may still be readable."""

    def __init__(self, file: BinaryIO, size: int, limits: Limits) -> None:
        self._file, self._size = file, size
        self._entries: dict[str, ZipEntry] = {}
        self._left = _BUDGET * limits.parse_bytes
        self.error: DocumentError | None = None
        self.missing = 0  # parts with text that the main part relates to
        self._list(limits)
        self.roles = self._roles()

    def _list(self, limits: Limits) -> None:
        """List the members by the directory; if that is missing or damaged, by their local headers too."""
        try:
            self._take(iter_entries(self._file, find_directory(self._file, self._size)))
        except DocumentError as error:
            self.error = error
            if error.code is ExceptionCode.EXPANSION_LIMIT:
                return
            try:
                self._take(local_entries(self._file, self._size, limits))
            except DocumentError as more:
                if not self._entries:
                    raise error from more
        if not self._entries:
            raise self.error or corrupt("the document is an empty zip archive")

    def _take(self, entries: Iterator[ZipEntry]) -> None:
        for entry in entries:
            self._entries.setdefault(_part_name(entry.name), entry)
            if len(self._entries) > _MAX_PARTS:
                raise expansion_limit(f"more than {_MAX_PARTS} parts")

    @property
    def names(self) -> Iterable[str]:
        """Part names in lower case, without a leading slash, in the archive's order."""
        return self._entries

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a part. Raises DocumentError if it is missing, damaged, or too much was read."""
        if name not in self._entries:
            raise corrupt(f"the document has no part {name}")
        reader = part_reader(self._file, self._size, self._entries[name])
        while piece := reader.piece():
            self._left -= len(piece)
            if self._left < 0:
                raise expansion_limit("the parts of the document are too large")
            yield piece

    def _roles(self) -> dict[str, str]:
        """Return the kind of each part: by its content type (the last word of it), its name, or the type of all parts
        with its extension, whichever is the first known kind; the main part at least by the relationship of the package
        (ECMA-376 part 2, 6.2.3, 6.5)."""
        declared: dict[str, str] = {}
        endings: dict[str, str] = {}
        with keep_error(self):
            for element in elements(self.pieces("[content_types].xml"), "Override", "Default"):
                kind = _role(element.get("ContentType", ""))
                if (name := element.get("PartName")) is not None:
                    declared[_part_name(name)] = kind
                elif kind != "main":  # all binary parts of a workbook have the same extension
                    endings[f".{element.get('Extension', '').lower()}"] = kind
        roles: dict[str, str] = {}
        for name in self._entries:
            role = declared.get(name, "")
            if role in KNOWN or (role := _undeclared(name, role, endings)):
                roles[name] = role
        if "main" not in roles.values() and self.error is None and "_rels/.rels" in self._entries:
            for element in elements(self.pieces("_rels/.rels"), "Relationship"):
                if element.get("Type", "").endswith("/officeDocument"):
                    name = _target("", element.get("Target", ""))
                    if name in self._entries:
                        roles[name] = "main"
        return roles

    def having(self, *roles: str) -> list[str]:
        """Return the parts in these roles: in the order of the roles, then by the numbers in their names."""
        ranked = [(roles.index(role), _natural(name), name) for name, role in self.roles.items() if role in roles]
        return [name for _, _, name in sorted(ranked)]

    def related(self, name: str) -> dict[str, str]:
        """Return relationship id → part name for the internal relationships of a part; {} if there are none."""
        folder, rels = posixpath.dirname(name), _relationships_of(name)
        out: dict[str, str] = {}
        if rels not in self._entries:
            return out
        for element in elements(self.pieces(rels), "Relationship"):
            if element.get("TargetMode") != "External":
                out[element.get("Id", "")] = _target(folder, element.get("Target", ""))
        return out

    def addresses(self) -> Iterator[str]:
        """Yield the addresses of relationships to the outside of the package (ECMA-376 part 2, 6.5.3.4): those of
        hyperlinks, and of files from which the document takes pictures, cells or its template; each once. Raises
        DocumentError as `pieces` does, `too_large` after 10,000. Missing parts to which the main one relates are
        counted meanwhile."""
        known: set[str] = set()
        for data in self._relationships():
            for element in elements(iter((data,)), "Relationship") if b"External" in data else ():
                address = element.get("Target", "")
                if element.get("TargetMode") != "External" or address in known:
                    continue
                if len(known) >= _ADDRESSES:
                    raise too_large(f"it has more than {_ADDRESSES:,} addresses; only the first are read")
                known.add(address)
                yield address

    def _relationships(self) -> Iterator[bytes]:
        mains = {_relationships_of(main) for main in self.having("main")}
        for name in self.names:
            if name.endswith(".rels"):
                data = b"".join(self.pieces(name))
                if name in mains:
                    self._miss(data, posixpath.dirname(posixpath.dirname(name)))
                yield data

    def _miss(self, relationships: bytes, folder: str) -> None:
        """Count the targets of these relationships of a part in this folder that are missing."""
        for element in _WITH_TEXT.findall(relationships):
            target = _TARGET.search(element)
            if target is None or b"External" in element:
                continue
            path = html.unescape(target[1].decode("utf-8", "replace"))
            there = (_target(folder, path), _target(folder, unquote(path)))
            self.missing += not any(name in self._entries for name in there)


def part_reader(file: BinaryIO, size: int, entry: ZipEntry) -> MemberReader:
    """Return a reader over a part's bytes. Raises DocumentError if it needs a password or cannot be inflated."""
    if entry.encrypted:
        raise encrypted("a part of the document needs a password")
    if entry.method not in METHODS:
        raise unsupported(f"compression method {entry.method} cannot be read")
    return open_member(file, size, entry)


def _relationships_of(name: str) -> str:
    """Return the name of the part with the relationships of a part."""
    folder, base = posixpath.split(name)
    return f"{folder}/_rels/{base}.rels" if folder else f"_rels/{base}.rels"


def _target(folder: str, path: str) -> str:
    """Return the part that is the target of a relationship of a part in this folder."""
    return _part_name(posixpath.normpath(posixpath.join("/" + folder, path)))


def _part_name(name: bytes | str) -> str:
    """Normalise a part name: names compare without case (ECMA-376 part 2, 6.2.2.3)."""
    text = name.decode("utf-8", "replace") if isinstance(name, bytes) else name
    return text.replace("\\", "/").removeprefix("./").lstrip("/").lower()


@lru_cache
def _role(content_type: str) -> str:
    return content_type.rpartition(".")[2].lower().removesuffix("+xml")


def _undeclared(name: str, role: str, endings: dict[str, str]) -> str:
    """Return the kind of a part of unknown type: by its name, the type of its extension, or `role`."""
    ending = name[name.rfind(".") :] if "." in name else ""
    of_name = _role_of_name(name, ending) if ending in (".xml", ".bin") else ""
    if of_name in KNOWN:
        return of_name
    of_ending = endings.get(ending, "")
    return of_ending if of_ending in KNOWN else role or of_name


def _role_of_name(name: str, ending: str) -> str:
    base = posixpath.basename(name).removesuffix(ending).rstrip("0123456789")
    return "activexbin" if ending == ".bin" and base == "activex" else _ROLE_OF_NAME.get(base, base)


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that puts `slide10` after `slide9`."""
    return [(int(part[:18]), "") if part.isdigit() else (-1, part) for part in _NUMBER.split(name)]


# Members of an office package that are pictures, media or embedded objects.


def carried(file: BinaryIO, size: int, limits: Limits, wanted: re.Pattern[bytes]) -> Iterator[Child]:
    """Yield members whose names are `wanted`, an OLE package as the file in it; nothing else is inflated unless the
    archive has no directory. Raises DocumentError."""
    for child in _members(file, size, limits, wanted):
        child.kind = Kind.EMBEDDED_OBJECT
        child.notes = {"thumbnail": True} if THUMBNAIL.match(child.name) else {}
        child.name = child.name.rsplit(b"/", 1)[-1]
        if child.data and (unwrapped := ole_objects.unwrapped(child.data)):
            child.name, child.data = unwrapped[0] or child.name, unwrapped[1]
        yield child


def _members(file: BinaryIO, size: int, limits: Limits, wanted: re.Pattern[bytes]) -> Iterator[Child]:
    """Yield them as they are stored: small ones and embedded objects whole, the others as streams."""
    try:
        directory = find_directory(file, size)
    except DocumentError:
        yield from (child for child in salvage(file, size, limits) if wanted.search(child.name))
        raise
    for entry in iter_entries(file, directory):
        if wanted.search(entry.name) and not entry.directory:
            small = limits.parse_bytes if entry.name.lower().endswith(b".bin") else SMALL_MEMBER
            try:
                reader = part_reader(file, size, entry)
                yield reader.child(entry, Kind.EMBEDDED_OBJECT, whole=entry.size <= small)
            except DocumentError as error:
                yield failed_member(entry.name, entry.index, error)
    yield from rest(file, directory.end, size, directory.entries, "package", kind=Kind.EMBEDDED_OBJECT)
