"""A sizing for people: what it stands on, what to do, how long it takes, what to type."""

from __future__ import annotations

from rich.console import Console

from cli.show.table import table
from core.settings import Settings
from experiments.report.words import count, many, seconds, size
from experiments.sizing.sizing import MISSED, SPARE, Sizing
from experiments.sizing.steps import commands


def show_sizing(console: Console, sizing: Sizing, settings: Settings) -> None:
    """Lines, the table of time, lines again."""
    rates = sizing.rates
    measured = "; ".join(
        f"{rate.gb_per_hour:,.1f} GB/hour with {many(rate.workers, 'worker')}" for rate in rates.measured
    )
    lines = [
        f"measured: {measured}, over {size(rates.discovered_bytes)} discovered ({rates.source})",
        *(f"  it is labelled: {label}" for label in rates.labels),
        f"needed: {size(sizing.needed_bytes)} discovered: {sizing.why}",
        f"corpus: scale {sizing.scale:g}, {size(sizing.raw_bytes)} raw, {size(sizing.discovered_bytes)} discovered,"
        f" {count(sizing.items)} items (a corpus may miss that by {MISSED:.0%}, which is allowed for)".replace(
            "%", " %"
        ),
        f"workers {', '.join(map(str, sizing.workers))} of {many(rates.slots, 'slot')}, {many(sizing.repeats, 'repeat')};"
        f" the shortest run takes {seconds(sizing.shortest_s)} or longer",
        *(f"note: {note}" for note in sizing.notes),
    ]
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)
    console.print()
    rows = [(part.what, part.times, seconds(part.each_s), seconds(part.seconds)) for part in sizing.parts]
    console.print(
        table(
            ("time", "times", "each", "together"),
            [*rows, ("all of it", "", "", seconds(sizing.seconds))],
            right=(1, 2, 3),
        )
    )
    console.print(
        f"\nof {sizing.wish.hours:g} hours {SPARE:.0%} are left for what is not counted".replace("%", " %"),
        f"room: {size(sizing.room_bytes)} on the storage (corpus, one run's items and index; its blocks round up)",
        "",
        *commands(sizing, settings),
        sep="\n",
        markup=False,
        soft_wrap=True,
    )
