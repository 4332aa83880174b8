"""`--cluster`: whose workers a job runs on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cli.context import CommandContext
from controller.cluster.base import COMPOSE, chosen_cluster

if TYPE_CHECKING:
    from cli.installation import Installation
    from controller.cluster.compose import ComposeCluster


@contextmanager
def compose_cluster(
    context: CommandContext, installed: Installation, option: str | None, *, workers: int | None, slots: int | None
) -> Iterator[ComposeCluster | None]:
    """The Compose system's workers, so many as wanted (None: as they are); None where another cluster is chosen."""
    if chosen_cluster(context.env, option) != COMPOSE:
        yield None
        return
    from controller.cluster.compose import ComposeCluster  # brings the engine's client

    with ComposeCluster(
        installed.settings, installed.databases, workers=workers, slots=slots, env=context.env, say=context.say
    ) as cluster:
        yield cluster


def refuse_out_of_sight(source: Path, installed: Installation) -> None:
    """Raises UsageError for a source that the containers do not see."""
    from controller.cluster.sight import refuse_unseen

    refuse_unseen(source, installed.settings.storage, installed.settings.evidence)


def given(ctx: typer.Context, option: str) -> bool:
    """Whether an option stood on the command line."""
    source = ctx.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"
