"""Fixtures that all tests share. The services are real ones, started once a session."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
import redis
from dealing import pytest_collection_modifyitems
from finished_job import (
    copy,
    empty_scratch,
    finished,
    finished_corpus,
    handle,
    small_corpus,
    tiny_corpus,
    two_databases,
)
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from hypothesis.internal.conjecture import providers
from ledger_hands import hands
from once import once, pytest_configure, pytest_configure_node
from ports import port
from servers import OWNER, as_superuser
from session_services import _migrated, services
from taskbench import TaskBench

from core.services import broker_keeper_url
from core.settings import Settings
from sql.session import Database

__all__ = [  # of tests/support
    "_migrated",
    "copy",
    "empty_scratch",
    "finished",
    "finished_corpus",
    "handle",
    "hands",
    "once",
    "port",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_configure_node",
    "services",
    "small_corpus",
    "tiny_corpus",
    "two_databases",
]

# The same tree gives the same answer everywhere; `make test-search` looks for examples that no run has seen yet.
_UNHURRIED = hypothesis_settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # whatever else runs here
hypothesis_settings.register_profile(
    "steady", _UNHURRIED, max_examples=60, derandomize=True, database=None, print_blob=True
)
hypothesis_settings.register_profile("search", _UNHURRIED, max_examples=1000, print_blob=True)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "steady")
hypothesis_settings.load_profile(PROFILE)
if PROFILE == "steady":
    # Hypothesis tries the constants of all modules of ours that are loaded: the order of tests would decide which.
    assert callable(providers._get_local_constants)
    providers._get_local_constants = lambda: providers._local_constants

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell that starts the tests with `&` leaves them deaf …
    signal.signal(signal.SIGINT, signal.default_int_handler)  # … and every command that they press Ctrl-C on
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # the commands under test would be compiled at every start …
sys.dont_write_bytecode = False  # … and test modules, with their assertions rewritten, in each process of each run


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Half a million objects come while tests are collected, and stay to the end: they are not looked through again and again
    while they come, nor at each garbage collection afterwards, nor copied by what is forked. From then on cycles are looked
    for among new objects as rarely as in every program of ours (core.program)."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, *gc.get_threshold()[1:])


REPOSITORY = Path(__file__).parent


@pytest.fixture(scope="session")
def open_dir() -> Iterator[Path]:
    """A temporary directory that PostgreSQL's user can pass through: pytest's own are closed, and under root the
    services would have to keep their data elsewhere."""
    directory = Path(tempfile.mkdtemp(prefix="edbench-test-"))
    directory.chmod(0o711)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def database(services: Settings, _migrated: str) -> Iterator[Database]:
    """A database of this test's own: migrated, without a row."""
    name = f"test_{uuid.uuid4().hex}"
    as_superuser(services, f"CREATE DATABASE {name} TEMPLATE {_migrated} STRATEGY FILE_COPY OWNER {OWNER}")
    database = Database("db1", services.databases[0].url.replace("/db1?", f"/{name}?"))
    try:
        yield database
    finally:
        database.dispose()
        as_superuser(services, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def task_bench(services: Settings, database: Database, tmp_path: Path) -> Iterator[TaskBench]:
    """A job over a source directory, and a slot that does its tasks in this process."""
    bench = TaskBench(database, tmp_path, services.handed)
    try:
        yield bench
    finally:
        bench.close()


@pytest.fixture
def broker_url(services: Settings) -> Iterator[str]:
    """The broker, without a key in it, as the user that may do everything there."""
    client = redis.Redis.from_url(broker_keeper_url(services.scratch))
    try:
        client.flushall()
        yield broker_keeper_url(services.scratch)
        client.flushall()
    finally:
        client.close()


@pytest.fixture(scope="session")
def real_files() -> Path:
    """Files of other projects' test suites, where this machine has them."""
    directory = REPOSITORY.parent / "shared/data/real-files"
    if not directory.is_dir():
        pytest.skip(f"no real files: {directory} is not there")
    return directory
