"""Sources on the filer: whose trouble it is when they cannot be read."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from recording import MemoryRecorder

from core.errors import SourceFileError, StorageFault
from core.operations import Op
from core.storage.layer import Storage
from readers.errors import DocumentError, ExceptionCode
from worker.items.sources import CHUNK, FilerSource, HashedSource, confirm, settled

_WAYS: list[Callable[[FilerSource], object]] = [
    lambda s: s.head,
    lambda s: s.whole(10**9),
    lambda s: s.digest(),
    lambda s: s.open().read(10),
]


def _source(path: Path, *, own: bool, size: int = 100) -> FilerSource:
    return FilerSource(Storage(), bytes(path), b"name", size, own=own)


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


def test_too_large_is_reported_before_anything_is_read() -> None:
    """The limit is checked by size: a file that is not even there gives too_large."""
    with pytest.raises(DocumentError, match="too_large"):
        _source(Path("/nonexistent"), own=False).whole(99)


def test_an_empty_file_is_not_opened_for_its_head(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    assert _source(tmp_path / "f", own=False, size=0).head == b""


def _hashed(path: Path, storage: Storage | None = None) -> HashedSource:
    """The file as it was when it was hashed: now."""
    data = path.read_bytes()
    source = FilerSource(storage or Storage(), bytes(path), b"name", len(data), own=False)
    return HashedSource(source, hashlib.sha256(data).digest(), path.stat().st_mtime_ns)


def _rewrite(path: Path, data: bytes) -> None:
    """Other bytes under the same modification time."""
    before = path.stat().st_mtime_ns
    path.write_bytes(data)
    os.utime(path, ns=(before, before))


_DATA = bytes(range(256)) * 12_000 + b"end"


@pytest.mark.parametrize(
    "read", [lambda s: s.whole(10**9), lambda s: s.open().read(), lambda s: s.open().detach().readall()]
)
def test_other_bytes_of_the_same_size_and_time_are_refused(
    tmp_path: Path, read: Callable[[FilerSource], bytes]
) -> None:
    """Whoever reads the file whole is not given bytes that were not hashed, though nothing else shows the change."""
    path = tmp_path / "f"
    path.write_bytes(_DATA)
    source = _hashed(path)
    assert read(source) == _DATA
    _rewrite(path, _DATA.replace(b"end", b"END"))
    with pytest.raises(DocumentError) as caught:
        read(source)
    assert caught.value.code is ExceptionCode.CHANGED_DURING_PROCESSING


def test_other_bytes_of_the_same_size_and_time_have_another_change_time(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(_DATA)
    os.utime(path, ns=(1, 1))
    before = path.stat()
    source = FilerSource(Storage(), bytes(path), b"name", len(_DATA), own=False)
    hashed = HashedSource(source, hashlib.sha256(_DATA).digest(), 1, ctime_ns=before.st_ctime_ns)
    confirm(hashed)
    while path.stat().st_ctime_ns == before.st_ctime_ns:
        _rewrite(path, _DATA.replace(b"end", b"END"))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, 1)
    assert hashed.whole(10**9).endswith(b"END")
    with pytest.raises(DocumentError, match="changed after it was hashed"):
        confirm(hashed)


def test_a_change_time_of_just_now_states_nothing(tmp_path: Path) -> None:
    """A further change within the same tick of the file system's clock would have the same."""
    (tmp_path / "f").write_bytes(_DATA)
    with Storage().open(bytes(tmp_path / "f")) as file:
        assert settled(file) is None
        file.ctime_ns -= 10**10
        assert settled(file) == file.ctime_ns


def test_a_file_that_has_grown_is_read_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(_DATA)
    source = _hashed(path)
    path.write_bytes(_DATA + b"more")
    assert source.whole(len(_DATA)) == _DATA
    with source.open() as file:
        assert file.read() == _DATA
        file.seek(-3, 2)
        assert (file.read(), file.read()) == (b"end", b"")
    confirm(source)


def test_a_changed_file_is_found_by_its_size_and_time_and_hashed_once(tmp_path: Path) -> None:
    """As the ranges of a container are confirmed one by one: an unchanged file costs no read, a touched one is hashed once,
    and a changed one once more."""
    path, recorder = tmp_path / "f", MemoryRecorder()
    path.write_bytes(_DATA)
    source = _hashed(path, Storage(recorder))

    def reads() -> int:
        return sum(call.op is Op.READ for call in recorder.records)

    confirm(source)
    assert reads() == 0
    os.utime(path, ns=(1, 1))
    for _ in range(3):
        confirm(source)
    hashed = reads()
    assert 0 < hashed <= 1 + len(_DATA) // CHUNK + 1
    path.write_bytes(_DATA.replace(b"end", b"END"))
    for _ in range(3):
        with pytest.raises(DocumentError, match="changed after it was hashed"):
            confirm(source)
    assert reads() == 2 * hashed
