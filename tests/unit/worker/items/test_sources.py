"""Sources on the filer: whose trouble it is when they cannot be read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from core.errors import DocumentError, SourceFileError, StorageFault
from core.operations import NullRecorder
from core.storage.layer import Storage
from worker.items.sources import CHUNK, FilerSource

_WAYS: list[Callable[[FilerSource], object]] = [
    lambda s: s.head,
    lambda s: s.whole(10**9),
    lambda s: s.digest(),
    lambda s: s.open().read(10),
]


def _source(path: Path, *, own: bool, size: int = 100) -> FilerSource:
    return FilerSource(Storage(NullRecorder()), bytes(path), b"name", size, own=own)


@pytest.mark.parametrize("read", _WAYS)
# Reading address 0 of one's own memory is a real EIO from a real regular file.
@pytest.mark.parametrize("path", ["/nonexistent/file", "/proc/self/mem"])
def test_trouble_belongs_to_the_document_or_to_us(read: Callable[[FilerSource], object], path: str) -> None:
    """A loose file that is gone or broken is its own exception; a file that a worker wrote is the storage's fault,
    also when it opens and the reading fails."""
    if path == "/proc/self/mem" and read in (_WAYS[1],):
        pytest.skip("its size is 0, so nothing is read")
    with pytest.raises(SourceFileError):
        read(_source(Path(path), own=False))
    with pytest.raises(StorageFault, match="written by this job"):
        read(_source(Path(path), own=True))


@pytest.mark.parametrize("own", [False, True])
def test_all_ways_of_reading_give_the_same_bytes(tmp_path: Path, own: bool) -> None:
    """Head, whole, digest and a seekable reader agree with the file."""
    data = bytes(range(256)) * 5_000 + b"end"
    (tmp_path / "f").write_bytes(data)
    source = _source(tmp_path / "f", own=own, size=len(data))
    assert source.head == data[:4096]
    assert source.whole(len(data)) == data
    assert source.digest() == (hashlib.sha256(data).digest(), len(data))
    with source.open() as f:
        assert f.read(10) == data[:10]
        f.seek(-3, 2)
        assert f.read() == b"end"
        f.seek(CHUNK - 1)
        assert (f.read(2), f.tell()) == (data[CHUNK - 1 : CHUNK + 1], CHUNK + 1)


def test_too_large_is_told_before_anything_is_read() -> None:
    """The limit is checked by size: a file that is not even there gives too_large."""
    with pytest.raises(DocumentError, match="too_large"):
        _source(Path("/nonexistent"), own=False).whole(99)


def test_an_empty_file_is_not_opened_for_its_head(tmp_path: Path) -> None:
    """No bytes, no error."""
    (tmp_path / "f").write_bytes(b"")
    assert _source(tmp_path / "f", own=False, size=0).head == b""
