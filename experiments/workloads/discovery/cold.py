"""`--cold`: drops what this process may drop, checks what stayed, and says so.

Before a run the corpus is dropped; at the barrier into the index phase, which reads every loose file and every item that
is no container again, the corpus and every file written so far. The job is held there: no slot reads while pages go, and
the time that it stands is taken off its elapsed. Dirty pages cannot be dropped, so everything is synced before: that is
part of the condition. What the filer itself, its controllers and other hosts keep cannot be dropped from here, and every
result says so.
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
_STAYS = 0.01  # a share of resident bytes up to this counts as cold: pages that are mapped cannot go
_SAMPLE = 4_096  # files whose residency is looked at, evenly spread: a look at all of a million would take minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """What one attempt to drop caches did. Bytes are those of the files looked at, just before and just after."""

    when: str  # "before" the run, or at the barrier into "index"
    files: int  # meant
    looked_at: int  # of them, for what lies in memory
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
    """Drop the pages of every regular file below the directories; as root, with everything else of the machine."""
    started = time.monotonic()
    paths = [path for directory in directories for path in regular_files(directory)]
    sample = _spread(paths)
    before = residency(sample)
    os.sync()
    everything = drop_everything()
    refused = 0 if everything else advise_drop(paths)
    after = residency(sample)
    return Drop(
        when=when,
        files=len(paths),
        looked_at=after.files,
        bytes=after.bytes,
        resident_before=before.resident,
        resident_after=after.resident,
        unknown=after.unknown,
        refused=refused,
        drop_caches=everything,
        seconds=time.monotonic() - started,
    )


def _spread(paths: Sequence[Path]) -> Sequence[Path]:
    """All of them, or so many at even distances."""
    return [paths[n * len(paths) // _SAMPLE] for n in range(_SAMPLE)] if len(paths) > _SAMPLE else paths


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
