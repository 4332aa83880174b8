"""What more clients mean: the same work shared out to more of them, or more work."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from core.errors import UsageError
from replay.plan import data_sets


class Scaling(enum.StrEnum):
    """Of the numbers of clients of an experiment with one trace."""

    STRONG = "strong"  # one data set, dealt out to them
    WEAK = "weak"  # a data set for each clone of the trace: so many clients, so much work
    MIXED = "mixed"  # one up to as many clients as the trace has streams, clones beyond


_SAID = {
    Scaling.STRONG: "strong scaling: one data set, its streams dealt out to the clients",
    Scaling.WEAK: "weak scaling: a data set for every {streams}",
    Scaling.MIXED: "mixed scaling: one data set up to {streams}, clones of it beyond",
}


def scaling_of(streams: int, clients: Iterable[int]) -> Scaling:
    """Of a trace with so many streams. As many clients as streams alone are one data set: strong."""
    numbers = set(clients)
    if all(data_sets(streams, number) == 1 for number in numbers):
        return Scaling.STRONG
    return Scaling.WEAK if all(_whole(streams, number) for number in numbers) else Scaling.MIXED


def parse_scaling(text: str | None) -> Scaling | None:
    """`strong` or `weak`; raises UsageError."""
    if text not in (None, Scaling.STRONG, Scaling.WEAK):
        raise UsageError(f"--scaling is {text!r}; use strong or weak, or remove it to allow both")
    return None if text is None else Scaling(text)


def refuse_other_scaling(scaling: Scaling | None, streams: int, clients: int) -> None:
    """Raises UsageError where so many clients are not of the scaling that was asked for; None: any may be."""
    if scaling is Scaling.STRONG and clients > streams:
        raise UsageError(
            f"--scaling strong: the trace has {streams} streams to deal out, not enough for {clients} clients; record with"
            " more slots"
        )
    if scaling is Scaling.WEAK and not _whole(streams, clients):
        raise UsageError(
            f"--scaling weak: each data set takes {streams} clients, one for each stream, and {clients} is not a multiple of that"
        )


def said(scaling: Scaling, streams: int) -> str:
    """For the first line."""
    return _SAID[scaling].format(streams=f"{streams} clients" if streams > 1 else "client")


def _whole(streams: int, clients: int) -> bool:
    return clients % streams == 0
