"""How the effort of reading a shape grows with its size: processor time, which waiting for others hardly touches."""

import contextlib
import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
from shapes import Shape

from readers.base import MemorySource
from readers.errors import DocumentError
from readers.registry import handler_for

MOST = 2.5  # times the effort for twice the size
_CONCLUSIVE = 0.005  # seconds of a run from which on two of them can be compared
_PART = 1 << 26
_HOPELESS = 2.0  # seconds: no step of a cache
_LARGEST = 128  # times the number of the shape
_REPEATS, _TRIES = 3, 3
_NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Growth:
    """Seconds at a number, and at twice that number."""

    n: int
    once: float
    twice: float

    @property
    def linear(self) -> bool:
        return self.twice <= MOST * self.once

    def __str__(self) -> str:
        return f"n={self.n}: {self.once:.4f} s, n={2 * self.n}: {self.twice:.4f} s ({self.twice / self.once:.2f} times)"


def read_all(shape: Shape, data: bytes) -> None:
    """Everything that the pipeline asks of a handler, of an item that no other call has seen."""
    handler = handler_for(shape.media_type)
    source = MemorySource(shape.file_name, data)
    with contextlib.suppress(DocumentError):
        handler.announced(source)
    with contextlib.suppress(DocumentError):
        handler.parts(source, _PART)
    handler.message_hashes(source, shape.limits)
    with contextlib.suppress(DocumentError):
        for child in handler.children(source, shape.limits):
            with contextlib.suppress(DocumentError):
                while child.stream is not None and child.stream.read(1 << 20):
                    pass
    with contextlib.suppress(DocumentError):
        handler.text(source, shape.limits)


def _once(shape: Shape, data: bytes) -> float:
    """Processor time of one run; readers remember what they read last, so it gets bytes of its own."""
    own = bytes(bytearray(data))
    handler_for(shape.media_type)  # imported by now
    gc.collect()
    begun = time.process_time()
    read_all(shape, own)
    return max(time.process_time() - begun, 1e-6)


def _measured(shape: Shape, n: int, least: dict[int, float]) -> Growth:
    """Compare the fastest of a few runs each, in turn. `least` keeps the fastest run of each number: the larger number of one
    comparison is the smaller one of the next, so a slow machine cannot fail all of them by slow runs of different numbers."""
    data = {number: shape.make(number) for number in (n, 2 * n)}
    for _ in range(_REPEATS):
        for number, made in data.items():
            least[number] = min(_once(shape, made), least.get(number, _NEVER))
        found = Growth(n, least[n], least[2 * n])
        if found.linear and found.twice > _CONCLUSIVE:
            break
    return found


def growth(shape: Shape) -> Growth:
    """Measure at a size that takes long enough to compare. Measure what seems to grow too fast again at larger sizes: caches
    and allocators have steps, a square has none."""
    gc.collect()
    gc.freeze()  # all that is loaded: to look through it before each run took longer than to read the shape
    n, first = shape.n, _once(shape, shape.make(shape.n))
    while first < _CONCLUSIVE and n < _LARGEST * shape.n:
        n, first = 2 * n, 2 * first
    least: dict[int, float] = {}
    found = _measured(shape, n, least)
    for _ in range(_TRIES):
        if found.linear or found.twice > _HOPELESS:
            break
        found = _measured(shape, 2 * found.n, least)
    return found


def check_of(shapes: Sequence[Shape]) -> Callable[[Shape, pytest.MonkeyPatch], None]:
    """A test of these shapes: twice the bytes take about twice the effort. Processor time, the least of several runs; a limit
    of the reader's may be lowered, so that it is reached."""

    @pytest.mark.parametrize("shape", shapes, ids=str)
    def check(shape: Shape, monkeypatch: pytest.MonkeyPatch) -> None:
        for place, value in shape.lowered:
            monkeypatch.setattr(place, value)
        found = growth(shape)
        assert found.linear, f"{found}; the limit is {MOST} times"

    return check
