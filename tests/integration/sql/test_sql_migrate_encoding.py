"""A database that cannot hold every name is refused before anything is written to it."""

from __future__ import annotations

import uuid

import psycopg2
import pytest
from servers import OWNER

from core.errors import UsageError
from core.services import superuser_url
from core.settings import Settings
from sql.migrate import migrate
from sql.session import Database


def test_another_encoding_than_utf8_is_refused(services: Settings) -> None:
    """Jobs over such a database would fail in the middle, at the first name that is not ASCII."""
    url = services.databases[0].url
    name = f"test_{uuid.uuid4().hex}"
    connection = psycopg2.connect(superuser_url(services.scratch))
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0 OWNER {OWNER}"
        )
    database = Database("db7", url.replace("/db1?", f"/{name}?"))
    try:
        with pytest.raises(UsageError, match=r"db7 has the encoding SQL_ASCII.*--encoding=UTF8"):
            migrate(database)
    finally:
        database.dispose()
        with connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")
        connection.close()
