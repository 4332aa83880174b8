"""The option of an emulated site, apart from the others: its help names those that there are, and most commands have no need
of the emulated filer."""

from __future__ import annotations

from typing import Annotated

import typer

from core.filer.load import site_names

SiteFile = Annotated[
    str | None,
    typer.Option(
        "--site",
        metavar="NAME",
        help=f"emulated site, hosts and databases around an emulated filer: {', '.join(site_names())}, or a file in TOML",
    ),
]
