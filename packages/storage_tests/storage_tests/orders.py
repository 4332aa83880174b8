"""The options of a storage test besides its settings; the command and the API take theirs from these fields."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from controller.jobs.orders import FailIf, Metavar
from core.document import TEXT, Order
from core.options import MOST_SECONDS
from experiments.orders import DEFAULT_REPEATS, FilerCache, Repeats, Seed


class ProfileOrder(Order):
    """The options that all tests have."""

    small: Annotated[
        bool, Field(description="Use small settings that take seconds and megabytes, to try the test.")
    ] = False
    repeats: Repeats = DEFAULT_REPEATS
    min_seconds: Annotated[
        float | None,
        Field(
            ge=1,
            le=MOST_SECONDS,
            description="Label a point SHORT if a run takes less than this.  [default: the test's, else 600]",
        ),
    ] = None
    seed: Seed = None
    filer: Annotated[
        str | None,
        Field(
            max_length=4_000,
            pattern=TEXT,
            description="Emulate a filer, which delays the calls of the test's own clients.  [default: EDBENCH_FILER]",
        ),
        Metavar("NAME|FILE"),
    ] = None
    filer_cache: FilerCache = None
    fail_if: FailIf = None
    yes: Annotated[bool, Field(description="Run even if the test needs more than 80 % of the free space.")] = False
