"""`edbench plan`: what may be asked for. experiments.sizing answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli import options as opt
from cli.context import shared, with_options, writable_file
from cli.options import declared_cache, numbers
from cli.output import write_json
from core.errors import UsageError

Hours = Annotated[float, typer.Option(min=0.1, max=10_000, help="that there are, from the first command to the last")]
ClientMemory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE", help="of all clients together, such as 128GB  [default: what this one may cache files in]"
    ),
]
FilerCache = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE", help="what the filer can cache, such as 32GB; 0B: nothing  [default: EDBENCH_FILER_CACHE]"
    ),
]
Workers = Annotated[
    str | None,
    typer.Option(
        metavar="N,N,…", help="the points  [default: 1,2,4 … up to the processors, as many as there is time for]"
    ),
]
Repeats = Annotated[
    int | None, typer.Option(min=1, max=100, help="of each point  [default: 6 where there is time, else 5]")
]
From = Annotated[
    Path | None,
    typer.Option(
        "--from", metavar="RESULT", help="a scale-up whose rates are taken  [default: a short one is made now]"
    ),
]


def plan(
    ctx: typer.Context,
    hours: Hours = 4.0,
    client_memory: ClientMemory = None,
    filer_cache: FilerCache = None,
    workers: Workers = None,
    repeats: Repeats = None,
    from_: From = None,
    slots: opt.Slots = None,
    storage: opt.StorageRoot = None,
    json_file: opt.JsonFile = None,
) -> None:
    """Say how large a corpus, how many workers and repeats a filer test needs, how long it takes, and what to type.

    The corpus is so large that nothing is CACHED or SHORT. Rates are those of a result (--from), or of a short scale-up
    that is made on the storage first. What cannot be done in the time is refused in one line (docs/afternoon.md).
    """
    from core.settings import parse_bytes

    context = shared(ctx)
    writable_file(json_file, "--json")
    settings = with_options(context.settings(None), storage=storage, slots=slots, engine=None)
    cache = declared_cache(filer_cache, settings)
    if cache is None:
        raise UsageError(
            "say what the filer can cache: --filer-cache, such as 32GB (0B: nothing), or EDBENCH_FILER_CACHE"
        )
    memory = None if client_memory is None else parse_bytes(client_memory, "--client-memory")
    counts = None if workers is None else numbers(workers, "--workers")

    from cli.experiments.measuring import rates_here, rates_there  # slow to come
    from cli.show.sizing import show_sizing
    from core.memory import client_memory as memory_here
    from dataset_gen.profile import load_profile
    from experiments.kinds.grid import checked
    from experiments.sizing.sizing import PROFILE, Wish, refuse_room, size_study
    from experiments.sizing.steps import document

    wish = Wish(
        client_memory=memory_here() if memory is None else memory,
        filer_cache=cache,
        hours=hours,
        workers=None if counts is None else checked(counts, "--workers"),
        repeats=repeats,
    )
    rates = rates_there(from_) if from_ is not None else rates_here(ctx, settings, wish)
    sizing = size_study(wish, rates, load_profile(PROFILE))
    refuse_room(sizing, settings.storage)
    if json_file is not None:
        write_json(json_file, document(sizing, settings).to_json())
    show_sizing(context.out, sizing, settings)
