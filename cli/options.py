"""Options that several commands share, each with its help."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer

from core import texts
from core.options import MOST_OFFSET, MOST_PASSWORDS, MOST_SECONDS
from core.settings import Settings, numbers, parse_bytes

__all__ = ["numbers"]  # commands import it from here

DEFAULT_WORKERS = 2
PORT = 8080  # of the web UI

JOB = "id of a job or group, an unambiguous prefix of it, or `last`"
JobArgument = Annotated[str, typer.Argument(metavar="JOB", help=JOB)]
JobArguments = Annotated[
    list[str], typer.Argument(metavar="JOB...", help="ids of jobs or groups, unambiguous prefixes, or `last`")
]
StorageRoot = Annotated[
    Path | None,
    typer.Option("--storage", metavar="DIR", help="Use this storage root.  [default: EDBENCH_STORAGE]"),
]
# readable=False: prepare_source reports whether it can be read, and what to do.
Source = Annotated[
    Path,
    typer.Argument(metavar="DIR", readable=False, help="a corpus, or any directory with one directory per custodian"),
]
Corpus = Annotated[
    Path, typer.Option("--corpus", metavar="DIR", help="Discover this corpus, or any directory of custodians.")
]
Workers = Annotated[int, typer.Option("--workers", min=1, max=512, help=texts.WORKERS)]
Slots = Annotated[
    int | None,
    typer.Option("--slots", min=1, max=64, help=f"{texts.SLOTS}  [default: EDBENCH_SLOTS or 4]"),
]
PlannedWorkers = Annotated[
    int | None, typer.Option("--workers", min=1, max=512, help=f"{texts.WORKERS}  [default: as planned]")
]
PlannedSlots = Annotated[
    int | None, typer.Option("--slots", min=1, max=64, help=f"{texts.SLOTS}  [default: as planned]")
]
Limit = Annotated[int, typer.Option("--limit", min=1, max=100_000, help="Show at most N.", metavar="N")]
Processes = Annotated[int | None, typer.Option("--processes", min=1, max=256, help=texts.PROCESSES)]
Passwords = Annotated[
    Path | None,
    typer.Option(
        "--passwords",
        metavar="FILE",
        help=f"Try the passwords of FILE on encrypted items: one per line, UTF-8, at most {MOST_PASSWORDS:,}.",
    ),
]
Listen = Annotated[
    str | None,
    typer.Option(
        "--listen",
        metavar="ADDRESS",
        help="Start databases and broker at this address of this host, and wait for `edbench worker --join` on others.",
    ),
]
Wait = Annotated[
    float | None,
    typer.Option(
        "--wait",
        metavar="S",
        min=0,
        max=MOST_SECONDS,
        help="Wait this many seconds for workers and for jobs to end.  [default: 15, with --listen 600]",
    ),
]
ArrayFile = Annotated[
    Path | None,
    typer.Option(
        "--array",
        metavar="FILE",
        help="Add the array's own counters to each run: a file that `edbench counters collect` is writing, or a CSV "
        "file.",
    ),
]
ArrayMapFile = Annotated[
    Path | None,
    typer.Option("--array-map", metavar="MAP.toml", help="Describe the CSV's columns, or queries to Prometheus."),
]
ArrayOffset = Annotated[
    float,
    typer.Option(
        "--array-offset",
        metavar="SECONDS",
        min=-MOST_OFFSET,
        max=MOST_OFFSET,
        help="Add SECONDS to the array's times: this host's clock minus the array's clock.",
    ),
]
Serve = Annotated[bool, typer.Option("--serve", help="Serve the web UI on the loopback address during the run.")]
ServePort = Annotated[
    int,
    typer.Option("--serve-port", min=0, max=65_535, help="Serve the web UI on this port; 0: any free one."),
]


def declared_cache(text: str | None, settings: Settings) -> int | None:
    """Bytes of --filer-cache, else of EDBENCH_FILER_CACHE; None: neither is set. Raises UsageError."""
    return settings.filer_cache if text is None else parse_bytes(text, "--filer-cache")


def given_seed(seed: int | None) -> int:
    """The seed of the command line, or a new one."""
    return secrets.randbelow(1_000_000) if seed is None else seed


def given(ctx: typer.Context, option: str) -> bool:
    """Whether an option is on the command line."""
    source = ctx.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"
