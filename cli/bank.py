"""The option of a password bank, apart from the others: these bring the emulated filer, which `inspect` has no need of."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from core.passwords import MOST_PASSWORDS

Passwords = Annotated[
    Path | None,
    typer.Option(
        "--passwords",
        metavar="FILE",
        help=f"passwords to try on encrypted items, one a line, UTF-8, at most {MOST_PASSWORDS:,}",
    ),
]
