"""The roles' logins at a database server, created by the superuser, who does nothing else.

The controller's login owns the database and its tables and so may change the schema; the others get the rights of
`sql.migrate`. None is a superuser, creates databases or other logins, or runs programs on the server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import psycopg2
from psycopg2 import sql
from psycopg2.extensions import encrypt_password

from core.roles import CONTROLLER, QUEUE_MANAGER, WORKER, Login, login_name

_MODEST = sql.SQL("LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS")
# Their charts show what other sessions do (pg_stat_activity).
_WATCHING = (CONTROLLER, QUEUE_MANAGER)


def make_logins(connection: Any, logins: Iterable[Login]) -> None:
    """Create the logins, or set the passwords of existing ones. `connection`: the superuser's, in a transaction.

    Raises psycopg2.Error."""
    with connection.cursor() as cursor:
        for login in logins:
            name = login_name(login.role)
            cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (name,))
            verb = sql.SQL("CREATE" if cursor.fetchone() is None else "ALTER")
            # The server gets the verifier, so that none of its logs has the password.
            verifier = encrypt_password(login.password, name, connection, "scram-sha-256")
            parts = (verb, sql.Identifier(name), _MODEST, sql.Literal(verifier))
            cursor.execute(sql.SQL("{} ROLE {} {} PASSWORD {}").format(*parts))
            if login.role in _WATCHING:
                cursor.execute(sql.SQL("GRANT pg_read_all_stats TO {}").format(sql.Identifier(name)))
        cursor.execute("REVOKE ALL ON DATABASE postgres, template1 FROM PUBLIC")


def make_database(connection: Any, name: str) -> None:
    """Create the database unless it exists; the superuser owns it until it is given. `connection`: the superuser's, in
    no transaction. Raises psycopg2.Error."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,))
        if cursor.fetchone() is None:
            cursor.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))


def give_database(connection: Any, name: str) -> None:
    """Give the database to the controller; only the roles may connect to it. `connection`: the superuser's, in a transaction.
    Raises psycopg2.Error."""
    database, owner = sql.Identifier(name), sql.Identifier(login_name(CONTROLLER))
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(database, owner))
        cursor.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database))
        everybody = sql.SQL(", ").join(sql.Identifier(login_name(role)) for role in (QUEUE_MANAGER, WORKER))
        cursor.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO {}").format(database, everybody))


def prepare_server(address: dict[str, Any], database: str, logins: Iterable[Login]) -> None:
    """Prepare logins and the database on one server. `address`: keyword arguments for psycopg2.connect as
    the superuser, without the database. Raises psycopg2.Error."""
    connection = psycopg2.connect(dbname="postgres", **address)
    try:
        connection.autocommit = True
        make_database(connection, database)
        connection.autocommit = False
        with connection:  # one write to disk, for which every start waits
            make_logins(connection, logins)
            give_database(connection, database)
    finally:
        connection.close()
