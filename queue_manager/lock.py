"""One active queue manager a database, by an advisory lock that lives and dies with its connection."""

from __future__ import annotations

import logging

from core.program.stopping import Stop
from sql.held import HeldConnection

LOCK_KEY = 0x65646265_6E636802  # "edbench" 2
RETRY_SECONDS = 0.5

log = logging.getLogger(__name__)


def wait_for_lock(held: HeldConnection, database: str, stop: Stop) -> bool:
    """Wait until this connection is the one that dispatches; False when asked to stop before."""
    waiting = False
    while not stop.is_set():
        if held.try_lock(LOCK_KEY):
            return True
        if not waiting:
            log.info("database %s: another queue manager is active; waiting to take over", database)
            waiting = True
        stop.wait(RETRY_SECONDS)
    return False
