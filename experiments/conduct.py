"""Carries out an experiment from the first look to the written result."""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from typing import Any

from controller.jobs.source import refuse_own_output
from controller.observe.place_kind import read_mounts, storage_label
from core.clock import Clock
from core.errors import StorageFault, UsageError
from core.filer import load_filer
from experiments import conditions as said
from experiments.base import Experiment, Findings
from experiments.cold import NOT_DROPPED, ONE_KERNEL, cache_state
from experiments.corpus import Corpus, look_at
from experiments.laboratory import Laboratory, Notes, Order, null_or_reason
from experiments.null_storage import PLACE
from experiments.result import SCHEMA, Point, Result, Run, write_result
from experiments.site import Machine
from experiments.statistics import METHOD, estimate
from experiments.verdict import Caches, labels_of, limits_of, verdict_of, warnings_of

RESULTS = "results"


def conduct(experiment: Experiment, order: Order) -> tuple[Result, Path]:
    """Run it and write `result.json`; the result and its directory, `<storage>/results/<run>`.

    Raises UsageError when it cannot be done as asked, SystemFault, RunFailed, Interrupted; nothing is written then.
    """
    settings = order.settings
    if not settings.embedded:
        raise UsageError(
            "an experiment starts databases and workers of its own for every run;"
            " unset EDBENCH_DATABASES and EDBENCH_BROKER, and run it on the host, not in a container"
        )
    refuse_own_output(order.source, settings)
    load_filer(settings.filer)  # it is there and makes sense
    try:
        settings.storage.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageFault(f"storage root {settings.storage}: {error.strerror}", errno=error.errno or 0) from error
    corpus = look_at(order.source)
    run_id = _run_id(experiment.kind, order.load.clock)
    try:
        points = experiment.prepare()
        with (
            order.site.taken() as machine,
            null_or_reason(corpus, points, order.load, order.site) as (null, no_pair),
        ):
            laboratory = Laboratory(order, run_id, null, machine)
            laboratory.notes.no_pair = no_pair
            findings = experiment.run(laboratory)
    finally:
        experiment.clean_up()
    result = _result(experiment.kind, run_id, order, corpus, findings, laboratory.notes, machine)
    directory = settings.storage / RESULTS / run_id
    write_result(result, directory)
    return result, directory


def _run_id(kind: str, clock: Clock) -> str:
    return f"{kind}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(clock.now()))}-{uuid.uuid4().hex[:6]}"


def points_of(findings: Findings) -> tuple[Point, ...]:
    """The points in order, with medians, intervals and whether the generator was the limit."""
    out = []
    for spec in sorted(findings.runs):
        runs = tuple(findings.runs[spec])
        limits = limits_of(runs)
        null = [run.null_elapsed_s for run in runs if run.null_elapsed_s is not None]
        out.append(
            Point(
                workers=spec.workers,
                slots=spec.slots,
                databases=spec.databases,
                repeats=runs,
                elapsed_s=estimate([run.elapsed_s for run in runs]),
                gb_per_hour_raw=estimate([run.gb_per_hour_raw for run in runs]),
                gb_per_hour_discovered=estimate([run.gb_per_hour_discovered for run in runs]),
                null_elapsed_s=estimate(null) if null else None,
                limited=bool(limits),
                limits=limits,
            )
        )
    return tuple(out)


def _result(
    kind: str, run_id: str, order: Order, corpus: Corpus, findings: Findings, notes: Notes, machine: Machine
) -> Result:
    points = points_of(findings)
    filer = load_filer(order.settings.filer)
    caches = Caches(client_bytes=machine.memory_bytes, filer_bytes=order.filer_cache)
    labels = labels_of(points, emulated=filer.choice.label if filer else None, cached=caches.hold(points))
    where = storage_label(order.settings.storage, read_mounts())
    return Result(
        schema=SCHEMA,
        kind=kind,
        run_id=run_id,
        created=order.load.clock.now(),
        verdict=verdict_of(kind, points, labels, where, findings.knee),
        labels=labels,
        warnings=warnings_of(points, no_pair=notes.no_pair, missed=notes.missed),
        conditions=_conditions(order, corpus, points[0].repeats[0], caches, notes, machine),
        points=points,
        knee=findings.knee,
    )


def _conditions(
    order: Order, corpus: Corpus, run: Run, caches: Caches, notes: Notes, machine: Machine
) -> dict[str, Any]:
    settings, load = order.settings, order.load
    filer = load_filer(settings.filer)
    config = said.configuration(
        settings,
        load.options,
        filer,
        cluster=order.site.cluster,
        cold=load.cold,
        shard=load.shard,
        copies=load.copies,
    )
    return {
        "configuration": config,
        "configuration_hash": said.configuration_hash(config),
        "corpus": corpus.describe(),
        "expansion": run.result["expansion"],
        "items_per_gb_raw": run.result["items_per_gb_raw"],
        "cache": {
            "state": cache_state(notes.drops, asked=load.cold),
            "client_memory_bytes": caches.client_bytes,
            "filer_cache_bytes": caches.filer_bytes,
            "drops": [drop.to_json() for drop in notes.drops],
            "not_dropped": NOT_DROPPED if load.cold else "nothing was dropped",
            "index_batches": ONE_KERNEL,
        },
        "storage": said.place(settings.storage),
        "source": said.place(corpus.root),
        "databases": notes.databases,
        "emulated_filer": said.emulated(filer),
        "null_storage": {"paired": notes.no_pair is None, "place": str(PLACE), "why_not": notes.no_pair},
        "hosts": machine.hosts,
        "versions": notes.versions,
        "clock_offset_s": notes.offsets,  # by run: the database's clock less this host's
        "samples_missed": notes.missed,
        "order": order.order,
        "statistics": METHOD,
        "fresh": order.site.fresh,
        "latencies": "closed-loop: a slot makes its next call after the last has returned",
    }
