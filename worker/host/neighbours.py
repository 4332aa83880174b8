"""An emulated filer has one arbiter: a worker that would have one of its own beside the others' does not start."""

from __future__ import annotations

import logging
import socket

from sqlalchemy.exc import SQLAlchemyError

from core.errors import DatabaseFault, UsageError
from core.filer.hosts import no_common_arbiter
from core.settings import Settings
from monitoring.filer.boot import boot_id
from sql import workers
from sql.session import Database

log = logging.getLogger(__name__)


def refuse_strange_host(settings: Settings) -> None:
    """Raises UsageError where live workers of a database emulate a filer on another host than this one.

    Call it before anything is forked. A database that cannot be asked now has no say: jobs ask again when they are
    created.
    """
    if settings.filer == "none":
        return
    own = (socket.gethostname(), boot_id())
    for address in settings.databases:
        database = Database(address.name, address.url)
        try:
            with database.transaction() as conn:
                hosts = workers.live_hosts(conn)
        except (DatabaseFault, SQLAlchemyError) as error:  # away, or without a schema still
            log.warning("cannot check whether other workers of %s use the same emulated filer: %s", address.name, error)
            continue
        finally:
            database.dispose()
        if reason := no_common_arbiter(address.name, {*hosts, own}, settings.filer_arbiter):
            raise UsageError(f"EDBENCH_FILER is {settings.filer}: {reason}")
