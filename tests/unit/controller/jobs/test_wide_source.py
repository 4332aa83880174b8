"""A source directory of very many entries, wherever one is gone through: memory does not grow with it."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from controller.jobs.create import split_source
from controller.jobs.source import prepare_source
from core.operations import NullRecorder
from core.storage import layer as storage_listing
from core.storage.layer import Storage
from worker.inspect.tree import find_loose

_FEW, _MANY, _AT_ONCE = 2_000, 8_000, 200


def _filled(folder: Path, number: int) -> Path:
    """A directory of two custodians, one of them with so many files, and as many above them."""
    for name in ("ann", "bob"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for n in range(number):
        (folder / f"{n:06}").touch()
        (folder / "ann" / f"{n:06}").touch()
    return folder


def _prepared(source: Path) -> None:
    assert prepare_source(Storage(NullRecorder()), source).directories == (b"ann", b"bob")


def _split(source: Path) -> None:
    storage = Storage(NullRecorder())
    assert len(split_source(storage, prepare_source(storage, source), 2)) == 2


def _inspected(source: Path) -> None:
    files = sum(1 for _ in os.scandir(source / "ann"))
    assert sum(1 for _ in find_loose(Storage(NullRecorder()), str(source))) == 2 * files


def _peak(work: Callable[[Path], None], source: Path) -> int:
    tracemalloc.start()
    try:
        work(source)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """One with few entries, one with many."""
    return _filled(tmp_path_factory.mktemp("few"), _FEW), _filled(tmp_path_factory.mktemp("many"), _MANY)


@pytest.mark.parametrize("work", [_prepared, _split, _inspected])
def test_memory_does_not_grow_with_a_directory(
    sources: tuple[Path, Path], work: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four times the entries take the same memory."""
    monkeypatch.setattr(storage_listing, "AT_ONCE", _AT_ONCE)
    few, many = sources
    _peak(work, few)  # what is made once and stays
    assert _peak(work, many) < 1.3 * _peak(work, few)
