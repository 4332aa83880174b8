"""Before the calls begin, the client's cache forgets the files that a replay has just written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from core.residency import Dropped, drop_pages
from replay.program import Program
from replay.tree import Target, own_files


def drop_own(program: Program, target: Target, *, client: int, between: Callable[[], None] = lambda: None) -> Dropped:
    """Write out what this client made of the tree, and drop its pages; directories and inodes stay cached.

    Every client drops its own files: each may be on another host. `between` is called now and then.
    """
    paths = [Path(os.fsdecode(path)) for path in own_files(program, target, client=client)]
    return drop_pages(paths, everything=False, between=between)
