"""That a job was verified, by whom and with which outcome: an action of its chain of custody."""

from __future__ import annotations

from collections.abc import Sequence

from controller.custody.actions import note
from controller.databases import JobHandle
from controller.verify.group import GroupVerification
from core.document import Document

VERIFIED = "verified"
_COUNTS = ("differences", "missing", "extra", "wrong", "pages_wrong", "load_file_faults", "items", "files", "manifest")


def note_verified(handles: Sequence[JobHandle], outcome: Document | GroupVerification) -> None:
    """Write it down for each of the jobs, with the counts that it has. Raises DatabaseFault."""
    each = [one for _, one in outcome.jobs] if isinstance(outcome, GroupVerification) else [outcome]
    for handle, one in zip(handles, each, strict=True):
        told = one.to_json()
        with handle.database.transaction(durable=True) as conn:
            note(conn, handle.id, VERIFIED, **{name: told[name] for name in _COUNTS if name in told})
