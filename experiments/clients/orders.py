"""What a crowd and its processes say to each other: JSON lines, checked as they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from experiments.clients.tally import Counted

Deed = Literal["write", "read", "remove", "forget"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One process's clients, told once."""

    clients: tuple[int, ...]  # their numbers, of all clients
    roots: tuple[str, ...]  # directories, that clients take in turn, or …
    s3: str | None  # … a bucket and prefix
    seed: int
    fsync: str  # none or file
    io_bytes: int  # of one call
    part_bytes: int  # of an S3 object that goes in parts
    emulated: bool  # whether calls are delayed by the filer that the settings name
    compressible: float  # share of the bytes that are filler, 0 to 1
    counters: str | None = None  # a file that they count in for whoever watches


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What each client does next. `shared_numbers`: a process's clients take the numbers from one heap, else each has all."""

    deed: Deed
    first: int  # numbers of the files or objects
    last: int  # one past
    size: int
    shared_directory: bool
    shared_numbers: bool
    start_ns: int  # monotonic; all begin then, or …
    delays_ns: tuple[int, ...] = ()  # … so much later, each by its number


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientDone:
    """One client's part of an order."""

    client: int
    began_ns: int  # monotonic
    ended_ns: int
    done: int  # files or objects that succeeded
    bytes: int
    refused: int  # connections that the storage did not take
    failed: int  # other errors
    said: tuple[str, ...] = ()  # the first refusal and the first other error, in words


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessDone:
    """One process's part of an order."""

    clients: tuple[ClientDone, ...]
    counted: tuple[Counted, ...]
    bytes_by_second: tuple[int, ...]
    cpu_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """In place of an answer."""

    error: str
    usage: bool = False  # a UsageError
