"""A client's cache before an emulated filer: what it answers never reaches wire or units, and it holds no more than it may."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.filer import FilerModel, load_filer
from core.filer.arbiter import Arbiter
from core.filer.use import SHARED_MEMORY
from core.operations import Op

_FILER = """
name = "mine"
[data]
service_us.default = 1000.0
[link]
bytes_per_s = 1e9
[client]
cache_bytes = {size}
reread_us = 7.0
"""
MS = 1_000_000


@pytest.fixture
def path() -> Iterator[Path]:
    """A place for an arbiter in shared memory."""
    place = SHARED_MEMORY / f"edbench-filer-test-{os.getpid()}-{time.monotonic_ns()}"
    yield place
    place.unlink(missing_ok=True)


def _model(tmp_path: Path, size: int = 10_000) -> FilerModel:
    (tmp_path / "filer.toml").write_text(_FILER.format(size=size))
    model = load_filer(str(tmp_path / "filer.toml"))
    assert model is not None
    return model


def _moved(arbiter: Arbiter) -> int:
    """Bytes over the link, at 1 GB/s."""
    return arbiter.snapshot().stations["link"].busy_ns


def test_what_was_read_or_written_is_not_fetched_again(tmp_path: Path, path: Path) -> None:
    """A second read costs what a re-read costs, whatever is queued at the filer."""
    with Arbiter(path, _model(tmp_path)) as arbiter:
        arbiter.book(Op.READ, 4000, 0, b"/a", 0)
        arbiter.book(Op.WRITE, 2000, 0, b"/b", 0)
        before = _moved(arbiter)
        assert arbiter.book(Op.READ, 4000, 0, b"/a", 0) == 7_000
        assert arbiter.book(Op.READ, 2000, 0, b"/b", 0) == 7_000
        assert _moved(arbiter) == before == 6000
        counts = arbiter.snapshot()
        assert (counts.cached_calls, counts.cached_bytes, counts.stations["data"].calls) == (2, 6000, 2)


def test_only_what_is_missing_goes_over_the_wire(tmp_path: Path, path: Path) -> None:
    with Arbiter(path, _model(tmp_path)) as arbiter:
        arbiter.book(Op.READ, 1000, 0, b"/a", 0)
        arbiter.book(Op.READ, 5000, 0, b"/a", 0)
        assert _moved(arbiter) == 5000
        arbiter.book(Op.READ, 500, 0, b"/a", 4500)
        assert _moved(arbiter) == 5000


def test_a_full_cache_lets_go_of_what_was_used_longest_ago(tmp_path: Path, path: Path) -> None:
    with Arbiter(path, _model(tmp_path)) as arbiter:
        arbiter.book(Op.READ, 1000, 0, b"/old", 0)
        arbiter.book(Op.READ, 1000, 0, b"/used", 0)
        for n in range(12):
            arbiter.book(Op.READ, 1000, 0, b"/f%d" % n, 0)
            if n == 6:
                arbiter.book(Op.READ, 1000, 0, b"/used", 0)
        before = _moved(arbiter)
        arbiter.book(Op.READ, 1000, 0, b"/used", 0)
        assert _moved(arbiter) == before
        arbiter.book(Op.READ, 1000, 0, b"/old", 0)
        assert _moved(arbiter) == before + 1000


def test_a_file_larger_than_the_cache_is_not_in_it(tmp_path: Path, path: Path) -> None:
    with Arbiter(path, _model(tmp_path)) as arbiter:
        for _ in range(2):
            for offset in range(0, 30_000, 1000):
                arbiter.book(Op.READ, 1000, 0, b"/large", offset)
        assert _moved(arbiter) == 60_000


def test_names_move_and_go(tmp_path: Path, path: Path) -> None:
    with Arbiter(path, _model(tmp_path)) as arbiter:
        arbiter.book(Op.WRITE, 2000, 0, b"/a.tmp", 0)
        arbiter.book(Op.RENAME, 0, 0, b"/a", 0, b"/a.tmp")
        before = _moved(arbiter)
        arbiter.book(Op.READ, 2000, 0, b"/a", 0)
        assert _moved(arbiter) == before
        arbiter.book(Op.REMOVE, 0, 0, b"/a")
        arbiter.book(Op.READ, 2000, 0, b"/a", 0)
        assert _moved(arbiter) == before + 2000


def test_the_middle_of_a_file_is_not_kept(tmp_path: Path, path: Path) -> None:
    with Arbiter(path, _model(tmp_path)) as arbiter:
        for _ in range(2):
            arbiter.book(Op.READ, 1000, 0, b"/a", 5000)
        assert _moved(arbiter) == 2000


def test_without_a_cache_every_read_is_the_filers(tmp_path: Path, path: Path) -> None:
    with Arbiter(path, _model(tmp_path, size=0)) as arbiter:
        for _ in range(2):
            arbiter.book(Op.READ, 1000, 0, b"/a", 0)
        assert _moved(arbiter) == 2000
