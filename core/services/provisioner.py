"""`python -m core.services.provisioner [DIRECTORY]`: makes and removes the databases of runs, on order of the
controller.

It alone of the system has the superuser's password after the start, it listens at no port, and it accepts two orders: make a
database `edbench_run_<16 hexadecimal digits>_<number of the server>` from `template0`, to which no session can connect, and
remove one of such a name. The other roles stay without the right to make databases. DIRECTORY is that of
`core.services.keyring`; without it the login of EDBENCH_LOGIN_FILE is used, on servers whose superuser is not ours."""

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

import psycopg2
import redis
from psycopg2 import sql

from core.crew import PROVISIONER, Make, ProvisionerOrder, Remove, database_name
from core.errors import EdbenchError, UsageError
from core.orders import WAIT_SECONDS, OrderTaker
from core.program import Stop, without_logins
from core.services.address import SUPERUSER
from core.services.database_logins import give_database
from core.services.keyring import superuser_password
from core.settings import parse_databases, read_settings

log = logging.getLogger("provisioner")

Server = Mapping[str, Any]  # keyword arguments for psycopg2.connect, to any database, with a login that may make some


def provision(servers: Sequence[Server], client: Any, stop: Stop) -> None:
    """Carry out orders until stopped. `servers`: in the order of the databases of the system; `client`: of the broker,
    with the provisioner's login."""
    OrderTaker(client, PROVISIONER, ProvisionerOrder, partial(_carry_out, servers), log, psycopg2.Error).run(stop)


def _carry_out(servers: Sequence[Server], order: Make) -> None:
    if order.databases > len(servers):
        raise UsageError(f"the run needs {order.databases} database servers, but the system has {len(servers)}")
    act = remove if isinstance(order, Remove) else make
    for number, server in enumerate(servers[: order.databases], start=1):
        act(server, database_name(order.run, number))


def make(server: Server, name: str) -> None:
    """Create a run's database on one server and give it to the controller; the roles may connect. Raises
    psycopg2.Error."""
    with contextlib.closing(psycopg2.connect(**server)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(
                sql.SQL("CREATE DATABASE {} ENCODING 'UTF8' TEMPLATE template0").format(sql.Identifier(name))
            )
        connection.autocommit = False
        with connection:
            give_database(connection, name)


def remove(server: Server, name: str) -> None:
    """Remove a run's database, if it exists, and end its sessions. Raises psycopg2.Error."""
    with contextlib.closing(psycopg2.connect(**server)) as connection:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def servers_of(env: Mapping[str, str], directory: Path | None) -> list[Server]:
    """The servers of EDBENCH_DATABASES, in order. A URL without a login gets that of the superuser, whose password is
    in `directory`, or else that of EDBENCH_LOGIN_FILE, which must be allowed to create databases (docs/logins.md).
    Raises UsageError."""
    if directory is None:
        databases = read_settings(env).databases
    else:
        login = f"{SUPERUSER}:{superuser_password(directory)}"
        databases = parse_databases(env.get("EDBENCH_DATABASES", ""), login)
    if not databases:
        raise UsageError("EDBENCH_DATABASES is not set; write db1=postgresql+psycopg2://host/db")
    return [{"dsn": each.url.replace("+psycopg2", "", 1), "connect_timeout": 5} for each in databases]


def main(arguments: list[str], env: Mapping[str, str]) -> int:
    """Run the command; return 0 after a signal, 1 with one line if it cannot start."""
    stop = Stop()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    logging.basicConfig(level=env.get("EDBENCH_LOG_LEVEL") or "WARNING", format="%(asctime)s %(levelname)s %(message)s")
    try:
        servers = servers_of(env, Path(arguments[0]) if arguments else None)
        broker = read_settings(env).broker
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
