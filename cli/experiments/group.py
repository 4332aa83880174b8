"""`edbench experiment`: the group of commands."""

from __future__ import annotations

import typer

from cli.experiments.job_types import job_types
from cli.experiments.r1 import r1
from cli.experiments.studies import knee, scale_out, scale_up

# Every experiment with an example of its use.
EXPERIMENTS = (
    ("scale-up", scale_up, "edbench experiment scale-up --corpus c --workers 1,2,4 --repeats 5"),
    ("scale-out", scale_out, "edbench experiment scale-out --corpus c --databases 1,2 --workers 4"),
    ("knee", knee, "edbench experiment knee --corpus c --max-p99 read=20ms,write=40ms --filer titan"),
    ("job-types", job_types, "edbench experiment job-types --corpus c --workers 2 --repeats 5"),
    ("r1", r1, "edbench experiment r1 --scale 1/500 --repeats 5"),
)


def experiment_app() -> typer.Typer:
    """The group of commands."""
    app = typer.Typer(rich_markup_mode=None, help="Measure at several points, in random order, with a report.")
    for name, function, example in EXPERIMENTS:
        app.command(name, epilog=f"Example: {example}")(function)
    return app
