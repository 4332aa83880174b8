"""`--cold`: drops what this process may drop, checks what stayed, and says so.

Before a run the corpus is dropped; when the index phase begins, which reads everything again, the corpus and every file
written so far. Dirty pages cannot be dropped, so everything is synced before: that is part of the condition. What the
filer itself, its controllers and other hosts keep cannot be dropped from here, and every result says so.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from experiments.workloads.discovery.corpus import regular_files
from experiments.workloads.discovery.residency import advise_drop, drop_everything, residency

NOT_DROPPED = "not dropped: caches of the filer itself, of its disks, and of other hosts"
# What would help on several clients, if an experiment had them: each has a page cache of its own.
ONE_KERNEL = "read by the client that wrote them: all workers of an experiment share one kernel and its page cache"
# A share of resident bytes up to this counts as cold: when the index phase begins, slots read again what was dropped
# a moment before.
_STAYS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """What one attempt to drop caches did. Bytes are those of the files meant."""

    when: str  # "before" the run, or at the beginning of "index"
    bytes: int
    resident_before: int
    resident_after: int
    unknown: int  # of files whose residency the kernel does not tell us
    refused: int  # files that could not be opened for it
    drop_caches: bool  # the whole machine's, as root
    seconds: float

    @property
    def cold(self) -> bool:
        """Whether nothing worth speaking of stayed, as far as is known."""
        return not self.refused and not self.unknown and self.resident_after <= _STAYS * self.bytes

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"seconds": round(self.seconds, 3), "cold": self.cold}


def drop(directories: Sequence[Path], when: str) -> Drop:
    """Drop the pages of every regular file below the directories, and everything else if we are root."""
    started = time.monotonic()
    paths = [path for directory in directories for path in regular_files(directory)]
    before = residency(paths)
    os.sync()
    refused = advise_drop(paths)
    everything = drop_everything()
    after = residency(paths)
    return Drop(
        when=when,
        bytes=after.bytes,
        resident_before=before.resident,
        resident_after=after.resident,
        unknown=after.unknown,
        refused=refused,
        drop_caches=everything,
        seconds=time.monotonic() - started,
    )


def cache_state(drops: Sequence[Drop], *, asked: bool) -> str:
    """`cold …`, `partly cold: …`, or `unknown` when nothing was dropped; with how much was in memory after a drop."""
    if not asked:
        return "unknown (nothing was dropped; --cold drops what may be dropped)"
    stayed = max((one.resident_after / one.bytes for one in drops if one.bytes), default=0.0)
    if drops and all(one.cold for one in drops):
        return f"cold on this host, at most {stayed:.1%} of the bytes in memory after a drop ({NOT_DROPPED})"
    unknown = max((one.unknown for one in drops), default=0)
    refused = max((one.refused for one in drops), default=0)
    return (
        f"partly cold: up to {stayed:.1%} of the bytes stayed in memory, {unknown:,} bytes unknown,"
        f" {refused:,} files refused ({NOT_DROPPED})"
    )
