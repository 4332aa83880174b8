"""`edbench custody`."""

from __future__ import annotations

import json
import sys
from itertools import chain
from typing import Annotated

import typer

from cli.context import shared
from cli.installation import installation
from cli.options import JobArgument
from core.errors import RunFailed


def custody(
    ctx: typer.Context,
    job: JobArgument,
    actions: Annotated[bool, typer.Option("--actions", help="what operators did alone, without the items")] = False,
) -> None:
    """Print a job's chain of custody as JSON lines: what operators did, then every item with its hashes, parser and task.

    Each action carries a hash over itself and the one before. One that was changed or taken out since is marked `broken`,
    and the exit status is 1. Note the last one's `chain`: whoever has it can tell later whether the end was cut off.
    `last` is the newest discovery.
    """
    context = shared(ctx)
    broken = without = 0
    with installation(context.settings(), work="controller.custody.report") as installed:
        from controller.custody.report import actions_told, items_of, parsers_told

        handles = (installed.find_discovered(job) if job == "last" else installed.find(job)).each
        for line in actions_told(handles):
            broken += bool(line["broken"])
            without += line["chain"] is None
            _say(line)
        for line in () if actions else chain(parsers_told(handles), items_of(handles)):
            _say(line)
    sys.stdout.flush()
    if without:
        context.say(f"{without} actions have no hash: they are older than the list's hashes, or these were taken away")
    if broken:
        raise RunFailed(f"{broken} operator actions are not what was written down, or one before them has gone")


def _say(line: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
