"""`python -m queue_manager.health`: exit status 0 when a queue manager is connected to every database.

For the health check of a container. It asks the databases rather than the process, because a manager that lives but
reaches no database is no use."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from core.errors import EdbenchError
from core.settings import read_settings
from sql.session import Database
from sql.workers import WORKERS

APPLICATION = "edbench queue_manager"  # how its connections call themselves


def ailing(env: Mapping[str, str]) -> str | None:
    """Return the problem, or None. Raises EdbenchError when a database cannot be queried."""
    settings = read_settings(env)
    if not settings.databases:
        return "EDBENCH_DATABASES is not set"
    for address in settings.databases:
        database = Database(address.name, address.url, application="edbench health")
        try:
            with database.transaction() as conn:
                if not WORKERS.connections_of(conn, application=APPLICATION):
                    return f"no queue manager is connected to database {address.name}"
        finally:
            database.dispose()
    return None


def main(env: Mapping[str, str]) -> int:
    """Return the exit status: 0 if all is well, 1 if not."""
    try:
        reason = ailing(env)
    except EdbenchError as error:
        reason = str(error)
    if reason:
        sys.stderr.write(f"{reason}\n")
    return 1 if reason else 0


if __name__ == "__main__":
    sys.exit(main(os.environ))
