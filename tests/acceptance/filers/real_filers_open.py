"""`make test-filers`: files that somebody has open while others remove or replace them: on NFS a name of their own (`.nfs…`) or
`ESTALE`, on FUSE `.fuse_hidden…`, elsewhere nothing."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from installation import Bench, until
from real_mounts import EVERY, Real, installed

from core.errors import SourceFileError
from core.storage.layer import ReadFile, Storage
from readers.errors import ExceptionCode

_OLD, _NEW = b"old " * (1 << 20), b"new " * (1 << 20)  # more than a client reads ahead
_STATELESS = "nfs" in EVERY and "vers=3" in Path("/proc/mounts").read_text()
_KEEPS = ("exfat", "ntfs", "nfs")  # what is removed while it is open stands beside until it is closed


@pytest.fixture
def there(storage: Real, bench: Bench, tiny: Path) -> Iterator[Bench]:
    """An installation on it."""
    with installed(bench, storage, tiny) as made:
        yield made


@pytest.fixture
def directory(storage: Real) -> Iterator[Path]:
    """An empty one on it."""
    made = Path(tempfile.mkdtemp(prefix="edbench ", dir=storage.directory))
    yield made
    shutil.rmtree(made)


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_file_that_another_client_takes_away_while_it_is_read(storage: Real, directory: Path, how: str) -> None:
    """Its own bytes to the end, or it has vanished, which is one item's trouble: no fault, which would stop the job, and nothing of
    what stands there now."""
    with storage.elsewhere() as other:
        theirs = other / directory.relative_to(storage.directory)
        (theirs / "a").write_bytes(_OLD)
        layer = _layer(storage)
        with layer.open(os.fsencode(directory / "a")) as file:
            assert file.pread(4, 0) == _OLD[:4]
            if how == "removed":
                (theirs / "a").unlink()
            else:
                (theirs / "b").write_bytes(_NEW)
                (theirs / "b").rename(theirs / "a")
            if _STATELESS:  # its server holds nothing open for us, and says ESTALE
                until(lambda: _reported(lambda: _last(file)) is ExceptionCode.VANISHED, "the server forgets it")
            assert _reported(lambda: _last(file)) in (_OLD[-4:], ExceptionCode.VANISHED)
        if how == "replaced":
            until(lambda: _new_one_read(layer, directory / "a"), "the new one is read")


def test_a_file_that_another_client_replaces_is_looked_at_again(storage: Real, directory: Path) -> None:
    with storage.elsewhere() as other:
        theirs = other / directory.relative_to(storage.directory)
        (theirs / "a").write_bytes(b"old")
        layer, name = _layer(storage), os.fsencode(directory / "a")
        assert layer.stat(name).st_size == 3
        (theirs / "b").write_bytes(b"new one")
        (theirs / "b").rename(theirs / "a")
        until(lambda: layer.stat(name).st_size == 7, "the new one is seen")


def _layer(storage: Real) -> Storage:
    """As a slot has it."""
    made = Storage()
    made.keep_below(os.fsencode(storage.directory), hold=True)
    return made


def _new_one_read(layer: Storage, path: Path) -> bool:
    """Until then the old one, or none: never some of each."""
    read = _reported(lambda: _whole(layer, path))
    assert read in (_OLD, _NEW, ExceptionCode.VANISHED)
    return read == _NEW


def _whole(layer: Storage, path: Path) -> bytes:
    with layer.open(os.fsencode(path)) as file:
        return file.readall()


def _last(file: ReadFile) -> bytes:
    """The last of the old one's bytes, from the server."""
    os.posix_fadvise(file._fd, 0, 0, os.POSIX_FADV_DONTNEED)
    return file.pread(4, len(_OLD) - 4)


def _reported(read: Callable[[], bytes]) -> bytes | ExceptionCode:
    """The bytes, or what is said instead."""
    try:
        return read()
    except SourceFileError as gone:
        return gone.code


def test_delete_while_a_program_reads_a_file_of_the_job(storage: Real, there: Bench) -> None:
    with there.attached():
        there.end(there.discover("--workers", "1", "--slots", "2"))
        held = max(
            (path for path in (there.storage / "jobs").rglob("*") if path.is_file()),
            key=lambda path: path.stat().st_size,
        )
        with held.open("rb"):
            for _ in range(2 if storage.name in _KEEPS else 0):
                shown = there.edbench("job", "delete", "last", check=1).stderr
                assert "has a file in it open" in shown
            if storage.name not in _KEEPS:
                there.edbench("job", "delete", "last")
        if storage.name in _KEEPS:
            there.edbench("job", "delete", "last")
    assert [path for path in (there.storage / "jobs").rglob("*") if path.is_file()] == []
