"""What a person may ask for of a corpus: options of the command, the body of the API and the page's form are made from it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from core.document import TEXT, Order
from core.options.bounds import MOST_SCALE, MOST_SEED


class CorpusOrder(Order):
    """What it is made of, and how much of it."""

    profile: Annotated[
        str,
        Field(
            max_length=4_000,
            pattern=TEXT,
            description="corpus profile: a name of `edbench profile list`, or a TOML file",
        ),
    ] = "reference"
    scale: Annotated[
        float, Field(ge=0.0, le=MOST_SCALE, description="1.0 is the full size of the profile: 45 GB raw for reference")
    ] = 0.01
    seed: Annotated[
        int, Field(ge=0, le=MOST_SEED, description="the same seed and scale give the same bytes on every machine")
    ] = 1
    processes: Annotated[
        int | None, Field(ge=1, le=256, description="processes that write  [default: one per core]")
    ] = None
