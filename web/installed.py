"""The context of an installation with attached services."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from controller.databases import open_databases
from controller.observe.metrics import metrics_served
from core.clock import Clock, SystemClock
from core.settings import Settings
from monitoring.metrics.endpoint import read_endpoint
from web.context import Runner, WebContext
from web.door import Door
from web.measuring.runs import Measurements
from web.results import HASH_LISTS, PRODUCTIONS, TARGETS, read_corpora, runs
from web.server import CONNECTIONS


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
        with metrics_served(settings, read_endpoint(env), lambda: len(runs(context.results_root))):
            yield context
    finally:
        context.indexes.close()
        for database in databases:
            database.dispose()
