"""Requeue exceptions: what failed is processed again, once its cause is mended (permissions, a parser, memory)."""

from __future__ import annotations

from controller.databases import JobHandle
from controller.groups import Group, refresh
from core.errors import UsageError
from core.records import JobState
from sql.jobs import get_job
from sql.requeue import requeue


def requeue_exceptions(found: JobHandle | Group, code: str | None = None) -> int:
    """Have the loose files with exceptions (of one code, if given), and everything inside them, processed again; how
    many they are. The jobs are paused afterwards: resume them with workers.

    Of a group, jobs without such exceptions stay as they are. Raises UsageError when there is nothing to requeue, or
    the jobs read copies of their source, which are gone; DatabaseFault.
    """
    if not isinstance(found, Group):
        return _requeue(found, code)
    if found.row.source_copies > 1:
        raise UsageError(f"the jobs of group {found.id} read copies of their source, which were removed at their end")
    with_exceptions = [h for h in refresh(found).jobs if h.job.state is JobState.COMPLETED_WITH_EXCEPTIONS]
    total = 0
    refused = UsageError(f"no job of group {found.id} completed with exceptions")
    for handle in with_exceptions:
        try:
            total += _requeue(handle, code)
        except UsageError as error:
            refused = error
    if not total:
        raise refused
    return total


def _requeue(handle: JobHandle, code: str | None) -> int:
    with handle.database.transaction(durable=True) as conn:
        return requeue(conn, handle.id, get_job(conn, handle.id).options, code)
