"""`--cluster`: whose workers a job runs on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cli.context import CommandContext
from controller.cluster.base import COMPOSE, chosen_cluster
from core.errors import UsageError

if TYPE_CHECKING:
    from cli.installation import Installation
    from controller.cluster.compose import ComposeCluster


@contextmanager
def compose_cluster(
    context: CommandContext, installed: Installation, option: str | None, *, workers: int | None, slots: int | None
) -> Iterator[ComposeCluster | None]:
    """The Compose system's workers, so many as wanted (None: as they are); None where another cluster is chosen.

    Raises UsageError where workers or slots were asked for, and other processes run the workers."""
    if chosen_cluster(context.env, option) != COMPOSE:
        if not installed.embedded and (workers is not None or slots is not None):
            raise UsageError(
                f"{'--workers' if workers is not None else '--slots'}: this command does not start the workers of this system"
                " (EDBENCH_DATABASES is set); leave the option away, or change them where they were started, in containers on the"
                " host: make scale N=6",
                field="workers",
            )
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
