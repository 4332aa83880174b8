"""The files of each type of data, as streams: the same bytes for the same seed, of any size, in memory of no size.

Zeros, random, scientific, backups and snapshots are the series of the corpus profiles of report R5 (`dataset_gen`), the
discovery corpus is profile `reference`, made below a directory first; `own` is whatever lies in a directory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, get_args

from core.errors import StorageFault
from core.reading import read_problem
from monitoring.machine import processors

Data = Literal["zeros", "random", "scientific", "backups", "snapshots", "discovery", "own"]
DATA_TYPES: tuple[Data, ...] = get_args(Data)
_PROFILES: dict[str, str] = {name: name for name in ("zeros", "random", "scientific", "backups")} | {
    "snapshots": "vm-snapshots"
}
_CORPUS = "reference"
_AT_ONCE = 1 << 20  # bytes read of a file that lies there
_ALONE = 100_000_000  # bytes of a corpus that one process makes


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One file."""

    name: str  # below a directory, with `/` between its parts
    size: int
    pieces: Callable[[], Iterator[bytes]]


def files_of(data: Data, size: int, seed: int, source: Path | None) -> Iterator[DataFile]:
    """All files, in the same order each time; together about `size` bytes, of a directory as many as lie there.

    `source`: where the discovery corpus, or the own data, lie. Raises StorageFault.
    """
    if data in _PROFILES:
        yield from _series(_PROFILES[data], size, seed)
    elif source is not None:
        yield from _lying(source)


def _series(profile: str, size: int, seed: int) -> Iterator[DataFile]:
    from dataset_gen.material.blocks import (
        plan_series,
        series_blocks,
    )  # with all that a corpus is made of: slow to come
    from dataset_gen.profile import load_profile

    for number, series in enumerate(load_profile(profile).series, 1):
        for file in plan_series(series, seed, size * series.share):
            # Each series counts its files from 0.
            yield DataFile(
                name=f"series {number}/{file.name}", size=file.size, pieces=partial(series_blocks, file, seed)
            )


def _lying(source: Path) -> Iterator[DataFile]:
    """Regular files, sorted; links, sockets and the like are no data."""
    for place, directories, names in os.walk(source, onerror=_unreadable):
        directories.sort()
        for name in sorted(names):
            path = os.path.join(place, name)
            if os.path.isfile(path) and not os.path.islink(path):
                yield DataFile(
                    name=os.path.relpath(path, source), size=os.path.getsize(path), pieces=partial(_read, path)
                )


def _unreadable(error: OSError) -> None:
    raise StorageFault(read_problem(error.filename, error), errno=error.errno or 0) from error


def _read(path: str) -> Iterator[bytes]:
    try:
        with open(path, "rb", buffering=0) as file:
            while piece := file.read(_AT_ONCE):
                yield piece
    except OSError as error:
        _unreadable(error)


def corpus_made(below: Path, size: int, seed: int) -> Path:
    """The discovery corpus of about so many bytes, in a directory that is made; raises UsageError without the room, RunFailed."""
    from dataset_gen.corpus import DATA, generate_corpus  # slow to come
    from dataset_gen.profile import load_profile

    scale = size / load_profile(_CORPUS).raw_bytes
    generate_corpus(below, _CORPUS, scale, seed, 1 if size <= _ALONE else processors(), lambda _done, _all: None)
    return below / DATA
