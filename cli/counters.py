"""`edbench counters`: the filer's own counters, collected and imported into a job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import options as opt
from cli.context import CommandContext, shared
from cli.installation import installation
from cli.tree import Commands, writable_file
from core import texts
from core.errors import UsageError
from core.options import MOST_SECONDS
from core.texts import many

if TYPE_CHECKING:
    from controller.arrays.importing import Imported
    from controller.arrays.mapping import ArrayMap

commands = Commands()

BAD_SHOWN = 10
Name = Annotated[
    str | None,
    typer.Option("--array-name", metavar="NAME", help="Use this name in the timeline.  [default: the source's]"),
]


@commands.add("collect", "edbench counters collect moosefs --to c.jsonl -- mfscli -H MASTER -SMO -m 1 -p -s ,")
def collect_counters(
    ctx: typer.Context,
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND", help="format of the output: glusterfs, moosefs, glusterfs-mount or moosefs-mount"
        ),
    ],
    command: Annotated[
        list[str],
        typer.Argument(metavar="-- COMMAND...", help="command that prints the counters; use ssh for another host"),
    ],
    to: Annotated[Path, typer.Option(metavar="FILE", help=texts.TO)],
    every: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, max=3600, help="Take a sample every SECONDS.")
    ] = 1.0,
    seconds: Annotated[
        float | None, typer.Option(min=0.1, max=MOST_SECONDS, help="Stop after this time.  [default: on Ctrl-C]")
    ] = None,
    name: Name = None,
) -> None:
    """Store the counters that a filer's command prints, regularly.

    Start it before the job and stop it after the job. FILE must be new and gets one line for each sample. Times are of
    this host's clock (docs/filer-counters.md)."""
    from controller.arrays.collectors import COLLECTORS
    from controller.arrays.mapping import array_name, collect

    context = shared(ctx)
    if kind not in COLLECTORS:
        raise UsageError(f"KIND is {kind!r}; it must be {' or '.join(COLLECTORS)}")
    writable_file(to, "--to")
    called = array_name(name or kind)
    clock, began = context.clock, context.clock.monotonic_ns()
    due = began

    def wait() -> bool:
        """Wait until the next sample is due; a late one does not delay the others. Return False after the last one."""
        nonlocal due
        due += int(every * 1e9)
        if seconds is not None and due - began > seconds * 1e9:
            return False
        clock.sleep(max(0.0, (due - clock.monotonic_ns()) / 1e9))
        return True

    moments = 0
    try:
        with to.open("x", encoding="utf-8") as file:
            for _ in collect(kind, command, file, name=called, now=clock.now, wait=wait, say=context.say):
                moments += 1
    except UsageError:
        to.unlink(missing_ok=True)  # nothing was collected
        raise
    except FileExistsError as error:
        raise UsageError(f"--to {to} exists; give a new file") from error
    except KeyboardInterrupt:
        pass  # the usual end
    if not context.document({"path": str(to), "name": called, "samples": moments}):
        context.say(f"{to}: {many(moments, 'sample')} of {called}")


@commands.add("import", "edbench counters import last array.csv --map array.toml --offset 1.5")
def import_counters(
    ctx: typer.Context,
    job: opt.JobArgument,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="a CSV file, or one of `edbench counters collect`; omit it for Prometheus"
        ),
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option(
            "--map", metavar="MAP.toml", help="Describe the columns, or the Prometheus queries, with this file."
        ),
    ] = None,
    offset: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=-opt.MOST_OFFSET,
            max=opt.MOST_OFFSET,
            help="Add SECONDS to the filer's times: the database's clock minus the filer's clock.",
        ),
    ] = 0,
    name: Name = None,
    remove: Annotated[bool, typer.Option("--remove", help=texts.REMOVE)] = False,
) -> None:
    """Import a filer's counters from a file or Prometheus.

    docs/filer-counters.md has maps to start from. Importing again under the same name replaces the earlier counters;
    --remove removes those of --array-name."""
    from controller.arrays.importing import forget_array, import_array
    from controller.arrays.mapping import is_collected

    context = shared(ctx)
    if remove and name is None:
        raise UsageError("--remove requires --array-name NAME, the counters to remove")
    collected = file is not None and mapping is None and is_collected(file)
    if not remove and mapping is None and not collected:
        raise UsageError("--map is missing: give a file that describes the columns")
    with installation(context.settings(), looks=False) as installed:
        handles = installed.find(job).each
        if remove:
            seconds = forget_array(handles, str(name))
            if not context.document({"name": name, "removed_seconds": seconds}):
                context.say(
                    f"{name}: {many(seconds, 'second')} removed" if seconds else f"no counters were imported as {name}"
                )
            return
        done = import_array(handles, meaning(file, mapping, name), file, offset, context.env)
    context.document(done)
    _show(context, done)


def meaning(file: Path | None, mapping: Path | None, name: str | None) -> ArrayMap:
    """The meaning of the columns, from the map; a collected file describes itself."""
    from controller.arrays.mapping import collected_map, read_map

    if mapping is not None:
        return read_map(mapping, name)
    assert file is not None
    return collected_map(file, name)


def _show(context: CommandContext, done: Imported) -> None:
    from controller.arrays.importing import shown

    context.say(
        f"{done.name}: {many(done.values, 'value')} of {many(done.columns, 'column')}, {shown(done.first)} to {shown(done.last)} UTC"
    )
    context.say(f"clock: {done.offset_s:+g} s added to the filer's times" if done.offset_s else "clock: not adjusted")
    if done.outside:
        context.say(f"omitted, outside the job's time: {many(done.outside, 'sample')}")
    for bad in done.bad[:BAD_SHOWN]:
        context.say(f"omitted: {bad}")
    if len(done.bad) > BAD_SHOWN:
        context.say(f"omitted: {many(len(done.bad) - BAD_SHOWN, 'more row')}")
