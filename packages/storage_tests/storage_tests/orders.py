"""Options of a storage test in addition to its settings; the command and the API take theirs from these fields."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from controller.jobs.orders import FailIf, Filer
from core import texts
from core.document import Order
from core.options import MOST_SECONDS
from experiments.orders import DEFAULT_REPEATS, FilerCache, Repeats, Seed


class ProfileOrder(Order):
    """The options that all tests have."""

    small: Annotated[
        bool, Field(description="Use small settings that take minutes and megabytes, to try the test.")
    ] = False
    repeats: Repeats = DEFAULT_REPEATS
    min_seconds: Annotated[
        float | None,
        Field(
            ge=1,
            le=MOST_SECONDS,
            description=f"{texts.MIN_SECONDS}  [default: the test's, else 600]",
        ),
    ] = None
    seed: Seed = None
    filer: Filer = None  # delays the calls of the test's own clients
    filer_cache: FilerCache = None
    fail_if: FailIf = None
    fill: Annotated[bool, Field(description="Run even if the test needs more than 80 % of the free space.")] = False
