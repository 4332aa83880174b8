"""The embedded services as those who may do everything there, and as a role, for tests that make and drop things; their files."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import psycopg2

from core.roles import CONTROLLER, Login, login_name
from core.services import running_services
from core.services.address import SUPERUSER
from core.services.place import Home, postgres_place
from core.settings import Settings
from sql.session import Database

OWNER = login_name(CONTROLLER)  # of databases that tests make


def superuser_url(scratch: Path, server: str = "db1", database: str = "postgres") -> str:
    """The URL (psycopg2) of a database on the server of database `server`."""
    running = running_services(scratch)
    assert running is not None
    at = running.server_of(server)
    password = (postgres_place(Home(scratch), at.name) / "password").read_text(encoding="ascii").strip()
    return f"postgresql://{SUPERUSER}:{password}@/{database}?host={quote(at.socket_dir, safe='')}&port={at.port}"


def as_superuser(settings: Settings, *statements: str, server: str = "db1") -> None:
    """Run statements, each by itself: CREATE and DROP DATABASE stand in no transaction."""
    connection = psycopg2.connect(superuser_url(settings.scratch, server))
    try:
        connection.autocommit = True
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
    finally:
        connection.close()


def copy_scratch(made: Path, to: Path) -> None:
    """Of an installation whose services have ended; the files of its databases keep their owner."""
    subprocess.run(["cp", "-a", made, to], check=True)


def as_role(database: Database, logins: Sequence[Login], role: str) -> Database:
    """The same database, as a role comes to it."""
    (login,) = (login for login in logins if login.role == role)
    return Database(database.name, login.into(database.url))
