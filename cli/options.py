"""Options that several commands share, each with its help."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from core.errors import UsageError
from core.options.bounds import MOST_PASSWORDS, MOST_SECONDS
from core.settings import Settings, numbers, parse_bytes
from experiments.hosts import MOST_HOSTS

if TYPE_CHECKING:
    from experiments.hosts.wanted import Wanted

__all__ = ["numbers"]  # for the commands that know it from here

DEFAULT_WORKERS = 2
HOSTS_WAIT_S = 600.0
PORT = 8080  # of the web UI

OUTPUT = typer.Option("--output", "-o", help="Select the output format.")
TableOrJson = Annotated[Literal["table", "json"], OUTPUT]
TableOrLines = Annotated[Literal["table", "jsonl", "csv"], OUTPUT]
TableOrCsv = Annotated[Literal["table", "json", "csv"], OUTPUT]
SummaryOrLines = Annotated[Literal["table", "json", "jsonl", "csv"], OUTPUT]
CsvRaw = Annotated[
    bool, typer.Option("--csv-raw", help="With -o csv: do not put an apostrophe before what a spreadsheet runs.")
]

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
Workers = Annotated[
    int, typer.Option("--workers", min=1, max=512, help="Start this many workers (embedded services only).")
]
Slots = Annotated[
    int | None,
    typer.Option("--slots", min=1, max=64, help="Give each worker this many slots.  [default: EDBENCH_SLOTS or 4]"),
]
PlannedWorkers = Annotated[
    int | None, typer.Option("--workers", min=1, max=512, help="Start this many workers.  [default: as planned]")
]
PlannedSlots = Annotated[
    int | None, typer.Option("--slots", min=1, max=64, help="Give each worker this many slots.  [default: as planned]")
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="embedded|compose",
        help="Run on processes of this host, or on the containers of `make up`.  [default: EDBENCH_CLUSTER or embedded]",
    ),
]
Passwords = Annotated[
    Path | None,
    typer.Option(
        "--passwords",
        metavar="FILE",
        help=f"Try the passwords of FILE on encrypted items: one per line, UTF-8, at most {MOST_PASSWORDS:,}.",
    ),
]
Hosts = Annotated[
    int | None,
    typer.Option(
        "--hosts",
        metavar="N",
        min=1,
        max=MOST_HOSTS,
        help="Distribute the workers over N hosts that run `edbench worker join`.",
    ),
]
Listen = Annotated[
    str | None,
    typer.Option(
        "--listen", metavar="ADDRESS[:PORT]", help="With --hosts: listen on this address of this host.  [port: 6390]"
    ),
]
HostsWait = Annotated[
    float, typer.Option("--hosts-wait", min=1, max=MOST_SECONDS, help="Wait this many seconds for the hosts to join.")
]
Serve = Annotated[bool, typer.Option("--serve", help="Serve the web UI on the loopback address during the run.")]
ServePort = Annotated[
    int,
    typer.Option("--serve-port", min=0, max=65_535, help="Serve the web UI on this port; 0: any free one."),
]


def hosts_wanted(hosts: int | None, listen: str | None, seconds: float) -> Wanted | None:
    """The hosts of --hosts, --listen and --hosts-wait; None: this host alone. Raises UsageError."""
    if hosts is None:
        if listen is not None:
            raise UsageError("--listen requires --hosts: add --hosts N, the number of hosts that join")
        return None
    if listen is None:
        raise UsageError("--hosts requires --listen: an address of this host that the others reach, such as 10.0.0.1")

    from experiments.hosts.meeting import parse_listen  # brings the broker's client
    from experiments.hosts.wanted import Wanted

    address, port = parse_listen(listen)
    return Wanted(hosts=hosts, address=address, port=port, seconds=seconds)


def declared_cache(text: str | None, settings: Settings) -> int | None:
    """Bytes of --filer-cache, else of EDBENCH_FILER_CACHE; None: not declared. Raises UsageError."""
    return settings.filer_cache if text is None else parse_bytes(text, "--filer-cache")


def given_seed(seed: int | None) -> int:
    """That of the command line, or a new one."""
    return secrets.randbelow(1_000_000) if seed is None else seed


def given(ctx: typer.Context, option: str) -> bool:
    """Whether an option is on the command line."""
    source = ctx.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"
