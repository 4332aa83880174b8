"""`edbench serve`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from cli import options as opt
from cli.beside import PORT
from cli.context import shared, with_options
from cli.taking import taking
from controller.jobs.orders import DiscoveryOrder
from web import HOST


@taking(order=("databases",))
def serve(
    ctx: typer.Context,
    *,
    host: Annotated[str, typer.Option(help="address to listen on")] = HOST,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0: any that is free")] = PORT,
    cluster: opt.Cluster = None,
    order: DiscoveryOrder,
    max_slots: Annotated[
        int | None,
        typer.Option(min=1, max=32_768, help="slots that jobs created here have together  [default: 4 a processor]"),
    ] = None,
    storage: opt.StorageRoot = None,
) -> None:
    """Serve the web page and the HTTP API until Ctrl-C, which pauses the jobs created there.

    PostgreSQL, the broker and the workers are started here if EDBENCH_DATABASES is not set and --cluster is embedded.
    Sources may lie below the storage root and the directories of EDBENCH_CORPORA. The page wants the token of
    EDBENCH_TOKEN; where there is none, one is made up, kept in scratch for its owner's eyes, and printed with the address.
    """
    context = shared(ctx)
    settings = with_options(context.settings(cluster), storage=storage, slots=None, engine=None)

    from cli.installation import SLOTS_BESIDE, installation  # they and the application are slow to come
    from web.app import create_app
    from web.beside import shown_address
    from web.door import Door
    from web.guests import OthersWork
    from web.installed import web_context
    from web.measuring.runs import Measurements
    from web.runs import EmbeddedRunner
    from web.server import Stage, address, listening
    from web.server import serve as serve_until_stopped
    from web.token import given_token, kept_token

    given = given_token(context.env)
    room = max_slots or max(SLOTS_BESIDE, 4 * (os.cpu_count() or 1))
    with (
        listening(host, port) as sock,
        installation(settings, slots=room, databases=order.databases, looks=False) as installed,
    ):
        measurements = Measurements(installed.settings, context.env) if installed.embedded else None
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
                if measurements is not None:
                    measurements.stop()
                if isinstance(runner, EmbeddedRunner):
                    context.say("stopping; jobs that run are paused")
                    runner.stop()
