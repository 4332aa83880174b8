"""The database's clock stepped, as the ledger's statements see it."""

import time

from chaos.clock import step
from chaos.faults.base import FOREVER, Effect, Fault, Scene, Striking
from chaos.follow import patiently
from sql.session import Database

_HOUR = 3_600.0
_PATIENCE = 60.0  # seconds


def _stepped(seconds: float) -> Striking:
    """Of the first database; it is set right again in the end."""

    def strike(scene: Scene) -> Effect:
        database = scene.site.databases[0]
        step(database, seconds)
        return Effect(f"the clock of {database.name} is {seconds:+.0f} s off", lambda: _right(database))

    return strike


def _right(database: Database) -> None:
    """Another fault may have taken the database away."""
    patiently(lambda: step(database, 0.0), time.monotonic() + _PATIENCE)


FAULTS = (
    Fault(
        "clock-forward",
        "the database's clock steps an hour forward, and back again",
        _stepped(_HOUR),
        seconds=(0.5, 3.0),
        needs="clock",
    ),
    Fault(
        "clock-back",
        "the database's clock steps an hour back, and forward again when the job is over or suspended",
        _stepped(-_HOUR),
        seconds=(FOREVER, FOREVER),
        needs="clock",
    ),
)
