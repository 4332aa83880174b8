"""The lines of a mount in /proc/self/mountstats, one function each; a damaged line raises LineError."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from monitoring.filer.nfs_mount import ByteCounts, OpCounts, Transport

_NUMBER = re.compile(r"-?[0-9]{1,20}")
_NUMBERS = re.compile(r"[-0-9 \t]*")
_EVENTS = (
    *("inode_revalidate", "dentry_revalidate", "data_invalidate", "attribute_invalidate", "open", "lookup", "access"),
    *("update_page", "read_page", "read_pages", "write_page", "write_pages", "readdir", "setattr", "flush", "fsync"),
    *("lock", "release", "congestion_wait", "truncate", "extend_write", "silly_rename", "short_read", "short_write"),
    *("delay", "pnfs_read", "pnfs_write"),
)
_BEFORE_DELAY = 25  # events that every kernel counts; the last ones came later


class LineError(ValueError):
    """A line that is damaged, and how."""


# Names of the fields after the protocol, in order; "" is not kept. Statvers 1.0 ends before `slots`.
_QUEUES = ("sends", "receives", "bad_xids", "in_flight", "backlog")
_LATER = ("slots", "sending", "pending")
_TRANSPORTS: dict[str, tuple[str, ...]] = {
    "tcp": ("port", "", "connects", "", "", *_QUEUES, *_LATER),
    "udp": ("port", "", *_QUEUES, *_LATER),
    "local": ("", "connects", "", "", *_QUEUES, *_LATER),
    "rdma": ("port", "", "connects", "", "", *_QUEUES),  # then its own counters, more of them with every kernel
}


def numbers(text: str) -> list[int]:
    """The integers of a line. Raises LineError.

    Counters are unsigned in 64 bits; a sum of differences that went below zero comes as a huge one and is given as
    the negative number that it is, so that growth over time is right.
    """
    words = text.split()
    try:
        if not _NUMBERS.fullmatch(text):  # int() takes more than the kernel writes
            raise ValueError
        values = [int(word) for word in words]
    except ValueError:
        wrong = next((word for word in words if not _NUMBER.fullmatch(word)), text.strip())
        raise LineError(f"{wrong[:30]!r} is not a 64-bit number") from None
    if not values or 0 <= min(values) <= max(values) < 1 << 63:
        return values
    for value, word in zip(values, words, strict=True):
        if not -(1 << 63) <= value < 1 << 64:
            raise LineError(f"{word[:30]!r} is not a 64-bit number")
    return [value - (1 << 64) if value >= 1 << 63 else value for value in values]


def _at_least(text: str, count: int, what: str) -> list[int]:
    values = numbers(text)
    if len(values) < count:
        raise LineError(f"{what} has {len(values)} numbers, not {count}")
    return values


@lru_cache(maxsize=512)  # most ops of a mount do not grow from one second to the next, or never
def op_counts(text: str) -> OpCounts:
    """The eight or nine numbers of an op."""
    values = _at_least(text, 8, "an op")
    return OpCounts(*values[:9])


def byte_counts(text: str) -> ByteCounts:
    """The numbers of `bytes:`."""
    return ByteCounts(*_at_least(text, 8, "bytes")[:8])


def events_line(text: str) -> Mapping[str, int]:
    """The numbers of `events:` by name."""
    return dict(zip(_EVENTS, _at_least(text, _BEFORE_DELAY, "events"), strict=False))


def age_line(text: str) -> int:
    """Seconds since the mount."""
    return _at_least(text, 1, "age")[0]


def options_line(text: str) -> Mapping[str, str]:
    """Mount options; those without a value have an empty one. Old kernels write `vers=4,minorversion=1`."""
    pairs = (option.partition("=") for option in text.strip().split(",") if option)
    options = {name.strip(): value for name, _, value in pairs}
    if options.get("vers") == "4" and options.get("minorversion", "").isdigit():
        options["vers"] = f"4.{options['minorversion']}"
    return options


def transport_line(text: str, statvers: str) -> Transport:
    """The protocol and numbers of `xprt:`."""
    protocol, _, rest = text.strip().partition(" ")
    names = _TRANSPORTS.get(protocol)
    if names is None:
        raise LineError(f"{protocol[:20]!r} is not a transport: {', '.join(_TRANSPORTS)}")
    needed = len(names) - (len(_LATER) if statvers == "1.0" and names[-1] == _LATER[-1] else 0)
    values = dict(zip(names, _at_least(rest, needed, f"a {protocol} transport"), strict=False))
    return Transport(
        protocol=protocol,
        port=values.get("port", 0),
        connects=values.get("connects"),
        slots=values.get("slots"),
        sending=values.get("sending"),
        pending=values.get("pending"),
        **{name: values[name] for name in _QUEUES},
    )
