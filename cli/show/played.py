"""What a replay's clients found, for people."""

from __future__ import annotations

from rich.console import Console

from cli.output import bytes_text, micros_text
from cli.show.table import table
from controller.jobs.rates import duration
from controller.replay.outcome import Played, PlayedTimes


def show_played(console: Console, played: Played) -> None:
    """One line for the whole, one for each op, one for each kind of call that ended otherwise than recorded."""
    console.print(
        f"replayed at pace {played.pace} with {played.clients} client{'s' if played.clients > 1 else ''}:"
        f" {played.calls_per_second:,.0f} calls/s for {duration(played.elapsed_s)},"
        f" prepared in {duration(played.prepared_s)}",
        markup=False,
    )
    console.print()
    columns = ("call", "number", "bytes", "errors", "response p50 µs", "p99 µs", "service p50 µs", "p99 µs")
    rows: list[tuple[object, ...]] = []
    for op, c in played.calls.items():
        rows.append((op, c.count, bytes_text(c.bytes), c.errors, *map(micros_text, _times(c))))
        rows += [(f"  {size}", of.count, "", "", *map(micros_text, _times(of))) for size, of in c.sizes.items()]
    console.print(table(columns, rows, right=range(1, 8)))
    for what, calls in played.differences.items():
        console.print(f"not as recorded: {what}, {calls:,} times", markup=False)


def _times(of: PlayedTimes) -> tuple[float, ...]:
    return of.response_p50_us, of.response_p99_us, of.service_p50_us, of.service_p99_us
