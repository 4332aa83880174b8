"""Directories of an emulated filer that slow with their size: known to all clients, by what was made and removed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import UsageError
from core.filer import FilerModel, load_filer
from core.filer.arbiter import MOST, Arbiter
from core.filer.use import SHARED_MEMORY
from core.operations import Op
from experiments.conditions import emulated

_FILER = """
name = "mine"
scale = 2.0
[metadata]
servers = 2
service_us.default = 0.0
service_us.create = 10.0
[directory]
entry_us = {entry}
"""


@pytest.fixture
def path() -> Iterator[Path]:
    """A place for an arbiter in shared memory."""
    place = SHARED_MEMORY / f"edbench-filer-test-{os.getpid()}-{time.monotonic_ns()}"
    yield place
    place.unlink(missing_ok=True)


def _model(tmp_path: Path, entry: float = 3.0) -> FilerModel:
    (tmp_path / "filer.toml").write_text(_FILER.format(entry=entry))
    model = load_filer(str(tmp_path / "filer.toml"))
    assert model is not None
    return model


def _took(arbiter: Arbiter, op: Op, path: bytes, other: bytes = b"") -> int:
    """Nanoseconds of a call that nobody is before: each comes a second after the last."""
    _took.now += 1_000_000_000  # type: ignore[attr-defined]
    return arbiter.book(op, 0, _took.now, path, 0, other) - _took.now  # type: ignore[attr-defined]


_took.now = 0  # type: ignore[attr-defined]


def test_each_entry_makes_the_next_one_slower(tmp_path: Path, path: Path) -> None:
    with Arbiter(path, _model(tmp_path)) as arbiter:
        assert [_took(arbiter, Op.CREATE, b"/a/%d" % n) for n in range(4)] == [20_000, 26_000, 32_000, 38_000]
        assert _took(arbiter, Op.CREATE, b"/b/0") == 20_000
        assert _took(arbiter, Op.STAT, b"/a/0") == 0
        assert arbiter.snapshot().stations["metadata"].busy_ns == 20_000 * 5 + 6_000 * 6


def test_what_is_gone_or_moved_counts_no_more(tmp_path: Path, path: Path) -> None:
    with Arbiter(path, _model(tmp_path)) as arbiter:
        for op in (Op.CREATE, Op.MKDIR, Op.CREATE):
            _took(arbiter, op, b"/a/x")
        _took(arbiter, Op.REMOVE, b"/a/x")
        assert _took(arbiter, Op.RENAME, b"/b/y", b"/a/x") == 0
        assert _took(arbiter, Op.CREATE, b"/a/z") == 20_000 + 6_000
        assert _took(arbiter, Op.CREATE, b"/b/z") == 20_000 + 6_000


def test_more_directories_than_are_known(tmp_path: Path, path: Path) -> None:
    with Arbiter(path, _model(tmp_path)) as arbiter:
        for n in range(50):
            _took(arbiter, Op.CREATE, b"/large/%d" % n)
        for n in range(MOST // 8):
            _took(arbiter, Op.CREATE, b"/%d/x" % n)
        assert _took(arbiter, Op.CREATE, b"/large/50") == 20_000 + 50 * 6_000


def test_it_is_another_filer_and_says_so(tmp_path: Path) -> None:
    slow, slower, none = (_model(tmp_path, entry) for entry in (1.0, 2.0, 0.0))
    assert len({slow.digest, slower.digest, none.digest}) == 3
    told, untold = (" ".join((emulated(model) or {})["assumptions"]) for model in (slow, none))
    assert "directories: each entry adds 1 us" in told
    assert "directories" not in untold
    with pytest.raises(UsageError, match=r"directory\.entry_us is -1"):
        _model(tmp_path, -1)
