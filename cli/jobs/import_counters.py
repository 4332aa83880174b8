"""`edbench import-counters`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.context import CommandContext, shared
from cli.installation import installation
from cli.options import JobArgument
from controller.arrays.collected import collected_map, is_collected
from controller.arrays.importing import Imported, forget_array, import_array, shown
from controller.arrays.mapping import ArrayMap, read_map
from core.errors import UsageError

BAD_SHOWN = 10
_MOST_OFFSET = 1e10  # of a clock that began in another century


def import_counters(
    ctx: typer.Context,
    job: JobArgument,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="the array's counters, CSV or what `edbench collect-counters` wrote; left out for Prometheus",
        ),
    ] = None,
    mapping: Annotated[
        Path | None, typer.Option("--map", metavar="MAP.toml", help="what the columns mean, or what to ask Prometheus")
    ] = None,
    offset: Annotated[
        float,
        typer.Option(
            min=-_MOST_OFFSET,
            max=_MOST_OFFSET,
            help="seconds to add to the array's times: the database's clock less its",
        ),
    ] = 0,
    name: Annotated[str | None, typer.Option(help="how the timeline calls it  [default: the map's]")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="remove what was imported under --name")] = False,
) -> None:
    """Put the array's own counters on a job's time axis, collected, from a CSV file or from Prometheus.

    docs/filer-counters.md has maps to begin with. Importing again under the same name takes the place of the first.
    """
    context = shared(ctx)
    if remove and name is None:
        raise UsageError("--remove: say which with --name")
    collected = file is not None and mapping is None and is_collected(file)
    if not remove and mapping is None and not collected:
        raise UsageError("--map: say what the columns mean")
    with installation(context.settings(), looks=False) as installed:
        handles = installed.find(job).each
        if remove:
            seconds = forget_array(handles, str(name))
            context.say(f"{name}: {seconds:,} seconds removed" if seconds else f"nothing was imported as {name}")
            return
        done = import_array(handles, _meaning(file, mapping, name), file, offset, context.env)
    _show(context, done)


def _meaning(file: Path | None, mapping: Path | None, name: str | None) -> ArrayMap:
    """Of the columns: by the map, or what was collected says it itself."""
    if mapping is not None:
        return read_map(mapping, name)
    assert file is not None
    return collected_map(file, name)


def _show(context: CommandContext, done: Imported) -> None:
    context.say(
        f"{done.name}: {done.values:,} values of {done.columns} column{'s' if done.columns != 1 else ''}, {shown(done.first)} to {shown(done.last)} UTC"
    )
    context.say(f"clock: {done.offset_s:+g} s added to the array's times" if done.offset_s else "clock: taken as it is")
    if done.outside:
        context.say(f"{done.outside:,} times away from the job's were left out")
    for bad in done.bad[:BAD_SHOWN]:
        context.say(f"left out, {bad}")
    if len(done.bad) > BAD_SHOWN:
        context.say(f"left out: {len(done.bad) - BAD_SHOWN:,} more rows")
