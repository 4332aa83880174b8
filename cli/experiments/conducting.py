"""What the commands of `edbench experiment` do: the plan of each, carried out and shown."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cli.answering import await_answer
from cli.beside import site_shown
from cli.context import CommandContext, shared
from cli.jobs.live import progress_display
from cli.options import declared_cache, hosts_wanted
from cli.show.study import show_study, show_warnings
from controller.cluster.base import COMPOSE, chosen_cluster
from controller.jobs.jobs import prepare_source
from controller.jobs.orders import DiscoveryOrder
from core.errors import UsageError
from core.operations import NullRecorder
from core.options.dates import checked_zone
from core.passwords import read_bank
from core.records import JobOptions
from core.settings import Settings, parse_bytes
from core.storage.layer import Storage
from experiments.kinds.kind import Kind
from experiments.kinds.knee import KneeSearch, parse_bounds
from experiments.kinds.scale_out import scale_out
from experiments.kinds.scale_up import scale_up
from experiments.package.finish import finish
from experiments.result.schema import Result
from experiments.study import conduct
from experiments.workloads.discovery import ABOUT
from experiments.workloads.discovery.embedded_site import EmbeddedSite
from experiments.workloads.discovery.result import PointSpec
from experiments.workloads.discovery.run_point import Load
from experiments.workloads.discovery.site import Site
from experiments.workloads.discovery.workload import Discovery

if TYPE_CHECKING:
    from cli.experiments.studies import Study


def more_workers(settings: Settings, counts: Sequence[int], study: Study, seed: int) -> Kind:
    """Points of so many workers on one database."""
    return scale_up(PointSpec(1, 1, settings.slots), counts, repeats=study.repeats, seed=seed)


def more_databases(settings: Settings, counts: Sequence[int], workers: int, study: Study, seed: int) -> Kind:
    """Points of so many databases with the same workers."""
    return scale_out(PointSpec(1, workers, settings.slots), counts, repeats=study.repeats, seed=seed)


def search(settings: Settings, max_p99: str, most: int, study: Study) -> Kind:
    """The largest load within bounds; raises UsageError for bounds that are none."""
    bounds, base = parse_bounds(max_p99), PointSpec(1, 1, settings.slots)
    return KneeSearch(base, "workers", bounds, most=most, repeats=study.repeats, rate=ABOUT.rate)


def carry_out(
    ctx: typer.Context,
    settings: Settings,
    corpus: Path,
    plan: Kind,
    study: Study,
    order: DiscoveryOrder,
    copies: bool = False,
    options: JobOptions | None = None,
    brief: bool = False,
) -> tuple[Result, Path]:
    """Run it, with progress, and print the result, of which only the verdict where it is to be `brief`; gives it, and the path
    of its report. `options`: those that no order has. Raises what `conduct` does."""
    context = shared(ctx)
    bank = read_bank(study.passwords) if study.passwords else None
    cache = declared_cache(study.filer_cache, settings)
    cap = None if study.null_memory is None else parse_bytes(study.null_memory, "--null-memory")
    await_answer(settings.storage, corpus)
    source = prepare_source(Storage(NullRecorder()), corpus)
    with progress_display(context.err) as display:
        load = Load(
            options=dataclasses.replace(
                options or JobOptions(),
                single_pass=order.single_pass,
                index_streams=order.index_streams,
                time_zone=checked_zone(order.time_zone),
                fsync=order.fsync,
                layout=order.layout,
            ),
            passwords=bank,
            shard=order.shard,
            copies=copies,
            cold=study.cold,
            env=context.env,
            clock=context.clock,
            show=display.show,
            say=lambda line: context.err.print(line, markup=False),
        )
        site, settings = _site(context, settings, corpus, load.say, study)
        with site_shown(context, site, settings, study.serve_port if study.serve else None) as shown:
            discovery = Discovery(settings, source, load, shown, filer_cache=cache, null_cap=cap)
            result, directory = conduct(discovery, plan, study.min_seconds)
    if brief:
        context.out.print(result.verdict, markup=False, soft_wrap=True)
    else:
        show_study(context.out, result)
        show_warnings(context.out, result)
    return result, finish(result, directory)


def _site(
    context: CommandContext, settings: Settings, corpus: Path, say: Callable[[str], None], study: Study
) -> tuple[Site, Settings]:
    """Where the runs take place, and settings without services: a run gets its own."""
    wanted = hosts_wanted(study.hosts, study.listen, study.hosts_wait)
    embedded = chosen_cluster(context.env, study.cluster) != COMPOSE
    if wanted is not None:
        if not embedded:
            raise UsageError(
                "--hosts and --cluster compose exclude each other: hosts that joined run no containers of ours"
            )

        from experiments.workloads.discovery.hosts_site import HostsSite  # brings the broker's client

        return HostsSite(settings, corpus.absolute(), wanted, say), settings
    if embedded or context.env.get("EDBENCH_DATABASES"):
        return EmbeddedSite(), settings

    from experiments.workloads.discovery.compose_site import ComposeSite  # brings the engine's client

    alone = dataclasses.replace(settings, databases=(), broker=None)
    return ComposeSite(settings, corpus, context.env, say), alone
