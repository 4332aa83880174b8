"""Whether databases and broker can be had: those of EDBENCH_DATABASES, or embedded ones started for a moment."""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from controller.doctor.finding import Finding, bad, ok, warn
from controller.doctor.storage import existing
from core.clock import Clock
from core.errors import EdbenchError
from core.services import embedded_services
from core.services.place import Home, remove_data
from core.settings import DatabaseAddress, Settings

_OFFSET_SECONDS = 0.5
_LEAST_POSTGRES = 15  # UNIQUE NULLS NOT DISTINCT


def reachable(settings: Settings, clock: Clock) -> Iterator[Finding]:
    """Findings about the services that a job would use."""
    if settings.embedded:
        yield embedded_start(settings, clock)
        return
    for address in settings.databases:
        yield from database(address, clock)
    yield broker(settings.broker)


def embedded_start(settings: Settings, clock: Clock) -> Finding:
    """Start the embedded services once, in a directory of their own inside scratch, and stop them."""
    try:
        scratch = Path(tempfile.mkdtemp(prefix=".edbench-doctor-", dir=existing(settings.scratch)))
    except OSError as error:
        return bad(f"services: cannot write to scratch: {error.strerror}", "set EDBENCH_SCRATCH")
    try:
        scratch.chmod(0o711)
        start = clock.monotonic_ns()
        with embedded_services(dataclasses.replace(settings, scratch=scratch), slots=settings.slots):
            seconds = (clock.monotonic_ns() - start) / 1e9
        return ok(f"services: embedded PostgreSQL and broker start in {seconds:.1f} s")
    except EdbenchError as error:
        return bad(f"services: {error}", "fix that, or set EDBENCH_DATABASES and EDBENCH_BROKER to running servers")
    finally:
        remove_data(Home(scratch))
        shutil.rmtree(scratch, ignore_errors=True)


def database(address: DatabaseAddress, clock: Clock) -> Iterator[Finding]:
    """Reachable, new enough, and how far its clock is from ours."""
    from sqlalchemy import text  # slow to come, and findings are shown as they come

    from sql.session import Database

    opened = Database(address.name, address.url, application="edbench doctor")
    try:
        with opened.transaction() as connection:
            connection.execute(text("SELECT 1"))
            before = clock.now()
            version, theirs = connection.execute(
                text("SELECT current_setting('server_version_num')::int, extract(epoch FROM clock_timestamp())::float8")
            ).one()
            powers = connection.execute(text("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")).scalar()
            offset = theirs - (before + clock.now()) / 2
    except EdbenchError as error:
        yield bad(str(error), "start it, or correct EDBENCH_DATABASES")
        return
    finally:
        opened.dispose()
    if version // 10_000 < _LEAST_POSTGRES:
        told = f"database {address.name} is PostgreSQL {version // 10_000}"
        yield bad(told, f"use PostgreSQL {_LEAST_POSTGRES} or newer")
    else:
        yield ok(f"database {address.name}: PostgreSQL {version // 10_000} answers")
    if powers:
        yield warn(
            f"database {address.name}: the login is a superuser, which may run programs on the server",
            "use a login that only owns the database, see docs/logins.md",
        )
    said = f"database {address.name}: its clock is {offset * 1000:+.0f} ms from ours"
    yield ok(said) if abs(offset) <= _OFFSET_SECONDS else warn(said, "run an NTP client on both machines")


def broker(url: str | None) -> Finding:
    """Whether Celery could send a message."""
    if url is None:
        return bad("EDBENCH_DATABASES is set but EDBENCH_BROKER is not", "set EDBENCH_BROKER=redis://host:port/0")
    from kombu.connection import Connection  # as above
    from kombu.exceptions import OperationalError

    try:
        with Connection(url, connect_timeout=5) as connection:  # type: ignore[no-untyped-call]  # kombu has no types
            connection.ensure_connection(max_retries=1, interval_start=0.2, timeout=5)
    except (OperationalError, OSError, ValueError, KeyError) as error:
        return bad(f"the broker cannot be reached: {error}", "start it, or correct EDBENCH_BROKER")
    return ok("the broker answers")
