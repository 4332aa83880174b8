"""`edbench bench plan`: the requirements of a measurement."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli import options as opt
from cli.context import CommandContext, shared
from cli.output import await_answer, print_lines, table
from cli.tree import Commands
from core import texts
from core.document import Order
from core.errors import UsageError
from core.settings import Settings, parse_bytes
from experiments.orders import DEFAULT_REPEATS, FilerCache, Repeats, Slots

if TYPE_CHECKING:
    from rich.console import Console

    from experiments.sizing import Rates, Sizing, Wish

commands = Commands()

SCALE, SEED = 0.004, 1  # of the corpus for the measurement: 180 MB


class PlanOrder(Order):
    """The options of a plan."""

    hours: Annotated[float, typer.Option(min=0.1, max=10_000, help="Fit everything into this many hours.")] = 4.0
    client_memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Assume this memory of all clients together, such as 128GB.  [default: of this host]"
        ),
    ] = None
    filer_cache: FilerCache = None
    workers: Annotated[
        str | None,
        typer.Option(metavar="N,N,…", help=f"{texts.WORKERS}  [default: 1,2,4 … up to the cores, as time allows]"),
    ] = None
    repeats: Repeats = DEFAULT_REPEATS
    from_: Annotated[
        Path | None,
        typer.Option("--from", metavar="RESULT", help=f"{texts.FROM}  [default: a short scale-up is measured]"),
    ] = None
    slots: Slots = None
    storage: opt.StorageRoot = None


@commands.add("plan", "edbench bench plan --filer-cache 32GB --client-memory 128GB --hours 4")
def plan(ctx: typer.Context, *, order: PlanOrder) -> None:
    """Plan a measurement: corpus, workers, repeats, time, commands.

    The corpus is large enough that no point is labelled CACHED or SHORT. The rates come from a result (--from), or from
    a short scale-up on the storage. A plan that does not fit into the time is refused in one line
    (docs/afternoon.md)."""
    context = shared(ctx)
    settings = context.settings(storage=order.storage, slots=order.slots)
    cache = opt.declared_cache(order.filer_cache, settings)
    if cache is None:
        raise UsageError(
            "the size of the filer's cache is unknown: give --filer-cache, such as 32GB (0B: none), or "
            "EDBENCH_FILER_CACHE"
        )
    memory = None if order.client_memory is None else parse_bytes(order.client_memory, "--client-memory")
    counts = None if order.workers is None else opt.numbers(order.workers, "--workers")

    from dataset_gen.profile import load_profile
    from experiments.kinds import checked
    from experiments.sizing import PROFILE, Wish, document, refuse_room, size_study
    from monitoring.machine import client_memory as memory_here

    wish = Wish(
        client_memory=memory_here() if memory is None else memory,
        filer_cache=cache,
        hours=order.hours,
        workers=None if counts is None else checked(counts, "--workers"),
        repeats=order.repeats,
    )
    rates = _rates_of(order.from_) if order.from_ is not None else _rates_here(context, settings, wish)
    sizing = size_study(wish, rates, load_profile(PROFILE))
    refuse_room(sizing, settings.storage)
    context.document(document(sizing, settings))
    show_sizing(context.people, sizing, settings)


def _rates_of(path: Path) -> Rates:
    """The rates of a result. Raises UsageError."""
    from experiments.result.codec import read_result
    from experiments.sizing import rates_of
    from experiments.workloads.discovery.result import of_discovery

    return rates_of(of_discovery(read_result(path)), str(path))


def _rates_here(context: CommandContext, settings: Settings, wish: Wish) -> Rates:
    """The rates of the fewest and the most workers that may be planned, measured once each over a small corpus, which
    is generated below the storage root if it does not exist. Raises as `conduct`."""
    from cli.bench import Study, carry_out
    from cli.corpus import reporter, usable_cores
    from controller.jobs.orders import DiscoveryOrder
    from dataset_gen.corpus import generate_corpus
    from experiments.kinds import sweep
    from experiments.package.check import finish
    from experiments.sizing import PROFILE, ranges, rates_of
    from experiments.workloads.discovery.result import PointSpec, of_discovery
    from monitoring.machine import processors

    counts = wish.workers or ranges(processors())[0]
    await_answer(settings.storage)
    corpus = settings.storage / "corpora" / f"plan-{SCALE:g}-seed-{SEED}"
    if not (corpus / "dataset.json").exists():
        with reporter(context.err, context.clock, "generating") as report:
            generate_corpus(corpus, PROFILE, SCALE, SEED, usable_cores(), report)
    study = Study(repeats=1, filer_cache=f"{wish.filer_cache}B")
    points = sorted({counts[0], counts[-1]})
    plan = sweep(
        [PointSpec(1, 1, settings.slots)], "workers", points, repeats=study.repeats, seed=SEED, name="scale-up"
    )
    context.say("measuring for some minutes; these figures are not a result about the storage:")
    result, directory = carry_out(context, settings, corpus, plan, study, DiscoveryOrder())
    print_lines(context.err, result.verdict)
    finish(result, directory)
    return rates_of(of_discovery(result), str(directory))


def show_sizing(console: Console, sizing: Sizing, settings: Settings) -> None:
    """Print lines, the table of time, and more lines."""
    from experiments.report.words import count, many, seconds, size
    from experiments.sizing import MISSED, SPARE
    from experiments.sizing import commands as typed

    rates = sizing.rates
    measured = "; ".join(
        f"{rate.gb_per_hour:,.1f} GB/hour with {many(rate.workers, 'worker')}" for rate in rates.measured
    )
    print_lines(
        console,
        f"measured: {measured}, over {size(rates.discovered_bytes)} discovered ({rates.source})",
        *(f"  label: {label}" for label in rates.labels),
        f"needed: {size(sizing.needed_bytes)} discovered: {sizing.why}",
        (
            f"corpus: scale {sizing.scale:g}, {size(sizing.raw_bytes)} raw, {size(sizing.discovered_bytes)} "
            f"discovered, {count(sizing.items)} items (actual corpora differ by up to {MISSED:.0%}; the plan allows "
            "for it)"
        ).replace("%", " %"),
        f"workers {', '.join(map(str, sizing.workers))} of {many(rates.slots, 'slot')}, {many(sizing.wish.repeats, 'repeat')};"
        f" the shortest run takes {seconds(sizing.shortest_s)} or longer",
        *(f"note: {note}" for note in sizing.notes),
        "",
    )
    rows = [(part.what, part.times, seconds(part.each_s), seconds(part.seconds)) for part in sizing.parts]
    console.print(
        table(
            ("time", "times", "each", "together"),
            [*rows, ("total", "", "", seconds(sizing.seconds))],
            right=(1, 2, 3),
        )
    )
    print_lines(
        console,
        f"\nof {sizing.wish.hours:g} hours, {SPARE:.0%} are reserve".replace("%", " %"),
        f"room: {size(sizing.room_bytes)} on the storage (corpus, items and index of one run, rounded up to blocks)",
        "",
        *typed(sizing, settings),
    )
