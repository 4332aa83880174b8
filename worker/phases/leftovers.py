"""What a slot wrote for a task that was not its own any more, after the last sweep for such things.

While the job still unpacks, others write the same files under the same names, and phase finalise removes what no row names.
A slot that was stopped until after that, or whose claim a crash of the database took back, sees to it itself.
"""

from __future__ import annotations

import logging
import os

from core.errors import SystemFault
from core.places import index_location
from core.records import Phase
from sql import states
from sql.findings import TaskResult
from sql.items import locations, shard_ids
from worker.phases.task import TaskWork

log = logging.getLogger(__name__)


def remove_leftovers(work: TaskWork, result: TaskResult) -> None:
    """Remove the files of a result that was dropped and that no row names; nothing while the job may still add rows.

    Quiet where that cannot be done: they are only in the way.
    """
    job = work.job.id
    written = {item.id: item.location for item in result.items if item.location is not None}
    try:
        with work.database.transaction() as conn:
            if states.hold_phase(conn, job) is not Phase.FINALISE:  # held: nobody requeues it meanwhile
                return
            known = locations(conn, list(written))
            for item, location in written.items():
                if known.get(item) != location:
                    work.storage.remove(os.path.join(work.root, location), missing_ok=True)
            if result.shard is not None and result.shard.id not in shard_ids(conn, job):
                work.storage.remove_tree(os.path.join(work.root, index_location(job, result.shard.id)))
    except SystemFault as error:
        log.warning("task %s: unused files were not removed: %s", work.claimed.id, error)
