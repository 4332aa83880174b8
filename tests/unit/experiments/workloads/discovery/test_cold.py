"""Dropping caches, checked by the kernel itself."""

import os
import tempfile
from pathlib import Path

import pytest
from installation import until

from core import residency
from core.residency import resident_bytes
from experiments.conditions import Drop, cache_state
from experiments.workloads.discovery.site import drop

SIZE = 4_000_000


@pytest.fixture(autouse=True)
def switch(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In place of the machine's, which we may not write: what is dropped are our own files, not all that the tests beside
    are made of."""
    file = tmp_path_factory.mktemp("kernel") / "may not be there" / "drop_caches"
    monkeypatch.setattr(residency, "_DROP", file)
    return file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files, a link and an empty one."""
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(os.urandom(SIZE))
    (tmp_path / "empty").touch()
    (tmp_path / "link").symlink_to("a")
    return tmp_path


def _drop_all_of(folder: Path) -> Drop:
    """Drop two files that lie in the page cache; anew if somebody else on this machine drops them before we do, or
    holds some of their pages just then."""

    def dropped() -> Drop | None:
        for name in ("a", "b"):
            (folder / name).read_bytes()
        done = drop([folder], "before")
        all_or_none = done.resident_after < 0.01 * SIZE or done.resident_after == 2 * SIZE
        return done if done.resident_before == 2 * SIZE and all_or_none else None

    done = until(dropped, "files that were just read lie in the page cache, and no longer")
    assert isinstance(done, Drop)
    return done


def _leaves_memory(file: Path) -> bool:
    """Whether the kernel drops it where it is asked to, without our hands."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
    return resident_bytes(file) != file.stat().st_size


def test_what_was_dropped_is_not_resident(folder: Path) -> None:
    done = _drop_all_of(folder)
    if done.resident_after == 2 * SIZE and not _leaves_memory(folder / "a"):
        pytest.skip("this file system lies in memory itself: nothing can be dropped")
    assert (done.bytes, done.unknown, done.refused) == (2 * SIZE, 0, 0)
    assert done.resident_after < 0.01 * SIZE
    assert done.cold
    assert cache_state([done], asked=True).startswith("cold on this host")


def test_where_we_may_everything_is_dropped_at_once(folder: Path, switch: Path) -> None:
    switch.parent.mkdir()
    assert drop([folder], "before").drop_caches
    assert switch.read_text() == "3\n"
    switch.unlink()
    switch.parent.rmdir()
    assert not drop([folder], "before").drop_caches


def test_what_stays_is_reported() -> None:
    """Files in memory cannot be dropped: the state says how much stayed, and never `cold`."""
    place = Path("/dev/shm")
    if not os.access(place, os.W_OK):
        pytest.skip("there is no /dev/shm to write to")
    with tempfile.TemporaryDirectory(prefix="edbench-test-", dir=place) as directory:
        Path(directory, "a").write_bytes(os.urandom(SIZE))
        assert resident_bytes(Path(directory, "a")) == SIZE
        done = drop([Path(directory)], "before")
    assert done.resident_after == SIZE
    assert not done.cold
    assert "100.0% of the bytes stayed" in cache_state([done], asked=True)


def test_nothing_is_called_cold_that_was_not_asked_to_be() -> None:
    """Without --cold the state is unknown; with it and nothing done, it is not cold either."""
    assert cache_state([], asked=False).startswith("unknown")
    assert not cache_state([], asked=True).startswith("cold")


def test_an_empty_file_has_nothing_resident(folder: Path) -> None:
    assert resident_bytes(folder / "empty") == 0
