"""The two kinds of storage that clients use: a directory, by the storage layer's calls, and a bucket of an S3 endpoint,
by obstore.

Of an S3 endpoint whole objects are recorded, no calls. Its place and login are an s3://bucket/prefix URL and the usual
AWS_* variables, or http[s]://host:port/bucket/prefix. Every client has its own connections and never retries, because a
retry of the library would hide what is counted. An object over PART_BYTES is sent in parts, one after another, on one
connection.

Below an S3 prefix, a test writes under a random name with a marker object, as `storage_tests.owner` does for
directories: nothing else is removed, a prefix with anything else is refused, and the next command on this host removes
what a killed one left. Limits: of two commands that start at the same moment both continue, each below its own name;
unfinished multipart uploads are left to the bucket's lifecycle rules."""

from __future__ import annotations

import errno
import json
import mmap
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from core.errors import EdbenchError, RunFailed, SourceFileError, StorageFault, UsageError, system_errors
from core.operations import Op, Recorder
from core.records import FsyncPolicy
from core.storage.files import Station
from core.storage.layer import Storage
from storage_tests.owner import Owner, this_process

if TYPE_CHECKING:
    from obstore.store import S3Store
    from typing_extensions import Buffer


class Refused(EdbenchError):
    """A connection that the storage did not take: refused, reset before an answer, or reported as busy."""


class Failed(EdbenchError):
    """Any other error with one file or object."""


class Store(Protocol):
    """One client's access to the storage; not for several threads. Names are relative, with `/` between their parts.

    Every method raises Refused or Failed; nothing is retried."""

    def make(self, directory: str) -> None:
        """Create a directory that names begin with, if the storage has directories."""

    def write(self, name: str, size: int, pieces: Iterable[Buffer]) -> int:
        """Write a new file or object of so many bytes; return its bytes."""

    def read(self, name: str) -> int:
        """Read all of it; return its bytes."""

    def remove(self, name: str) -> None:
        """Remove it."""

    def forget(self, name: str) -> None:
        """Force the file to the storage and ask this host's cache to drop it; do nothing where there is no such
        cache."""


MOVES = (Op.READ, Op.WRITE)  # the calls that move bytes
_REFUSALS = frozenset(
    {
        errno.ECONNREFUSED,
        errno.ECONNRESET,
        errno.ECONNABORTED,
        errno.ETIMEDOUT,
        errno.EHOSTDOWN,
        errno.EHOSTUNREACH,
        errno.ENETDOWN,
        errno.ENETUNREACH,
        errno.ENOTCONN,
        errno.EUSERS,
    }
)


class _Faults:
    """Reports the storage layer's errors as Refused or Failed."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, (SourceFileError, StorageFault)):
            raise (Refused if error.errno in _REFUSALS else Failed)(str(error)) from error


_faults = _Faults()


class PathStore:
    """Files below `root`. `station` delays the calls: an emulated filer."""

    def __init__(
        self, root: Path, recorder: Recorder, *, fsync: FsyncPolicy, io_bytes: int, station: Station | None = None
    ) -> None:
        self._root = os.fsencode(root) + b"/"
        self._storage = Storage(recorder, fsync, filer=station)
        self._buffer = mmap.mmap(
            -1, io_bytes
        )  # begins with a page: copies into a bytearray take twice as long and more

    def _path(self, name: str) -> bytes:
        return self._root + name.encode()

    def make(self, directory: str) -> None:
        with _faults:
            self._storage.mkdir(self._path(directory))

    def write(self, name: str, size: int, pieces: Iterable[Buffer]) -> int:
        with _faults, self._storage.create(self._path(name)) as file:
            for piece in pieces:
                file.write(piece)
        return file.bytes_written

    def read(self, name: str) -> int:
        total = 0
        with _faults, self._storage.open(self._path(name)) as file:
            while moved := file.readinto(self._buffer):
                total += moved
        return total

    def remove(self, name: str) -> None:
        with _faults:
            self._storage.remove(self._path(name))

    def forget(self, name: str) -> None:
        with system_errors(Failed, f"this host's cache of {name} cannot be dropped"):
            descriptor = os.open(self._path(name), os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(descriptor)  # a page that is not written yet cannot be dropped
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


PART_BYTES = 8 << 20
_READ_BYTES = 1 << 20
_LONGEST = "2h"  # limit for one request
_AT_ONCE = 1_000  # objects that are listed and removed at once

# Parts of object_store's errors for a failed connection, and of servers' for overload (503 SlowDown, 429).
_REFUSED_WORDS = re.compile(
    r"connection refused|connection reset|connection closed|connectionreset|incompletemessage|broken pipe|tcp connect"
    r"|client error \(connect\)|\b503\b|\b429\b|slowdown|too many requests",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Place:
    """A bucket and the prefix of names in it."""

    bucket: str
    prefix: str
    endpoint: str | None  # None: as in the environment

    def below(self, name: str) -> Place:
        """Return the place under a further part of the name."""
        return Place(self.bucket, "/".join(filter(None, (self.prefix, name))), self.endpoint)

    def __str__(self) -> str:
        start = "s3:/" if self.endpoint is None else self.endpoint
        return "/".join(filter(None, (start, self.bucket, self.prefix)))


def place_of(url: str) -> Place:
    """Return the place that a URL names. Raises UsageError in one line."""
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
    """Connect to a place. Raises UsageError if obstore rejects it."""
    from obstore.exceptions import BaseError
    from obstore.store import S3Store  # a megabyte of Rust, only needed for an endpoint

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
    """Objects of one client below a place."""

    def __init__(self, place: Place) -> None:
        self._store = connect(place)

    def make(self, directory: str) -> None:
        """Do nothing: there are no directories."""

    def write(self, name: str, size: int, pieces: Iterable[Buffer]) -> int:
        import obstore

        parts = size > PART_BYTES
        data = _copied(pieces) if parts else b"".join(_copied(pieces))
        with _translated():
            obstore.put(self._store, name, data, use_multipart=parts, chunk_size=PART_BYTES, max_concurrency=1)
        return size

    def read(self, name: str) -> int:
        import obstore

        with _translated():
            found = obstore.get(self._store, name)
            return sum(len(piece) for piece in found.stream(min_chunk_size=_READ_BYTES))

    def remove(self, name: str) -> None:
        import obstore

        with _translated():
            obstore.delete(self._store, name)

    def forget(self, name: str) -> None:
        """Do nothing: there is no cache of this host in between."""


def text_of(place: Place, name: str) -> str:
    """Return a small object as text. Raises Refused or Failed, ValueError if it is no text."""
    import obstore

    with _translated():
        found = bytes(obstore.get(connect(place), name).bytes())
    return found.decode()


class _translated:
    """Reports the library's errors as Refused or Failed."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        from obstore.exceptions import BaseError

        if isinstance(error, (BaseError, OSError)):
            message = _words(error)
            raise (Refused if _REFUSED_WORDS.search(f"{error!r} {error}") else Failed)(message) from error


def names_below(place: Place) -> Iterator[list[str]]:
    """Yield the names of all objects, so many at a time. Raises Refused or Failed."""
    import obstore

    with _translated():
        for found in obstore.list(connect(place), chunk_size=_AT_ONCE):
            yield [one["path"] for one in found]


def remove_below(place: Place) -> None:
    """Remove every object whose name begins so. Raises Refused or Failed."""
    import obstore

    if not place.prefix:
        raise ValueError("refusing to remove a whole bucket")
    store = connect(place)
    for names in names_below(place):
        with _translated():
            obstore.delete(store, names)


def _words(error: BaseException) -> str:
    """Return an error in one line, without the tree of causes that follows it."""
    return " ".join(str(error).split("\n\nDebug")[0].split())[:500]


def _copied(pieces: Iterable[Buffer]) -> Iterator[bytes]:
    """Copy the pieces: each is valid only until the next one, and a part is assembled from several."""
    for piece in pieces:
        yield bytes(piece)


_MARK = ".owner.json"


@contextmanager
def claimed_prefix(url: str) -> Iterator[str]:
    """Yield an empty URL below this one; remove everything below it at the end.

    Raises UsageError where something else is stored there, StorageFault where the endpoint does not do as requested."""
    place = place_of(url)
    connect(place)
    owner = this_process()
    marker = f"{owner.directory}{_MARK}"
    try:
        _forget_dead(place)
        data = json.dumps(asdict(owner)).encode()
        ObjectStore(place).write(marker, len(data), [data])
    except (Refused, Failed) as error:
        raise StorageFault(f"{url}: {error}") from error
    own = place.below(owner.directory)
    try:
        yield str(own)
    finally:
        try:
            remove_below(own)
            ObjectStore(place).remove(marker)
        except (Refused, Failed) as error:
            raise RunFailed(f"the data written below {own} cannot be removed: {error}") from error


def _forget_dead(place: Place) -> None:
    names = next(names_below(place), [])
    for name in [name for name in names if name.endswith(_MARK)]:
        owner = _read(place, name)
        if owner.alive():
            raise UsageError(f"--s3: {place}: process {owner.pid} runs a storage test there")
        remove_below(place.below(owner.directory))
        ObjectStore(place).remove(name)
    others = next(names_below(place), [])
    if others:
        raise UsageError(f"--s3: {place} is not empty ({others[0]}): a storage test needs an empty prefix")


def _read(place: Place, name: str) -> Owner:
    try:
        owner = Owner(**json.loads(text_of(place, name)))
        if name != f"{owner.directory}{_MARK}":
            raise ValueError("it gives another")
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"--s3: {place}: {name} was not written by edbench ({error}); nothing was changed there"
        ) from error
    return owner
