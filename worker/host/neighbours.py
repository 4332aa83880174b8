"""A worker does not start beside others that it does not belong to: it has another storage than the controller, or would have
an arbiter of its own for the filer that they emulate together."""

from __future__ import annotations

import logging
import socket

from sqlalchemy.exc import SQLAlchemyError

from core.errors import DatabaseFault, StorageFault, UsageError
from core.filer.use import no_common_arbiter
from core.services.shared_storage import Identity, identify
from core.settings import Settings
from monitoring.filer.boot import boot_id
from sql import workers
from sql.session import Database

log = logging.getLogger(__name__)


def refuse_strange_host(settings: Settings) -> None:
    """Raises UsageError where live workers of a database emulate a filer on another host than this one, and StorageFault where the
    controller of the system noted another storage than this process has at the same path.

    Call it before anything is forked. A database that cannot be asked now has no say: jobs ask again when they are
    created.
    """
    own = (socket.gethostname(), boot_id())
    for address in settings.databases:
        database = Database(address.name, address.url)
        try:
            with database.transaction() as conn:
                hosts = workers.live_hosts(conn) if settings.filer != "none" else set()
                noted = workers.noted_storage(conn, str(settings.storage))
        except (DatabaseFault, SQLAlchemyError) as error:  # away, or without a schema still
            log.warning(
                "whether the other workers of %s have our storage and filer is not known: %s", address.name, error
            )
            continue
        finally:
            database.dispose()
        if noted is not None:
            _refuse_other_storage(settings, Identity(kind=noted[0], source=noted[1], token=noted[2]))
        if settings.filer != "none" and (
            reason := no_common_arbiter(address.name, {*hosts, own}, settings.filer_arbiter)
        ):
            raise UsageError(f"EDBENCH_FILER is {settings.filer}: {reason}")


def _refuse_other_storage(settings: Settings, controllers: Identity) -> None:
    ours = identify(settings.storage, mark=False)
    if differs := controllers.differs(ours):
        raise StorageFault(
            f"EDBENCH_STORAGE {settings.storage} is another storage here than in the controller: {differs}; mount the controller's"
            f" ({controllers.kind} from {controllers.source}) at this path, and start this worker again"
        )
