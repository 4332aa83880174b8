"""Torrents (BEP 3 and 52): their names and descriptions, and the names of the files that they are for.

Bencoded data is read as a row of values, each with the keys that lead to it: no tree of nested values is built, and
reading ends with the bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import chain

from readers import clean
from readers.base import Handler, LeafHandler, Source, Text
from readers.charset import CHARSET_KEYS, Detected, decode, read_in
from readers.declared import Declared
from readers.errors import DocumentError, ExceptionCode
from readers.records import Limits

_MOST = 1_000_000  # names of files and folders, and addresses: the largest torrents have a tenth of that
_DEPTH = 64  # dictionaries and lists in one another; a tree of files has one for each folder
_TOKEN = re.compile(rb"(\d{1,18}):|i(-?\d{1,18})e|([dl])|e")
_LAST_SECOND = 253_402_300_799  # of the year 9999
_ITEM = b""  # in place of a key: in a list
_NAME, _TREE, _FILE = (b"info", b"name"), (b"info", b"file tree"), (b"info", b"files", _ITEM)
_CREATED, _ENCODING = (b"creation date",), (b"encoding",)
_SAYS = {
    (b"comment",): "description",
    (b"created by",): "application",
    (b"publisher",): "",
    (b"publisher-url",): "",
    (b"info", b"comment"): "",
    (b"info", b"publisher"): "",
    (b"info", b"source"): "",
}
_ADDRESSES = frozenset(
    (
        (b"announce",),
        (b"announce-list", _ITEM, _ITEM),
        (b"url-list",),
        (b"url-list", _ITEM),
        (b"httpseeds", _ITEM),
        (b"nodes", _ITEM, _ITEM),
    )
)
_AGAIN = b".utf-8"  # ends a key whose value is that of the key without it, in this charset

Keys = tuple[bytes, ...]
Said = str | bytes  # bytes: in the charset that the torrent declares, if any


def values(data: bytes) -> Iterator[tuple[Keys, bytes | int | None]]:
    """Each string and number with the keys that lead to it; None where what they lead to, a dictionary or a list, is over.
    DocumentError where the bytes end, or are no such values."""
    # A key for each kind, but of a dictionary that is at its next key
    at, kinds, keys = 0, list[bytes](), list[bytes]()
    while True:
        at, token = _token(data, at)
        length, number, begins = token.groups()
        at_key = bool(kinds) and kinds[-1] == b"d" and len(keys) < len(kinds)
        if length is not None:
            string = data[at : at + int(length)]
            at += int(length)
            if at > len(data):
                raise _ended()
            if at_key:
                keys.append(string)
                continue
            yield tuple(keys), string
        elif begins is not None and not at_key:
            if len(kinds) == _DEPTH:
                raise DocumentError(ExceptionCode.CORRUPT, f"its lists are nested more than {_DEPTH} deep")
            kinds.append(begins)
            keys += [_ITEM] if begins == b"l" else []
            continue
        elif number is not None and not at_key:
            yield tuple(keys), int(number)
        elif number is None and begins is None and kinds and (at_key or kinds[-1] == b"l"):
            keys = keys[:-1] if kinds.pop() == b"l" else keys
            yield tuple(keys), None
        else:
            raise _damaged(at)
        if not kinds:
            return
        if kinds[-1] == b"d":
            keys.pop()


def _token(data: bytes, at: int) -> tuple[int, re.Match[bytes]]:
    """What begins here, and where it ends."""
    token = _TOKEN.match(data, at)
    if token is None:
        raise _ended() if at + 20 > len(data) else _damaged(at)
    return token.end(), token


def _ended() -> DocumentError:
    return DocumentError(ExceptionCode.TRUNCATED, "it ends in the middle of a value")


def _damaged(at: int) -> DocumentError:
    return DocumentError(ExceptionCode.CORRUPT, f"no value where one should be, at byte {at:,}")


@dataclass(slots=True)
class _Torrent:
    """The content of one, as far as it was read."""

    one: dict[Keys, Said] = field(default_factory=dict)  # what is at one place
    files: list[list[Said]] = field(default_factory=list)  # a name with its folders
    addresses: list[Said] = field(default_factory=list)
    created: int | None = None
    taken: int = 0  # names and addresses
    _parts: dict[bytes, list[Said]] = field(default_factory=dict)  # of the file that is being read

    def take(self, keys: Keys, value: bytes | int | None) -> None:
        """One value; values of other keys say nothing to a person. DocumentError where there are too many."""
        if isinstance(value, int):
            self._number(keys, value)
        elif value is None:
            if keys == _FILE:
                self._file()
        elif keys in _ADDRESSES:
            self._count(1)
            self.addresses.append(value)
        elif keys[:-2] == _FILE and keys[-1] == _ITEM:
            self._count(1)
            self._parts.setdefault(keys[-2], []).append(_decoded(keys[-2], value))
        elif keys:
            place = (*keys[:-1], keys[-1].removesuffix(_AGAIN))
            if place in _SAYS or place in (_NAME, _ENCODING):
                said = _decoded(keys[-1], value)
                if place == keys:
                    self.one.setdefault(place, said)
                else:
                    self.one[place] = said

    def _number(self, keys: Keys, value: int) -> None:
        if keys == _CREATED and 0 < value <= _LAST_SECOND:
            self.created = value
        elif keys[:2] == _TREE and keys[-2:] == (b"", b"length"):
            self._count(len(keys))
            self.files.append(list(keys[2:-2]))

    def _count(self, more: int) -> None:
        self.taken += more
        if self.taken > _MOST:
            raise DocumentError(ExceptionCode.TOO_LARGE, f"it has more than {_MOST:,} names")

    def _file(self) -> None:
        parts = self._parts.get(b"path" + _AGAIN) or self._parts.get(b"path")
        if parts:
            self.files.append(parts)
        self._parts = {}

    def close(self) -> None:
        """Nothing comes any more."""
        self._file()

    def detected(self) -> Detected:
        """The charset of all that does not say its own."""
        told = self.one.pop(_ENCODING, b"")
        # Each name once: thousands of files may be in a folder with a long one.
        said = dict.fromkeys((*self.one.values(), *chain.from_iterable(self.files), *self.addresses))
        raw = b"\n".join(one for one in said if isinstance(one, bytes))
        return decode(raw, told.decode("ascii", "replace") if isinstance(told, bytes) else told)[1]


def _decoded(key: bytes, value: bytes) -> Said:
    return value.decode("utf-8", "replace") if key.endswith(_AGAIN) else value


class TorrentHandler(LeafHandler):
    """A torrent of either version, or both."""

    name = "torrent"
    media_types: tuple[str, ...] = ("application/x-bittorrent",)
    declared = Declared(
        title="Torrents",
        extensions=("torrent",),
        text="name, comment, program and publisher, names of the files with their folders, addresses of trackers and servers",
        metadata=("title", "description", "application", "created", *CHARSET_KEYS),
        leaves_out=(
            "hashes, sizes, keys of other programs",
            "content more than 64 lists deep: the exception is `corrupt`",
            "names and addresses after the first million: the exception is `too_large`",
        ),
    ).alone()

    def text(self, source: Source, limits: Limits) -> Text:
        """A line for each name and address; of a damaged one those before the damage, and `error`."""
        torrent, error = _Torrent(), None
        try:
            for keys, value in values(source.whole(limits.parse_bytes)):
                torrent.take(keys, value)
        except DocumentError as failed:
            error = failed
        torrent.close()
        detected = torrent.detected()
        collector = clean.Collector(limits.text_characters)
        collector.lines(_lines(torrent, detected.charset))
        out = collector.read_in(detected, error)
        out.metadata = clean.values(_about(torrent, detected.charset)) | out.metadata
        return out


def _lines(torrent: _Torrent, charset: str) -> Iterator[str]:
    """The lines, each once: torrents of both versions name their files twice. They are made one at a time: the names
    are few bytes, and all lines together may be a thousand times that."""
    seen: set[bytes] = set()
    for parts in _said(torrent):
        line = "/".join(_text(part, charset) for part in parts)
        mark = blake2b(line.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if line and mark not in seen:
            seen.add(mark)
            yield line


def _said(torrent: _Torrent) -> Iterator[Sequence[Said]]:
    """What each line is made of."""
    yield from ((torrent.one[place],) for place in (_NAME, *_SAYS) if place in torrent.one)
    yield from dict.fromkeys(map(tuple, torrent.files))
    yield from ((address,) for address in torrent.addresses)


def _about(torrent: _Torrent, charset: str) -> Iterator[tuple[str, str | None]]:
    for place, key in {_NAME: "title", **_SAYS}.items():
        if key and place in torrent.one:
            yield key, _text(torrent.one[place], charset)
    if torrent.created is not None:
        yield "created", datetime.fromtimestamp(torrent.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _text(said: Said, charset: str) -> str:
    return said if isinstance(said, str) else read_in(said, charset)


HANDLERS: tuple[Handler, ...] = (TorrentHandler(),)
