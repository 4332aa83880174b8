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
from cli.taking import taking
from experiments.replay_orders import PredictOrder

From = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="RESULT",
        help="result of a scale-up, or of job-types, with two numbers of workers to calibrate on  [default: the reference"
        " calibration, of a discovery]",
    ),
]


@taking()
def predict(
    ctx: typer.Context,
    *,
    order: PredictOrder,
    site: SiteFile = None,
    from_: From = None,
    json_file: opt.JsonFile = None,
) -> None:
    """Predict elapsed time and GB/hour for more workers, more databases, another filer or a site, and what limits each.

    A simulation of the job, of whichever type, calibrated on a result with 1 and 2 workers; each figure has a 90 % interval,
    but for a site without a result of any (docs/capacity-model.md). Then in words: from how many workers on the filer is the limit, and what helps most.
    """
    context = shared(ctx)
    writable_file(json_file, "--json")

    from cli.show.prediction import show_prediction  # the model is slow to come
    from cli.show.step import step_told
    from experiments.capacity.forecast import Wish, forecast
    from experiments.kinds.grid import checked

    wish = Wish(
        workers=checked(numbers(order.workers, "--workers"), "--workers"),
        databases=checked(numbers(order.databases, "--databases"), "--databases"),
        filer=order.filer,
        site=site,
        result=from_,
        slots=order.slots,
        raw_gb=order.raw_gb,
        index_streams=order.index_streams,
        shard=order.shard,
        one_host=order.one_host,
        job_type=order.job_type,
    )
    with step_told(context.err) as say:
        prediction = forecast(wish, say)
    if json_file is not None:
        write_json(json_file, prediction.document().to_json())
    show_prediction(context.out, prediction)
