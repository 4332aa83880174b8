"""What writes samples for tests writes the same bytes at every run: tests damage them at places, cut them and mutate
them, and the clock and the dice of a library would decide which damage that is."""

import time
from importlib import import_module
from types import SimpleNamespace

from reportlab import rl_config

_NOW = 1_700_000_000.0


class _StoppedClock:
    """The module `time`, with the same time for ever."""

    def __getattr__(self, name: str) -> object:
        return getattr(time, name)

    def time(self) -> float:
        return _NOW


for _module, _name, _value in (
    ("gzip", "time", _StoppedClock()),
    ("zipfile", "time", _StoppedClock()),
    ("py7zr.helpers", "_time", _StoppedClock()),
    ("pycdlib.headervd", "time", _StoppedClock()),
    ("pycdlib.pycdlib", "time", _StoppedClock()),
    ("pycdlib.udf", "time", _StoppedClock()),
    ("pycdlib.udf", "random", SimpleNamespace(getrandbits=lambda bits: 7)),
    ("email.generator", "random", SimpleNamespace(randrange=lambda stop: 7)),  # boundaries; it sees that none clashes
):
    assert hasattr(import_module(_module), _name)
    setattr(import_module(_module), _name, _value)
rl_config.invariant = 1
