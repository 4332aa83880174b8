"""`edbench predict`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli import options as opt
from cli.context import shared, writable_file
from cli.options import numbers
from cli.output import write_json
from cli.site_option import SiteFile
from core.options.production import JobType
from experiments.capacity import DEFAULT_RAW_GB

DEFAULT_WORKERS = "10,30,100"
DEFAULT_DATABASES = "1,2,4"

From = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="RESULT",
        help="result of a scale-up, or of job-types, with two numbers of workers to calibrate on  [default: the reference"
        " calibration, of a discovery]",
    ),
]
Filer = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="the filer asked about: a profile, or a file in TOML  [default: the calibration's]"
    ),
]
Streams = Annotated[
    int | None,
    typer.Option(
        min=0, max=512, help="tasks of phase index at a time, of each job; 0: no limit  [default: the calibration's]"
    ),
]
RawGb = Annotated[
    float | None,
    typer.Option(
        "--raw-gb",
        min=0.0001,
        help=f"size of the data set, of the calibration's kind  [default: {DEFAULT_RAW_GB:g}; of a site's data its part]",
    ),
]
Type = Annotated[
    JobType, typer.Option("--job-type", help="what kind of job is asked about; needs --from but for discovery")
]
OneHost = Annotated[
    bool,
    typer.Option(
        "--one-host", help="everything shares the calibration's processors; else each worker and server has its own"
    ),
]
Slots = Annotated[
    int | None,
    typer.Option(min=1, max=64, help="slots of each worker  [default: the calibration's; with --site 4]"),
]


def predict(
    ctx: typer.Context,
    workers: Annotated[str, typer.Option(metavar="N,N,…", help="numbers of workers")] = DEFAULT_WORKERS,
    databases: Annotated[str, typer.Option(metavar="N,N,…", help="numbers of database servers")] = DEFAULT_DATABASES,
    filer: Filer = None,
    site: SiteFile = None,
    from_: From = None,
    job_type: Type = JobType.DISCOVERY,
    slots: Slots = None,
    raw_gb: RawGb = None,
    index_streams: Streams = None,
    shard: opt.Shard = False,
    one_host: OneHost = False,
    json_file: opt.JsonFile = None,
) -> None:
    """Predict elapsed time and GB/hour for more workers, more databases, another filer or a site, and what limits each.

    A simulation of the job, of whichever type, calibrated on a result with 1 and 2 workers; each figure has a 90 % interval
    (docs/capacity-model.md). Then in words: from how many workers on the filer is the limit, and what helps most.
    """
    context = shared(ctx)
    writable_file(json_file, "--json")

    from cli.show.prediction import show_prediction  # the model is slow to come
    from experiments.capacity.forecast import Wish, forecast
    from experiments.kinds.grid import checked

    prediction = forecast(
        Wish(
            workers=checked(numbers(workers, "--workers"), "--workers"),
            databases=checked(numbers(databases, "--databases"), "--databases"),
            filer=filer,
            site=site,
            result=from_,
            slots=slots,
            raw_gb=raw_gb,
            index_streams=index_streams,
            shard=shard,
            one_host=one_host,
            job_type=job_type,
        )
    )
    if json_file is not None:
        write_json(json_file, prediction.document().to_json())
    show_prediction(context.out, prediction)
