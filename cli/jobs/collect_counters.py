"""`edbench collect-counters`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.context import shared, writable_file
from core.errors import UsageError
from core.options.bounds import MOST_SECONDS

Kind = Annotated[
    str,
    typer.Argument(metavar="KIND", help="glusterfs, moosefs, glusterfs-mount or moosefs-mount: how its output is read"),
]
Command = Annotated[
    list[str],
    typer.Argument(metavar="-- COMMAND…", help="prints the counters; over ssh, where that is another machine"),
]
Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="where they go: a new file, a line a moment")]
Every = Annotated[float, typer.Option(min=0.1, max=3600, help="seconds from one question to the next")]
Seconds = Annotated[float | None, typer.Option(min=0.1, max=MOST_SECONDS, help="how long  [default: until Ctrl-C]")]
Name = Annotated[str | None, typer.Option(help="how the timeline calls it  [default: KIND]")]


def collect_counters(
    ctx: typer.Context,
    kind: Kind,
    command: Command,
    out: Out,
    every: Every = 1.0,
    seconds: Seconds = None,
    name: Name = None,
) -> None:
    """Ask a filer's own command for its counters, again and again, for `import-counters`.

    Begin before the job and end after it. The times are of this host's clock (docs/filer-counters.md).
    """
    from controller.arrays.collected import collect
    from controller.arrays.collectors import COLLECTORS
    from controller.arrays.mapping import array_name

    context = shared(ctx)
    if kind not in COLLECTORS:
        raise UsageError(f"KIND is {kind!r}; it can be {' or '.join(COLLECTORS)}")
    writable_file(out, "--out")
    called = array_name(name or kind)
    clock, began = context.clock, context.clock.monotonic_ns()
    due = began

    def wait() -> bool:
        """Until the next question; a late one does not make the others late. False: that was the last."""
        nonlocal due
        due += int(every * 1e9)
        if seconds is not None and due - began > seconds * 1e9:
            return False
        clock.sleep(max(0.0, (due - clock.monotonic_ns()) / 1e9))
        return True

    moments = 0
    try:
        with out.open("x", encoding="utf-8") as file:
            for _ in collect(kind, command, file, name=called, now=clock.now, wait=wait, say=context.say):
                moments += 1
    except UsageError:
        out.unlink(missing_ok=True)  # nothing was collected
        raise
    except FileExistsError as error:
        raise UsageError(f"--out {out} is there already; name a new file") from error
    except KeyboardInterrupt:
        pass  # how it ends, mostly
    context.say(f"{out}: {moments:,} moments of {called}")
