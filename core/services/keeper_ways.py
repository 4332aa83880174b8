"""The ways into running embedded services as those who may do everything there, as their keeper has them.

For looking into them and for doing harm on purpose; nothing that works on a job comes this way.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from core.errors import UsageError
from core.services.address import SUPERUSER, Addresses
from core.services.embedded import running_services
from core.services.place import Home, postgres_place

BROKER_LOGIN = "login"  # the keeper's, in the broker's directory


def superuser_url(scratch: Path, server: str = "db1", database: str = "postgres") -> str:
    """For psycopg2: a database of the server that is for database `server`. Raises UsageError when nothing runs."""
    at = _running(scratch).server_of(server)
    password = (postgres_place(Home(scratch), at.name) / "password").read_text(encoding="ascii").strip()
    return f"postgresql://{SUPERUSER}:{password}@/{database}?host={quote(at.socket_dir, safe='')}&port={at.port}"


def broker_keeper_url(scratch: Path) -> str:
    """For redis-py: the broker. Raises UsageError when nothing runs."""
    port = _running(scratch).broker.port
    login = (Home(scratch).directory / "broker" / BROKER_LOGIN).read_text(encoding="ascii").strip()
    return f"redis://{login}@127.0.0.1:{port}/0"


def _running(scratch: Path) -> Addresses:
    addresses = running_services(scratch)
    if addresses is None:
        raise UsageError(f"no services run for {scratch}")
    return addresses
