"""`--cold`: drops what this process may drop, checks what stayed, and reports it.

Before a run the corpus is dropped; at the barrier into the index phase, which reads every loose file and every item
that is no container again, the corpus and every file written so far. The job is held there: no slot reads while pages
are dropped, and the time that the job is held is subtracted from its elapsed. Dirty pages cannot be dropped, so
everything is synced before: that is part of the condition. What the filer itself, its controllers and other hosts keep
cannot be dropped from here, and every result states this.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core.residency import drop_pages, regular_files
from experiments.drops import Drop

# Several clients have a page cache each (experiments.crew.admission.cache_of).
ONE_KERNEL = "read by the client that wrote them: all workers of an experiment share one kernel and its page cache"


def drop(directories: Sequence[Path], when: str) -> Drop:
    """Drop the pages of every regular file below the directories; as root, with everything else of the machine."""
    paths = [path for directory in directories for path in regular_files(directory)]
    return Drop.of(when, drop_pages(paths, everything=True))
