"""Brings a database to the schema of this code. Safe when several processes start together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from core.errors import DatabaseFault, UsageError
from core.roles import QUEUE_MANAGER, WORKER, login_name
from sql.connection import Connection
from sql.session import Database

VERSION_TABLE = "alembic_version"  # where Alembic looks
_SUSPEND = "UPDATE (state, reason, first_claim_at, stopped_at)"  # and the first claim
_COURSE = "UPDATE (state, phase, reason, first_claim_at, finished_at, stopped_at, stopped_seconds)"

# table → role → privileges
GRANTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    VERSION_TABLE: {QUEUE_MANAGER: ("SELECT",), WORKER: ("SELECT",)},
    "job_group": {},
    "job": {
        QUEUE_MANAGER: ("SELECT", _COURSE),
        WORKER: ("SELECT", _SUSPEND),
    },
    "job_phase": {QUEUE_MANAGER: ("SELECT", "INSERT", "UPDATE"), WORKER: ("SELECT", "INSERT")},
    "job_pause": {QUEUE_MANAGER: ("SELECT", "INSERT", "UPDATE"), WORKER: ("SELECT",)},
    "storage_root": {WORKER: ("SELECT",)},
    "outage": {QUEUE_MANAGER: ("SELECT", "INSERT")},
    "custodian": {QUEUE_MANAGER: ("SELECT",), WORKER: ("SELECT",)},
    # A slot removes portions of an earlier claim of its task (decision 0042).
    "task": {QUEUE_MANAGER: ("SELECT", "INSERT", "UPDATE"), WORKER: ("SELECT", "INSERT", "UPDATE", "DELETE")},
    "parser_set": {WORKER: ("INSERT",)},
    "item": {QUEUE_MANAGER: ("SELECT",), WORKER: ("SELECT", "INSERT", "DELETE")},
    "item_text": {QUEUE_MANAGER: ("SELECT",), WORKER: ("SELECT", "INSERT", "UPDATE")},
    "shard": {QUEUE_MANAGER: ("SELECT",), WORKER: ("SELECT", "INSERT", "UPDATE")},
    "item_index": {QUEUE_MANAGER: ("SELECT",), WORKER: ("SELECT", "INSERT", "UPDATE")},
    "container_count": {QUEUE_MANAGER: ("SELECT",), WORKER: ("SELECT", "INSERT", "UPDATE")},
    "exception": {QUEUE_MANAGER: ("SELECT",), WORKER: ("SELECT", "INSERT", "DELETE")},
    "item_tag": {},
    "saved_search": {},
    "operator_action": {QUEUE_MANAGER: ("SELECT", "INSERT")},  # the end of a production, and its files
    "death": {QUEUE_MANAGER: ("SELECT",), WORKER: ("SELECT", "INSERT")},
    "loose_cost": {WORKER: ("SELECT", "INSERT", "UPDATE")},
    "worker": {QUEUE_MANAGER: ("SELECT", "UPDATE"), WORKER: ("SELECT", "INSERT", "UPDATE")},
    "call_second": {QUEUE_MANAGER: ("SELECT", "INSERT", "UPDATE")},
    "call_step": {QUEUE_MANAGER: ("SELECT", "INSERT", "UPDATE")},
    "observation": {QUEUE_MANAGER: ("SELECT", "INSERT", "UPDATE")},
    # The barrier numbers the pages; a slot counts those of an item.
    "production_item": {
        QUEUE_MANAGER: ("SELECT", "UPDATE (first_page)"),
        WORKER: ("SELECT", "UPDATE (pages)"),
    },
    "production_file": {QUEUE_MANAGER: ("SELECT",), WORKER: ("SELECT", "INSERT", "UPDATE")},
    # Reviews of the items, made by the controller when a job is over.
    "review": {},
    "duplicate": {WORKER: ("SELECT",)},  # a produced item names the custodians of its duplicates
    "near_duplicate": {},
    "system_file": {},
    "item_digest": {},
    "thread_message": {},
}

_LOGINS = "SELECT rolname FROM pg_roles WHERE rolname = ANY(%(names)s)"
# Grants on our tables and their columns, one line each.
_GIVEN = """
SELECT c.relname || ' ' || r.rolname || ' ' || a.privilege_type FROM pg_class c
    CROSS JOIN LATERAL aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND r.rolname = ANY(%(names)s)
UNION ALL
SELECT c.relname || ' ' || r.rolname || ' ' || a.privilege_type || ' ' || t.attname FROM pg_class c
    JOIN pg_attribute t ON t.attrelid = c.oid CROSS JOIN LATERAL aclexplode(t.attacl) a
    JOIN pg_roles r ON r.oid = a.grantee
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND r.rolname = ANY(%(names)s)
"""


def renew_grants(conn: Connection) -> None:
    """Give the logins of this server exactly their rights, if they have others. Run it as the tables' owner."""
    wanted_names = [login_name(role) for role in (QUEUE_MANAGER, WORKER)]
    names = set(conn.execute(_LOGINS, {"names": wanted_names}).scalars())
    if not names:
        return
    given = set(conn.execute(_GIVEN, {"names": sorted(names)}).scalars())
    if given == {line for line, name in _lines() if name in names}:
        return
    listed = ", ".join(f'"{name}"' for name in sorted(names))
    conn.execute(f"GRANT USAGE ON SCHEMA public TO {listed}")
    conn.execute(f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {listed}")
    for table, roles in GRANTS.items():
        for role, privileges in roles.items():
            if privileges and login_name(role) in names:
                conn.execute(f'GRANT {", ".join(privileges)} ON "{table}" TO "{login_name(role)}"')


def _lines() -> Iterator[tuple[str, str]]:
    """The grants, formatted as in `_GIVEN`, each with its login."""
    for table, roles in GRANTS.items():
        for role, privileges in roles.items():
            for privilege in privileges:
                kind, _, columns = privilege.partition(" (")
                for column in columns.rstrip(")").split(", "):
                    yield f"{table} {login_name(role)} {kind}" + (f" {column}" if column else ""), login_name(role)


# The revision of `sql.models`. No version has been released, so there is nothing to migrate: a database has these
# tables or is deleted and made. The first release gets migrations (Alembic), which begin at this revision.
REVISION = "0001"
LOCK_KEY = 0x65646265_6E636801  # "edbench" 1: held while a schema is changed


def migrate(database: Database) -> None:
    """Create the tables if there are none, and set the rights of the roles, in one durable transaction.

    Raises UsageError if the schema is not that of this code or the encoding is not UTF8, DatabaseFault if the database
    cannot be reached, or something is missing and this login may not create it."""
    with database.transaction(durable=True) as conn:
        encoding = conn.execute("SHOW server_encoding").scalar_one()
        if encoding != "UTF8":
            raise UsageError(
                f"database {database.name} has the encoding {encoding}, which cannot store every name;"
                " create it with: createdb --encoding=UTF8 --template=template0"
            )
        # Before the first look at the version: a process that waits here finds the work done.
        conn.execute("SELECT pg_advisory_xact_lock(%(key)s)", {"key": LOCK_KEY})
        refused = schema_refusal(conn, database.name)
        makes = conn.execute("SELECT has_schema_privilege('public', 'CREATE')").scalar_one()
        if isinstance(refused, UsageError) or (refused is not None and not makes):
            raise refused
        if not makes:
            return  # a role that uses the tables and creates none
        if refused is not None:
            _make(conn)
        renew_grants(conn)


def schema_refusal(conn: Connection, database: str) -> UsageError | DatabaseFault | None:
    """The reason why a process that creates no tables cannot use the database of this name: its schema is not that of
    this code (UsageError), or does not exist yet; None if it can."""
    current = _current(conn)
    if current == REVISION:
        return None
    if current is not None:
        return UsageError(
            f"database {database} has schema {current}, which this version of edbench does not know;"
            " use the newer version that created it, or another database"
        )
    return DatabaseFault(
        f"database {database} is not migrated to this version; start the controller, or run any edbench command as its owner",
        transient=True,
    )


def _make(conn: Connection) -> None:
    """Create the tables of an empty database, and store their revision."""
    from sqlalchemy import create_mock_engine  # few processes make tables

    from sql.models import metadata

    def run(statement: Any, *_: object, **__: object) -> None:
        conn.execute(str(statement.compile(dialect=engine.dialect)))

    engine = create_mock_engine("postgresql+psycopg2://", run)
    metadata.create_all(engine, checkfirst=False)
    conn.execute(
        f"CREATE TABLE IF NOT EXISTS {VERSION_TABLE}"
        f" (version_num VARCHAR(32) NOT NULL, CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY (version_num))"
    )
    conn.execute(f"INSERT INTO {VERSION_TABLE} VALUES (%(revision)s)", {"revision": REVISION})


def _current(conn: Connection) -> str | None:
    """The schema's revision; None for an empty database."""
    if conn.execute("SELECT to_regclass('alembic_version')").scalar_one() is None:
        return None
    revision: str | None = conn.execute("SELECT version_num FROM alembic_version").scalar_one_or_none()
    return revision
