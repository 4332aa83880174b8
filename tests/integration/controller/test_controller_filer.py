"""Who may share an emulated filer."""

import dataclasses
import uuid
from typing import Any

import pytest

from controller.databases import open_databases
from controller.filer import refuse_no_common_arbiter, watched_filer
from core.errors import UsageError
from core.filer.emulation import emulated_filer
from core.filer.model import filer_choice, load_filer
from core.filer.use import arbiter_path
from core.operations import Op
from core.settings import Settings
from sql.session import Database
from sql.workers import WORKERS, NewWorker, register


def _register(database: Database, host: str, boot: str) -> uuid.UUID:
    incarnation = uuid.uuid4()
    with database.transaction() as conn:
        register(
            conn, NewWorker(incarnation=incarnation, name=host, host=host, pid=1, boot_id=boot, slots=1, version="0")
        )
    return incarnation


def test_workers_without_a_common_arbiter_are_refused(finished: Any) -> None:
    """Two kernels never share memory; two containers only when they are told where. Our own workers always do."""
    database = open_databases(finished.settings)[0]
    titan = dataclasses.replace(finished.settings, filer="titan")
    with database.transaction() as conn:
        for row in WORKERS.list_workers(conn):
            WORKERS.worker_stopped(conn, incarnation=row.incarnation)
    live = [_register(database, "one", "boot-a")]
    try:
        refuse_no_common_arbiter([database], titan, ours=False)
        live.append(_register(database, "two", "boot-a"))
        with pytest.raises(UsageError, match="EDBENCH_FILER_ARBITER"):
            refuse_no_common_arbiter([database], titan, ours=False)
        shared = dataclasses.replace(titan, filer_arbiter="/run/shared")
        refuse_no_common_arbiter([database], shared, ours=False)
        live.append(_register(database, "three", "boot-b"))
        with pytest.raises(UsageError, match="several hosts"):
            refuse_no_common_arbiter([database], shared, ours=False)
        refuse_no_common_arbiter([database], titan, ours=True)
        refuse_no_common_arbiter([database], finished.settings, ours=False)
    finally:
        with database.transaction() as conn:
            for incarnation in live:
                WORKERS.worker_stopped(conn, incarnation=incarnation)
        database.dispose()


def test_what_the_stations_did_is_watched_and_nothing_is_left(finished: Any) -> None:
    settings: Settings = dataclasses.replace(finished.settings, filer="nas-10g")
    model = load_filer(settings.filer)
    arbiter = arbiter_path(model.digest, settings.scratch)  # the others in that directory are other installations'
    assert not arbiter.exists()
    with watched_filer(settings) as watch:
        filer = emulated_filer(settings)
        for _ in range(10):
            filer.serve(Op.STAT, 0, 0)
        assert filer.digest == filer_choice(settings.filer).digest
        found = watch()["filer"]
        assert arbiter.exists()
    assert (found["name"], found["stations"]["metadata"]["calls"]) == ("nas-10g", 10)
    assert not arbiter.exists()


def test_without_a_filer_nothing_is_reported(finished: Any) -> None:
    with watched_filer(finished.settings) as watch:
        assert watch() == {}
    assert filer_choice(finished.settings.filer).label == ""
