"""One corpus over several databases: which custodians go where."""

from __future__ import annotations

import dataclasses
import heapq
import os
from collections.abc import Mapping, Sequence
from itertools import chain

from controller.jobs.source import PreparedSource
from core.errors import SourceFileError, UsageError
from core.names import display_name
from core.storage.layer import EntryKind, Storage


def split_source(storage: Storage, source: PreparedSource, parts: int) -> list[PreparedSource]:
    """The source as so many with some of its custodians each, about equally large (largest first, to the least).

    Sizes are bytes of all items where there is a manifest, else entries of the custodians' first two levels. Raises
    UsageError when there are fewer custodians than parts.
    """
    units = len(source.directories) + bool(source.others)
    if units < parts:
        raise UsageError(
            f"--shard needs a custodian for each database: {display_name(source.path)} has {units}, there are to be"
            f" {parts} databases; use fewer databases, or leave --shard out"
        )
    sizes = _manifest_sizes(source) if source.manifest is not None else _entry_counts(storage, source)
    shares = lpt(sizes, source.directories, parts)
    # Files above the directories are few: they go where the least is, as a custodian of their own.
    rest = min(range(parts), key=lambda n: (sum(sizes.get(name, 0) for name in shares[n]), len(shares[n])))
    return [
        dataclasses.replace(source, directories=tuple(sorted(share)), others=source.others if n == rest else 0)
        for n, share in enumerate(shares)
    ]


def lpt(sizes: Mapping[bytes, int], names: Sequence[bytes], parts: int) -> list[list[bytes]]:
    """Longest processing time first: each name, from the largest, to the part that has the least so far."""
    out: list[list[bytes]] = [[] for _ in range(parts)]
    # The number of names decides between parts of the same size, so that empty directories do not pile up in one.
    heap = [(0, 0, n) for n in range(parts)]
    for name in sorted(names, key=lambda name: (-sizes.get(name, 0), name)):
        total, count, n = heapq.heappop(heap)
        out[n].append(name)
        heapq.heappush(heap, (total + sizes.get(name, 0), count + 1, n))
    return out


def _manifest_sizes(source: PreparedSource) -> dict[bytes, int]:
    from dataset_gen.truth import manifest as m  # brings pyarrow, which most commands do without

    assert source.manifest is not None
    table = m.read_manifest(source.manifest).select([m.CUSTODIAN, m.BYTES])
    sums = table.group_by(m.CUSTODIAN).aggregate([(m.BYTES, "sum")])
    by_name = dict(zip(sums[m.CUSTODIAN].to_pylist(), sums[f"{m.BYTES}_sum"].to_pylist(), strict=True))
    return {name: by_name.get(display_name(name)) or 0 for name in source.directories}


def _entry_counts(storage: Storage, source: PreparedSource) -> dict[bytes, int]:
    return {name: _entries(storage, os.path.join(source.path, name), deeper=True) for name in source.directories}


def _entries(storage: Storage, path: bytes, *, deeper: bool) -> int:
    try:
        with storage.listing(path, only=EntryKind.DIRECTORY) as listing:
            below = (e.name for e in chain.from_iterable(listing)) if deeper else ()
            return listing.count + sum(_entries(storage, os.path.join(path, name), deeper=False) for name in below)
    except SourceFileError:
        return 0  # the job will say so
