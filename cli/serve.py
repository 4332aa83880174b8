"""`edbench serve`, and the web UI that other commands serve during their run. The web application is imported on demand."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from cli import options as opt
from cli.context import CommandContext, shared
from cli.tree import Commands
from web import HOST

if TYPE_CHECKING:
    from controller.jobs.orders import DiscoveryOrder
    from core.settings import Settings
    from experiments.workloads.discovery.site import Site

commands = Commands()


@commands.add(
    "serve", "edbench serve --port 8080", "controller.jobs.orders:DiscoveryOrder", document=False, order=("databases",)
)
def serve(
    ctx: typer.Context,
    *,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Listen on this address.")] = HOST,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Listen on this port; 0: any free one.")] = opt.PORT,
    order: DiscoveryOrder,
    max_slots: Annotated[
        int | None,
        typer.Option(
            min=1, max=32_768, help="Let the jobs created here use this many slots together.  [default: 4 per core]"
        ),
    ] = None,
    storage: opt.StorageRoot = None,
) -> None:
    """Ctrl-C pauses the jobs created here. The command starts PostgreSQL, the broker and the workers unless
    EDBENCH_DATABASES is set.

    Sources must be below the storage root or a directory of EDBENCH_CORPORA. The web UI requires the token of
    EDBENCH_TOKEN; without it, a token is generated, stored in scratch readable by its owner only, and printed with the
    address."""
    context = shared(ctx)
    settings = context.settings(storage=storage)

    from cli.installation import SPARE_SLOTS, installation  # they and the application are slow to import
    from web.app import create_app
    from web.background import Measurements
    from web.installed import shown_address, web_context
    from web.runs import EmbeddedRunner, OthersWork
    from web.server import Stage, address, listening
    from web.server import serve as serve_until_stopped
    from web.token import Door, given_token, kept_token

    given = given_token(context.env)
    room = max_slots or max(SPARE_SLOTS, 4 * (os.cpu_count() or 1))
    with (
        listening(host, port) as sock,
        installation(settings, slots=room, databases=order.databases, looks=False) as installed,
    ):
        measurements = Measurements(installed.settings, context.env, embedded=installed.embedded)
        runner = (
            EmbeddedRunner(installed.settings, context.env, context.clock, room=room, measurements=measurements)
            if installed.embedded
            else OthersWork(installed.settings, context.clock)
        )
        token = given or kept_token(settings.scratch)
        door = Door(token)
        with web_context(
            installed.settings,
            context.env,
            runner,
            embedded=installed.embedded,
            door=door,
            clock=context.clock,
            measurements=measurements,
        ) as served_context:
            print(shown_address(address(sock), given, token), flush=True)
            try:
                serve_until_stopped(Stage(create_app(served_context)), sock)
            finally:
                measurements.stop()
                if isinstance(runner, EmbeddedRunner):
                    context.say("stopping; running jobs are paused")
                    runner.stop()


def page_during(context: CommandContext, settings: Settings, port: int | None) -> AbstractContextManager[None]:
    """Serve the web UI over `settings` with services attached, while the block lasts; not where `port` is None.

    Raises UsageError when the port is taken, DatabaseFault."""
    if port is None:
        return nullcontext()
    from web.installed import job_page

    return job_page(settings, context.env, port, context.say)


def site_page(
    context: CommandContext, site: Site, settings: Settings, port: int | None
) -> AbstractContextManager[None]:
    """Show the runs of an experiment in the web UI while the block lasts. Raises UsageError when the port
    is in use."""
    if port is None:
        return nullcontext()
    from web.installed import experiment_page

    return experiment_page(site, settings, context.env, port, context.say)
