"""Order of a corpus: the options of the command, the body of the API and the form of the web UI are made from it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from core import texts
from core.document import TEXT, Order
from core.options import MOST_SCALE, MOST_SEED


class CorpusOrder(Order):
    """Profile, scale and seed of a corpus."""

    profile: Annotated[
        str,
        Field(
            max_length=4_000,
            pattern=TEXT,
            description="Use this profile of `edbench corpus profiles`, or a TOML file.",
        ),
    ] = "reference"
    scale: Annotated[
        float,
        Field(
            ge=0.0,
            le=MOST_SCALE,
            description=texts.SCALE,
        ),
    ] = 0.01
    seed: Annotated[
        int,
        Field(
            ge=0,
            le=MOST_SEED,
            description=texts.SEED,
        ),
    ] = 1
    processes: Annotated[int | None, Field(ge=1, le=256, description=texts.PROCESSES)] = None
