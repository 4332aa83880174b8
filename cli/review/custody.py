"""`edbench custody`."""

from __future__ import annotations

import json
import sys
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.context import CommandContext, shared
from cli.installation import installation
from core.errors import RunFailed, UsageError


def custody(
    ctx: typer.Context,
    job: Annotated[
        str,
        typer.Argument(metavar="[JOB]", help="id of a job or group, an unambiguous beginning of it, or `last`"),
    ] = "",
    actions: Annotated[bool, typer.Option("--actions", help="what operators did alone, without the items")] = False,
    check: Annotated[
        Path | None,
        typer.Option(
            "--check", metavar="FILE", help="hold a list that was printed against its own hashes; needs no database"
        ),
    ] = None,
    noted: Annotated[
        list[str] | None,
        typer.Option("--noted", metavar="CHAIN", help="with --check: a `chain` that the list has to have"),
    ] = None,
) -> None:
    """Print a job's chain of custody as JSON lines: what operators did, then every item with its hashes, parser and task.

    Each action carries a hash over itself and the one before. One that was changed or taken out since is marked `broken`,
    and the exit status is 1. Note the last one's `chain`: whoever has it can tell later whether the end was cut off.
    `last` is the newest discovery. `--check` tells of a list that was printed whether a word of its actions was changed, or its last lines are missing.
    """
    context = shared(ctx)
    if check is not None:
        if job or actions:
            raise UsageError("--check takes a list that was printed, and no job beside it")
        _check(context, check, noted or [])
    elif not job or noted:
        raise UsageError("--noted stands beside --check" if noted else "name a job, or give --check a list")
    else:
        _print(context, job, actions)


def _print(context: CommandContext, job: str, actions: bool) -> None:
    broken = without = 0
    with installation(context.settings(), work="controller.custody.report", looks=False) as installed:
        from controller.custody.report import actions_told, ended, items_of, parsers_told

        handles = (installed.find_discovered(job) if job == "last" else installed.find(job)).each
        read = () if actions else chain(parsers_told(handles), items_of(handles))
        for line in ended(chain(actions_told(handles), read)):
            if line["record"] == "action":
                broken += bool(line["broken"])
                without += line["chain"] is None
            _say(line)
    sys.stdout.flush()
    if without:
        context.say(f"{without} actions have no hash: they are older than the list's hashes, or these were taken away")
    if broken:
        raise RunFailed(f"{broken} operator actions are not what was written down, or one before them has gone")


def _say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")


def _check(context: CommandContext, path: Path, noted: list[str]) -> None:
    from controller.custody.check import check_list

    out = context.out
    try:
        with path.open(encoding="utf-8", newline="\n") as lines:
            done = check_list(lines, noted, lambda line: out.print(line, markup=False, soft_wrap=True))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    out.print(
        f"{done.actions:,} actions, {done.without:,} of them without a hash: {done.faults:,} faults", markup=False
    )
    for job, hashed in done.last.items():
        out.print(f"last of {job}: {hashed}", markup=False, soft_wrap=True)
    sys.stdout.flush()
    if done.faults:
        raise RunFailed(f"{path} is not the list that was printed, in {done.faults:,} places")
