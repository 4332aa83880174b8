"""What client and server counted between two readings."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from monitoring.wire import NfsMount, parse_mountstats

# Names of the numbers of /proc/net/rpc/nfsd, in its order (RFC 1813; RFC 8881 by op number).
_V3 = (
    *("NULL", "GETATTR", "SETATTR", "LOOKUP", "ACCESS", "READLINK", "READ", "WRITE", "CREATE", "MKDIR", "SYMLINK"),
    *("MKNOD", "REMOVE", "RMDIR", "RENAME", "LINK", "READDIR", "READDIRPLUS", "FSSTAT", "FSINFO", "PATHCONF", "COMMIT"),
)
_V4 = {
    3: "ACCESS",
    4: "CLOSE",
    5: "COMMIT",
    6: "CREATE",
    8: "DELEGRETURN",
    9: "GETATTR",
    10: "GETFH",
    15: "LOOKUP",
    18: "OPEN",
    22: "PUTFH",
    25: "READ",
    26: "READDIR",
    28: "REMOVE",
    29: "RENAME",
    34: "SETATTR",
    38: "WRITE",
    53: "SEQUENCE",
}


@dataclass(frozen=True, slots=True)
class Server:
    """The NFS server's counters."""

    requests: int  # of every program: NFS, and with v3 NFSACL, which the client does not count by op
    procedures: int  # of NFS alone
    read_bytes: int
    write_bytes: int
    ops: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Grown:
    """Growth of everything that is compared, between two readings."""

    version: str
    connections: int
    wire_ops: Mapping[str, int]
    wire_requests: int  # transmissions of all ops
    transport_sends: int
    program_read: int  # what programs asked the client's kernel for
    program_written: int
    wire_read: int
    wire_written: int
    server: Server


def parse_nfsd(text: str) -> Server:
    """The lines `rpc`, `io`, `proc3`, `proc4` and `proc4ops`; raises ValueError, KeyError for another file."""
    lines = {
        line.split()[0]: [int(float(word)) for word in line.split()[1:]] for line in text.splitlines() if line.strip()
    }
    ops: Counter[str] = Counter(dict(zip(_V3, lines["proc3"][1:], strict=False)))
    ops.update({name: lines["proc4ops"][1:][number] for number, name in _V4.items()})
    procedures = sum(lines["proc3"][1:]) + sum(lines["proc4"][1:])
    return Server(lines["rpc"][0], procedures, lines["io"][0], lines["io"][1], ops)


def grown(before: Path, after: Path) -> Grown:
    """What grew between two directories of readings."""
    old, new = _mount(before), _mount(after)
    was, now = parse_nfsd((before / "nfsd").read_text()), parse_nfsd((after / "nfsd").read_text())
    return Grown(
        version=new.version,
        connections=len(new.transports),
        wire_ops={name: counts.ops - old.ops[name].ops for name, counts in new.ops.items()},
        wire_requests=sum(counts.transmissions - old.ops[name].transmissions for name, counts in new.ops.items()),
        transport_sends=sum(t.sends for t in new.transports) - sum(t.sends for t in old.transports),
        program_read=new.bytes.read + new.bytes.direct_read - old.bytes.read - old.bytes.direct_read,
        program_written=new.bytes.written + new.bytes.direct_written - old.bytes.written - old.bytes.direct_written,
        wire_read=new.bytes.server_read - old.bytes.server_read,
        wire_written=new.bytes.server_written - old.bytes.server_written,
        server=Server(
            now.requests - was.requests,
            now.procedures - was.procedures,
            now.read_bytes - was.read_bytes,
            now.write_bytes - was.write_bytes,
            {name: count - was.ops[name] for name, count in now.ops.items()},
        ),
    )


def _mount(place: Path) -> NfsMount:
    stats = parse_mountstats((place / "mountstats").read_bytes())
    if stats.problems or len(stats.mounts) != 1:
        raise ValueError(f"{place}: one NFS mount was expected: {stats.mounts}, {stats.problems}")
    return stats.mounts[0]
