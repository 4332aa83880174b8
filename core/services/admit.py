"""`python -m core.services.admit DIRECTORY`: lets the roles into the databases of a system in containers.

DIRECTORY is that of `core.services.keyring`: only here is the superuser's password used. Every database of
EDBENCH_DATABASES whose URL has no login is prepared; one with a login has its own administrator. It can be run at every
start."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg2

from core.errors import DatabaseFault, EdbenchError, UsageError
from core.program import without_logins
from core.roles import has_login
from core.services.address import SUPERUSER
from core.services.database_logins import prepare_server
from core.services.keyring import read_logins, superuser_password
from core.settings import database_urls

PATIENCE_SECONDS = 120.0  # for servers that are making their files
_AGAIN_SECONDS = 0.5


def admit(directory: Path, databases: str) -> None:
    """Prepare the databases of that text. Raises UsageError, DatabaseFault."""
    logins = read_logins(directory)
    password = superuser_password(directory)
    for name, url in database_urls(databases):
        if has_login(url):
            continue
        parts = urlsplit(url)
        server = {"host": parts.hostname, "port": parts.port or 5432, "user": SUPERUSER, "password": password}
        _when_it_answers(name, {**server, "connect_timeout": 5})
        try:
            prepare_server({**server, "connect_timeout": 5}, parts.path.lstrip("/"), logins)
        except psycopg2.Error as error:
            raise DatabaseFault(
                f"cannot create the logins of database {name}: {' '.join(str(error).split())}"
            ) from error


def _when_it_answers(name: str, server: Mapping[str, Any]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            psycopg2.connect(dbname="postgres", **server).close()
            return
        except psycopg2.OperationalError as error:
            why = " ".join(str(error).split())
            if "password authentication failed" in why:
                raise UsageError(
                    f"database {name} refuses the superuser password of the volume of secrets: it was created with "
                    "another one; set EDBENCH_DB_PASSWORD to that password and remove the volume "
                    "(docs/containers.md, Secrets)"
                ) from error
            if time.monotonic() > deadline:
                raise DatabaseFault(f"database {name} does not answer: {why}") from error
        time.sleep(_AGAIN_SECONDS)


def main(arguments: list[str], env: Mapping[str, str]) -> int:
    """Run the command; return 0 when the roles are let in."""
    try:
        admit(Path(arguments[0]), env.get("EDBENCH_DATABASES", ""))
    except EdbenchError as error:
        sys.stderr.write(f"logins: {without_logins(str(error))}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
