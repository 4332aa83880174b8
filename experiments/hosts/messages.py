"""What a command and the hosts that joined say to each other, over lists and keys of the command's broker (msgspec JSON).

A host keeps a key alive that says who it is. Orders wait in a list of its own, each answer in a list of its order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ALIVE, ORDERS, ANSWERS = "edbench:hosts:alive:", "edbench:hosts:orders:", "edbench:hosts:answers:"
ALIVE_SECONDS = 30.0  # after which a host that says nothing is lost


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """A host, once a second."""

    name: str
    incarnation: str  # of its agent
    version: str  # of edbench there
    beat: int = 0  # how often it was said
    trouble: str = ""  # why its workers do not stay up


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a host is to do: see, clock, work, drop, leave, ceiling."""

    id: str
    what: str
    of: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of it; `refused`: in one line why nothing did."""

    of: dict[str, Any] = field(default_factory=dict)
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Order `see`: look at the storage and leave a sign there."""

    storage: str
    token: str  # a file's path
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What a host sees; of what it does not see, in `unseen`, why."""

    host: dict[str, Any]  # as `experiments.conditions.host` has it
    storage: dict[str, Any] = field(default_factory=dict)  # as `experiments.conditions.place` has it
    token: str = ""
    source: tuple[int, int] = (0, 0)  # device and inode
    unseen: dict[str, str] = field(default_factory=dict)  # storage, token, sign, source


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Order `work`: have so many workers, until `leave`."""

    environment: Mapping[str, str]  # EDBENCH_*; a host's own scratch is put in
    workers: int
    slots: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Drops:
    """Order `drop`: drop what this host's caches hold of these directories."""

    directories: tuple[str, ...]
    when: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Clones:
    """Order `ceiling`: play clones of a trace on null storage (`replay.ceiling`)."""

    trace: str
    clients: int
    shared: bool
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Meters:
    """Answer to `leave`: what the kernel of a host counted from `work` to then. Namespaces of one machine share processors."""

    seconds: float
    processors: int
    busy_s: float  # processor seconds of the whole host
    workers_cpu_s: float  # of its workers
    workers_waited_s: float  # for a processor
    least_available_bytes: int  # memory, of looks a second apart
    received_bytes: int  # by all interfaces but loopback
    sent_bytes: int
    nfs: dict[str, int] = field(
        default_factory=dict
    )  # of the storage's mount: ops, read and written bytes; empty: no NFS
