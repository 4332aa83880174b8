"""Before the calls begin, the client's cache forgets the files that a replay has just written."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from core.residency import advise_drop, residency, spread
from replay.program import Program
from replay.tree import Target, own_files

_AT_ONCE = 1_000  # files, between two looks whether the replay goes on


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """What one client dropped of the files that it made. Bytes are those of the files looked at, afterwards."""

    files: int
    looked_at: int  # of them, for what lies in memory
    bytes: int
    resident_before: int
    resident_after: int
    unknown: int  # of files whose residency the kernel does not tell
    refused: int  # files that could not be opened for it
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def drop_own(program: Program, target: Target, *, client: int, between: Callable[[], None] | None = None) -> Dropped:
    """Write out what this client made of the tree, and drop its pages; directories and inodes stay cached.

    Every client drops its own files: each may be on another host. `between` is called now and then.
    """
    started = time.monotonic()
    paths = [Path(os.fsdecode(path)) for path in own_files(program, target, client=client)]
    sample = spread(paths)
    before = residency(sample)
    os.sync()  # a page that is not written yet cannot go
    refused = 0
    for first in range(0, len(paths), _AT_ONCE):
        if between is not None:
            between()
        refused += advise_drop(paths[first : first + _AT_ONCE])
    after = residency(sample)
    return Dropped(
        files=len(paths),
        looked_at=after.files,
        bytes=after.bytes,
        resident_before=before.resident,
        resident_after=after.resident,
        unknown=after.unknown,
        refused=refused,
        seconds=time.monotonic() - started,
    )
