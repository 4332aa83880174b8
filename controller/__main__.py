"""`python -m controller`: a container's controller. It brings the databases to this version and waits to be stopped.

Commands are run in it (`docker compose exec controller edbench …`). Its container is healthy once the file READY
exists, and everything that needs the schema waits for that."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from controller.databases import open_databases
from controller.observe.metrics import metrics_served
from core.errors import DatabaseFault, EdbenchError, StorageFault, UsageError
from core.program import Stop, without_logins
from core.services.shared_storage import identify
from core.settings import Settings, read_settings
from monitoring.metrics import read_endpoint
from sql.workers import WORKERS

READY = Path("/tmp/ready")
PATIENCE_SECONDS = 120.0  # for databases that are still starting
_AGAIN_SECONDS = 0.5

Companion = Callable[[Settings], AbstractContextManager[object]]

log = logging.getLogger("controller")


def prepare(settings: Settings, stop: Stop, *, patience: float = PATIENCE_SECONDS) -> None:
    """Migrate every database as soon as it answers, check that the storage root is writable, and record the identity of
    the storage.

    Workers that find another storage do not start. Nor does this process if an identity is recorded and the root has
    none: after a restart of the host the filer may not be mounted yet. Raises UsageError, StorageFault, and
    DatabaseFault if a database does not answer within `patience` seconds."""
    if settings.embedded:
        raise UsageError("EDBENCH_DATABASES is not set; write db1=postgresql+psycopg2://user@host/db")
    if not os.access(settings.storage, os.W_OK | os.X_OK):
        raise StorageFault(
            f"user {os.getuid()} cannot write to the storage root {settings.storage}; see EDBENCH_UID in .env.example"
        )
    deadline = time.monotonic() + patience
    while not stop.is_set():
        try:
            for database in open_databases(settings, application="edbench controller"):
                with database.transaction(durable=True) as conn:
                    new = WORKERS.noted_storage(conn, path=str(settings.storage)) is None
                    storage = identify(settings.storage, mark=new)
                    WORKERS.note_storage(conn, path=str(settings.storage), storage=storage)
                database.dispose()
            return
        except DatabaseFault as fault:
            if time.monotonic() > deadline or not fault.transient:
                raise
            log.info("%s; retrying", fault)
            stop.wait(_AGAIN_SECONDS)


def main(env: Mapping[str, str], ready: Path = READY, companion: Companion | None = None) -> int:
    """Run until a signal arrives; return 0 after a signal, 2 for unusable settings, 1 for any other error.
    `companion` is a context to keep open meanwhile (the web UI, with its metrics); None: serve only the metrics."""
    stop = Stop()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    ready.unlink(missing_ok=True)
    try:
        settings = read_settings(env)
        logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        endpoint = read_endpoint(env)
        prepare(settings, stop)
        with companion(settings) if companion is not None else metrics_served(settings, endpoint):
            ready.touch()
            stop.wait()
    except EdbenchError as error:
        sys.stderr.write(f"controller: {without_logins(str(error))}\n")
        return 2 if isinstance(error, UsageError) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main(os.environ))
