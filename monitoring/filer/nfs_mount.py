"""An NFS mount's counters, as the client's kernel gives them; all are since it was mounted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OpCounts:
    """One op of the protocol since the mount; times are sums of milliseconds over all its requests.

    A request waits for its turn (`queue_ms`), is answered (`rtt_ms`), and all in all takes `execute_ms`.
    """

    ops: int
    transmissions: int  # more than `ops` where a request was sent again
    timeouts: int
    bytes_sent: int
    bytes_received: int
    queue_ms: int
    rtt_ms: int
    execute_ms: int
    errors: int | None = None  # requests that ended with an error; None from kernels before 5.3


@dataclass(frozen=True, slots=True)
class ByteCounts:
    """Bytes since the mount: what programs asked for (cached, O_DIRECT) and what went over the wire."""

    read: int
    written: int
    direct_read: int
    direct_written: int
    server_read: int  # payload of READ replies
    server_written: int  # payload of WRITE requests
    pages_read: int
    pages_written: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """One connection. `in_flight`, `backlog`, `sending`, `pending` are queue lengths summed over all sends."""

    protocol: str  # tcp, udp, rdma, local
    port: int
    connects: int | None
    sends: int
    receives: int
    bad_xids: int
    in_flight: int
    backlog: int
    slots: int | None  # most request slots ever in use at a time; None where the kernel does not tell
    sending: int | None
    pending: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NfsMount:
    """One NFS mount of this mount namespace; all counters are since it was mounted.

    Two mount points of one superblock (bind mounts, containers' volumes) show the same counters, and mounts of one
    server may share `transports`: neither may be added up.
    """

    export: str  # server:path
    point: str
    kind: str  # nfs, nfs4
    statvers: str
    version: str  # of the protocol, as the options say: 3, 4.2; empty where they do not
    options: Mapping[str, str]
    age_s: int
    caps: str
    events: Mapping[str, int]
    bytes: ByteCounts
    transports: tuple[Transport, ...]
    ops: Mapping[str, OpCounts]
