"""PostgreSQL and broker, started once in each process of a test run, over files that are made once for all of them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from once import MakeOnce
from servers import OWNER, as_superuser, copy_scratch

from core.errors import EdbenchError
from core.services import embedded_services
from core.settings import Settings
from sql.migrate import migrate
from sql.session import Database

_TEMPLATE = "edbench_template"
_SLOTS = 16


@pytest.fixture(scope="session")
def services(open_dir: Path, once: MakeOnce) -> Iterator[Settings]:
    """Settings with a running embedded PostgreSQL (database db1, empty) and broker."""
    made = once("services", _made)
    settings = Settings(storage=open_dir / "storage", scratch=open_dir / "scratch")
    copy_scratch(made, settings.scratch)
    with embedded_services(settings, slots=_SLOTS) as running:
        yield running


def _made(scratch: Path) -> None:
    """Leaves the files of servers that have ended: an empty db1, and a database of our schema to copy. A crash of this machine
    may cost them."""
    try:
        with embedded_services(Settings(scratch=scratch), slots=_SLOTS) as settings:
            as_superuser(settings, f"CREATE DATABASE {_TEMPLATE} OWNER {OWNER}", "ALTER SYSTEM SET fsync = off")
            template = Database(_TEMPLATE, settings.databases[0].url.replace("/db1?", f"/{_TEMPLATE}?"))
            try:
                migrate(template)
            finally:
                template.dispose()
    except EdbenchError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"the embedded services do not run here: {error}")


@pytest.fixture(scope="session")
def _migrated(services: Settings) -> str:
    """The database to copy."""
    return _TEMPLATE
