"""A bucket of an S3 endpoint as a store, by obstore (the object_store crate); no call is recorded, whole objects are.

Where and as whom: an s3://bucket/prefix URL and the usual AWS_* variables (AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY, AWS_REGION …), or http[s]://host:port/bucket/prefix.

Every client has connections of its own and never tries again: what a library would hide by trying again is what is counted
here. An object over `part_bytes` goes in parts, one after another, so that a client keeps to one connection.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from core.errors import UsageError
from experiments.clients.store import Failed, Refused

if TYPE_CHECKING:
    from obstore.store import S3Store
    from typing_extensions import Buffer

PART_BYTES = 8 << 20
_READ_BYTES = 1 << 20
_LONGEST = "2h"  # that one request may take
_AT_ONCE = 1_000  # objects that are removed between two looks

# What object_store's errors say of a connection that was not to be had, and servers of being busy (503 SlowDown, 429).
_REFUSED = re.compile(
    r"connection refused|connection reset|connection closed|connectionreset|incompletemessage|broken pipe|tcp connect"
    r"|client error \(connect\)|\b503\b|\b429\b|slowdown|too many requests",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Place:
    """A bucket and what names in it begin with."""

    bucket: str
    prefix: str
    endpoint: str | None  # None: as the environment says

    def below(self, name: str) -> Place:
        """What lies under a further part of the name."""
        return Place(self.bucket, "/".join(filter(None, (self.prefix, name))), self.endpoint)

    def __str__(self) -> str:
        start = "s3:/" if self.endpoint is None else self.endpoint
        return "/".join(filter(None, (start, self.bucket, self.prefix)))


def place_of(url: str) -> Place:
    """What a URL names; raises UsageError in one line."""
    parts = urlsplit(url)
    path = parts.path.strip("/")
    if parts.username or parts.password:
        raise UsageError("--s3: the URL must not contain credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
    if parts.scheme == "s3" and parts.netloc:
        return Place(parts.netloc, path, None)
    if parts.scheme in ("http", "https") and parts.netloc and path:
        bucket, _, prefix = path.partition("/")
        return Place(bucket, prefix, f"{parts.scheme}://{parts.netloc}")
    raise UsageError(f"--s3: {url!r} is neither s3://bucket/prefix nor http[s]://host:port/bucket/prefix")


def connect(place: Place, env: Mapping[str, str] = os.environ) -> S3Store:
    """Raises UsageError where obstore cannot make sense of it."""
    from obstore.exceptions import BaseError
    from obstore.store import S3Store  # a megabyte of Rust, for those who have an endpoint

    if not env.get("AWS_ACCESS_KEY_ID") or not env.get("AWS_SECRET_ACCESS_KEY"):
        raise UsageError("--s3: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set")
    try:
        return S3Store(
            place.bucket,
            prefix=place.prefix or None,
            config={} if place.endpoint is None else {"endpoint": place.endpoint},
            client_options={"allow_http": True, "timeout": _LONGEST, "connect_timeout": "10s"},
            retry_config={"max_retries": 0},
        )
    except (BaseError, ValueError) as error:
        raise UsageError(f"--s3: {place}: {_words(error)}") from error


class ObjectStore:
    """One client's."""

    def __init__(self, place: Place, part_bytes: int = PART_BYTES) -> None:
        self._store = connect(place)
        self._part = part_bytes

    def make(self, directory: str) -> None:
        """There are none."""

    def write(self, name: str, size: int, pieces: Iterable[Buffer]) -> int:
        import obstore

        parts = size > self._part
        data = _copied(pieces) if parts else b"".join(_copied(pieces))
        with _told():
            obstore.put(self._store, name, data, use_multipart=parts, chunk_size=self._part, max_concurrency=1)
        return size

    def read(self, name: str) -> int:
        import obstore

        with _told():
            found = obstore.get(self._store, name)
            return sum(len(piece) for piece in found.stream(min_chunk_size=_READ_BYTES))

    def remove(self, name: str) -> None:
        import obstore

        with _told():
            obstore.delete(self._store, name)

    def forget(self, name: str) -> None:
        """No cache of this host lies between."""


def put(place: Place, name: str, data: bytes) -> None:
    """A small object; raises Refused or Failed."""
    import obstore

    with _told():
        obstore.put(connect(place), name, data, use_multipart=False)


def text_of(place: Place, name: str) -> str:
    """A small object's; raises Refused or Failed, ValueError where it is no text."""
    import obstore

    with _told():
        found = bytes(obstore.get(connect(place), name).bytes())
    return found.decode()


def remove(place: Place, name: str) -> None:
    """Raises Refused or Failed."""
    import obstore

    with _told():
        obstore.delete(connect(place), name)


def names_below(place: Place) -> Iterator[list[str]]:
    """All objects, so many at a time; raises Refused or Failed."""
    import obstore

    with _told():
        for found in obstore.list(connect(place), chunk_size=_AT_ONCE):
            yield [one["path"] for one in found]


def remove_below(place: Place) -> int:
    """Every object whose name begins so; how many they were. Raises Refused or Failed."""
    import obstore

    if not place.prefix:
        raise ValueError("refusing to remove a whole bucket")
    store, removed = connect(place), 0
    for names in names_below(place):
        with _told():
            obstore.delete(store, names)
        removed += len(names)
    return removed


class _told:
    """The library's errors in our words."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        from obstore.exceptions import BaseError

        if isinstance(error, (BaseError, OSError)):
            said = _words(error)
            raise (Refused if _REFUSED.search(f"{error!r} {error}") else Failed)(said) from error


def _words(error: BaseException) -> str:
    """One line without the tree of causes that follows it."""
    return " ".join(str(error).split("\n\nDebug")[0].split())[:500]


def _copied(pieces: Iterable[Buffer]) -> Iterator[bytes]:
    """A piece is good until the next one; a part is put together from several."""
    for piece in pieces:
        yield bytes(piece)
