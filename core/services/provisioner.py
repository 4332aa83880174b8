"""`python -m core.services.provisioner DIRECTORY`: makes and removes the databases of runs, on order of the controller.

It alone of the system has the superuser's password after the start, it listens at no port, and of what it is ordered it does two
things: make a database `edbench_run_<16 hexadecimal digits>_<number of the server>` from `template0`, to which no session can connect, and remove one
of such a name. The roles stay without the right to make databases. DIRECTORY is that of `core.services.keyring`.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg2
import redis
from psycopg2 import sql

from core.crew import PROVISIONER, Make, ProvisionerOrder, Remove, database_name
from core.errors import EdbenchError, UsageError, read_problem
from core.orders import WAIT_SECONDS, OrderTaker
from core.program import Stop, without_logins
from core.roles import has_login
from core.services.address import SUPERUSER
from core.services.database_logins import give_database
from core.services.keyring import DATABASE, PASSWORD
from core.settings import database_urls, read_settings

log = logging.getLogger("provisioner")

Server = Mapping[str, Any]  # keyword arguments for psycopg2.connect, without the database, for the superuser


def provision(servers: Sequence[Server], client: Any, stop: Stop) -> None:
    """Carry out orders until stopped. `servers`: in the order of the databases of the system; `client`: of the broker, with the
    provisioner's login."""
    OrderTaker(client, PROVISIONER, ProvisionerOrder, partial(_carry_out, servers), log, psycopg2.Error).run(stop)


def _carry_out(servers: Sequence[Server], order: Make | Remove) -> None:
    if order.databases > len(servers):
        raise UsageError(f"the run needs {order.databases} database servers, and the system has {len(servers)}")
    for number, server in enumerate(servers[: order.databases], start=1):
        name = database_name(order.run, number)
        if isinstance(order, Make):
            make(server, name)
        else:
            remove(server, name)


def make(server: Server, name: str) -> None:
    """A run's database on one server: the controller's, and the roles may connect. Raises psycopg2.Error."""
    with contextlib.closing(psycopg2.connect(dbname="postgres", **server)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
        connection.autocommit = False
        with connection:
            give_database(connection, name)


def remove(server: Server, name: str) -> None:
    """Its sessions are ended; one that is not there is removed already. Raises psycopg2.Error."""
    with contextlib.closing(psycopg2.connect(dbname="postgres", **server)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def servers_of(directory: Path, databases: str) -> list[Server]:
    """Those of EDBENCH_DATABASES, in order, each with the superuser's login, or with the login in its URL: on a server of the
    user's own that login has to be one that may make databases (docs/containers.md). Raises UsageError."""
    path = directory / DATABASE / PASSWORD
    try:
        password = path.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise UsageError(read_problem(path, error)) from error
    found: list[Server] = []
    for _, url in database_urls(databases):
        parts = urlsplit(url)
        login = (parts.username, parts.password) if has_login(url) else (SUPERUSER, password)
        found.append({"host": parts.hostname, "port": parts.port or 5432, "user": login[0], "password": login[1],
                      "connect_timeout": 5})  # fmt: skip
    if not found:
        raise UsageError("EDBENCH_DATABASES is not set; write db1=postgresql+psycopg2://host/db")
    return found


def main(arguments: list[str], env: Mapping[str, str]) -> int:
    """Exit status: 0 after a signal, 1 with one line when it cannot begin."""
    stop = Stop()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    logging.basicConfig(level=env.get("EDBENCH_LOG_LEVEL") or "WARNING", format="%(asctime)s %(levelname)s %(message)s")
    try:
        servers = servers_of(Path(arguments[0]), env.get("EDBENCH_DATABASES", ""))
        broker = read_settings({key: value for key, value in env.items() if key != "EDBENCH_DATABASES"}).broker
        if broker is None:
            raise UsageError("EDBENCH_BROKER is not set; write redis://host:6379/0")
        provision(servers, client_of(broker), stop)
    except EdbenchError as error:
        sys.stderr.write(f"provisioner: {without_logins(str(error))}\n")
        return 1
    return 0


def client_of(broker: str) -> Any:
    """A client that waits for orders."""
    return redis.Redis.from_url(broker, socket_connect_timeout=5, socket_timeout=5 + WAIT_SECONDS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
