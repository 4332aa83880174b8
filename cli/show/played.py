"""What a replay's clients found, for people."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from cli.output import bytes_text, micros_text
from cli.show.table import table
from controller.jobs.rates import duration
from controller.replay.order import speed_text

_TIMES = ("response_p50_us", "response_p99_us", "service_p50_us", "service_p99_us")


def show_played(console: Console, played: dict[str, Any]) -> None:
    """One line for the whole, one for each op, one for each kind of call that ended otherwise than recorded."""
    clients = played["clients"]
    console.print(
        f"replayed at speed {speed_text(played['speed'])} with {clients} client{'s' if clients > 1 else ''}:"
        f" {played['calls_per_second']:,.0f} calls/s for {duration(played['elapsed_s'])},"
        f" prepared in {duration(played['prepared_s'])}",
        markup=False,
    )
    console.print()
    columns = ("call", "number", "bytes", "errors", "response p50 µs", "p99 µs", "service p50 µs", "p99 µs")
    rows = [
        (op, c["count"], bytes_text(c["bytes"]), c["errors"], *(micros_text(c[name]) for name in _TIMES))
        for op, c in played["calls"].items()
    ]
    console.print(table(columns, rows, right=range(1, 8)))
    for what, calls in played["differences"].items():
        console.print(f"not as recorded: {what}, {calls:,} times", markup=False)
