"""That a job was verified, by whom and with which outcome: an action of its chain of custody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controller.custody.actions import note
from controller.databases import JobHandle

if TYPE_CHECKING:
    from controller.verify.job import Verification
    from controller.verify.production import ProductionVerification

VERIFIED = "verified"
_COUNTS = ("differences", "missing", "extra", "wrong", "pages_wrong", "load_file_faults", "items", "files", "manifest")


def note_verified(handle: JobHandle, outcome: Verification | ProductionVerification) -> None:
    """Write it down with the counts that it has. Raises DatabaseFault."""
    told = outcome.to_json()
    with handle.database.transaction(durable=True) as conn:
        note(conn, handle.id, VERIFIED, **{name: told[name] for name in _COUNTS if name in told})
