"""Options that commands share, and the many of `discover`, each with its help."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from core.errors import UsageError
from core.options.bounds import MOST_SECONDS
from core.settings import Settings, numbers, parse_bytes
from experiments.hosts import MOST_HOSTS

if TYPE_CHECKING:
    from experiments.hosts.wanted import Wanted

__all__ = ["numbers"]  # for the commands that know it from here

JobArgument = Annotated[
    str, typer.Argument(metavar="JOB", help="id of a job or group, an unambiguous beginning of it, or `last`")
]
JsonFile = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="write the result there")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]
StorageRoot = Annotated[
    Path | None, typer.Option(metavar="DIR", help="storage root of the job  [default: EDBENCH_STORAGE]")
]

# readable=False: whether it can be read is said by prepare_source, with what to do.
Source = Annotated[
    Path, typer.Argument(metavar="DIR", readable=False, help="a corpus, or any directory of custodians' directories")
]
Workers = Annotated[int, typer.Option(min=1, max=512, help="worker processes to start (embedded services only)")]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="embedded, or compose: the containers that `make up` started  [default: EDBENCH_CLUSTER or embedded]",
    ),
]
HOSTS_WAIT_S = 600.0
Hosts = Annotated[
    int | None,
    typer.Option(
        "--hosts",
        metavar="N",
        min=1,
        max=MOST_HOSTS,
        help="deal the workers out over so many hosts that joined (docs/hosts.md)",
    ),
]
Listen = Annotated[
    str | None,
    typer.Option(
        "--listen", metavar="ADDRESS[:PORT]", help="of this host, where the hosts reach it; port 6390 unless said"
    ),
]
HostsWait = Annotated[
    float, typer.Option("--hosts-wait", min=1, max=MOST_SECONDS, help="seconds that the hosts are waited for")
]
Slots = Annotated[int | None, typer.Option(min=1, max=64, help="slots of each worker  [default: EDBENCH_SLOTS or 4]")]
PlannedWorkers = Annotated[
    int | None, typer.Option(min=1, max=512, help="worker processes to start  [default: as planned]")
]
PlannedSlots = Annotated[int | None, typer.Option(min=1, max=64, help="slots of each  [default: as planned]")]
Serve = Annotated[bool, typer.Option("--serve", help="show the page on loopback while it runs")]
ServePort = Annotated[int, typer.Option("--serve-port", min=0, max=65_535, help="of that page; 0: any that is free")]


def hosts_wanted(hosts: int | None, listen: str | None, seconds: float) -> Wanted | None:
    """What --hosts, --listen and --hosts-wait ask for; None: this host alone. Raises UsageError."""
    if hosts is None:
        if listen is not None:
            raise UsageError("--listen is of --hosts")
        return None
    if listen is None:
        raise UsageError("--hosts needs --listen: an address of this host that the others reach, such as 10.0.0.1")

    from experiments.hosts.meeting import parse_listen  # brings the broker's client
    from experiments.hosts.wanted import Wanted

    address, port = parse_listen(listen)
    return Wanted(hosts=hosts, address=address, port=port, seconds=seconds)


def declared_cache(text: str | None, settings: Settings) -> int | None:
    """Bytes of --filer-cache, else of EDBENCH_FILER_CACHE; None: nobody said. Raises UsageError."""
    return settings.filer_cache if text is None else parse_bytes(text, "--filer-cache")
