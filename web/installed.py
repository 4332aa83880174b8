"""The context of an installation with attached services."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from controller.databases import open_databases
from controller.observe.metrics import metrics_served
from core.clock import Clock, SystemClock
from core.settings import Settings
from experiments.workloads.discovery.site import Site
from monitoring.metrics import read_endpoint
from web import HOST
from web.app import create_app
from web.background import Measurements
from web.context import Runner, Shown, WebContext
from web.results import HASH_LISTS, PRODUCTIONS, TARGETS, read_corpora
from web.runs import CommandRunner
from web.server import CONNECTIONS, Stage, address, listening, served
from web.token import Door, given_token, kept_token, ready_link


@contextlib.contextmanager
def web_context(
    settings: Settings,
    env: Mapping[str, str],
    runner: Runner,
    *,
    embedded: bool,
    door: Door,
    clock: Clock | None = None,
    results: Path | None = None,
    measurements: Measurements | None = None,
) -> Iterator[WebContext]:
    """The context during the block, with database connections of its own. Raises UsageError, DatabaseFault."""
    corpora, productions = read_corpora(env), read_corpora(env, PRODUCTIONS)
    databases = open_databases(settings, application="edbench web", connections=CONNECTIONS)
    context = WebContext(
        settings=settings,
        databases=databases,
        embedded=embedded,
        runner=runner,
        env=env,
        clock=clock or SystemClock(),
        door=door,
        corpora=corpora,
        productions=productions,
        hash_lists=read_corpora(env, HASH_LISTS),
        targets=read_corpora(env, TARGETS),
        results=results,
        measurements=measurements,
    )
    try:
        with metrics_served(settings, read_endpoint(env)):
            yield context
    finally:
        context.indexes.close()
        for database in databases:
            database.dispose()


@contextlib.contextmanager
def job_page(settings: Settings, env: Mapping[str, str], port: int, say: Callable[[str], None]) -> Iterator[None]:
    """Serve the web UI over an installation whose services are attached while the block lasts, and print its address.

    Raises UsageError when the port is taken, DatabaseFault."""
    with idle_page(settings, env, port, say) as (stage, door), _shown(stage, settings.storage, door, env, settings):
        yield


def shown_address(address: str, given: str | None, token: str) -> str:
    """The address to open, with the token if it was generated; a given token is not printed."""
    return address if given else ready_link(address, token)


@contextlib.contextmanager
def experiment_page(
    site: Site, settings: Settings, env: Mapping[str, str], port: int, say: Callable[[str], None]
) -> Iterator[None]:
    """Serve the web UI for the runs of an experiment, each with databases of its own. Between runs the web UI shows
    only results. Raises UsageError if the port is taken."""
    with idle_page(settings, env, port, say) as (stage, door):
        site.show = partial(_shown, stage, settings.storage, door, env)
        yield


@contextlib.contextmanager
def idle_page(
    settings: Settings, env: Mapping[str, str], port: int, say: Callable[[str], None], shown: Shown | None = None
) -> Iterator[tuple[Stage, Door]]:
    """Serve the web UI without a database while the block lasts. Raises UsageError when the port is taken."""
    given = given_token(env)
    with listening(HOST, port) as sock:
        token = given or kept_token(settings.scratch)
        door = Door(token)
        idle = WebContext(
            settings=settings, databases=(), embedded=True, runner=CommandRunner(), env=env, door=door, shown=shown
        )
        stage = Stage(create_app(idle))
        with served(stage, sock):
            say(f"web UI: {shown_address(address(sock), given, token)}")
            yield stage, door


@contextlib.contextmanager
def _shown(stage: Stage, results: Path, door: Door, env: Mapping[str, str], run: Settings) -> Iterator[None]:
    """Show a run in the web UI while the block lasts. `run`: settings with its databases."""
    idle = stage.app
    with web_context(run, env, CommandRunner(), embedded=True, door=door, results=results) as context:
        stage.put(create_app(context))
        try:
            yield
        finally:
            stage.put(idle)
