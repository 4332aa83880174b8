"""`edbench scale`: start and stop worker containers."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.context import shared
from cli.tree import Commands

commands = Commands()


@commands.add("scale", "edbench scale 6")
def scale(
    ctx: typer.Context,
    workers: Annotated[int, typer.Argument(metavar="N", min=1, max=512, help="new number of worker containers")],
) -> None:
    """Run this on the host of the containers: it needs the socket of the Docker engine.

    DOCKER_HOST and COMPOSE_PROJECT_NAME select the engine and the project. Workers that are no longer wanted finish
    their tasks first."""
    context = shared(ctx)

    from controller.cluster.containers import scale as scale_containers  # imports the engine's client

    done = scale_containers(context.env, workers)
    if not context.document(done):
        context.say(f"{workers} worker containers in {done.project}: {done.started} started, {done.stopped} stopped")
