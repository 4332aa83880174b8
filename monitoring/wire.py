"""Wire ops of this host's NFS mounts, as observations once a second.

The counters belong to the superblock, not to the mount point: ten containers that mount one volume, at ten different
places, all read the same numbers, and even the export's path is not the same where one of them mounts a subdirectory.
So the source's name is made of the boot id, the server and the superblock's device number, which the kernel gives to
one live superblock at a time and shows alike in every namespace: whichever process reads the counters, it is the same
source, and a second of it is stored once. Mounted with `nosharecache`, one export has several superblocks with counters
of their own, and several sources. Reading touches /proc alone, so a filer that does not answer holds up nothing."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from core.mounts import holding, read_mountinfo, unescaped
from core.names import display_name
from core.plain import grouped
from monitoring.block import short_boot_id
from monitoring.observations import WIRE, Observation


@dataclass(frozen=True, slots=True)
class OpCounts:
    """One op of the protocol since the mount; times are sums of milliseconds over all its requests.

    A request waits for its turn (`queue_ms`), is answered (`rtt_ms`), and all in all takes `execute_ms`."""

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


NOT_READ = ByteCounts(*[0] * 8)


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
    slots: int | None  # most request slots ever in use at a time; None where the kernel does not report it
    sending: int | None
    pending: int | None


_NUMBER = re.compile(r"-?[0-9]{1,20}")
_NUMBERS = re.compile(r"[-0-9 \t]*")


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

    Counters are unsigned in 64 bits; a sum of differences that went below zero comes as a huge one and is given as the
    negative number that it is, so that growth over time is right."""
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


_NFS = frozenset({"nfs", "nfs4"})


@dataclass(frozen=True, slots=True)
class Problem:
    """A damaged line, counted from 1."""

    line: int
    what: str

    def __str__(self) -> str:
        return f"mountstats line {self.line}: {self.what}"


@dataclass(frozen=True, slots=True)
class Mountstats:
    """NFS mounts that could be read, and the lines that could not."""

    mounts: tuple[NfsMount, ...]
    problems: tuple[Problem, ...]


@dataclass(slots=True)
class NfsMount:
    """One NFS mount of this mount namespace; all counters are since it was mounted.

    Two mount points of one superblock (bind mounts, containers' volumes) show the same counters, and mounts of one
    server may share `transports`: neither may be added up."""

    export: str  # server:path
    point: str
    kind: str  # nfs, nfs4
    statvers: str
    options: Mapping[str, str] = field(default_factory=dict)
    age_s: int = 0
    bytes: ByteCounts = NOT_READ
    transports: list[Transport] = field(default_factory=list)
    ops: dict[str, OpCounts] = field(default_factory=dict)
    in_ops: bool = False  # the lines of ops come last

    @property
    def version(self) -> str:
        """Version of the protocol by the mount options, as 3 or 4.2; empty if they have none."""
        return self.options.get("vers", "")

    def take(self, line: str) -> None:
        """Parse one more line; raises LineError when it is damaged."""
        name, colon, rest = line.strip().partition(":")
        if self.in_ops:
            if colon:
                self.ops[name] = op_counts(rest)
            elif name:
                raise LineError(f"{name[:40]!r} is not an op")
        elif name == "per-op statistics":
            self.in_ops = True
        elif name == "opts" and colon:
            self.options = options_line(rest)
        elif name == "age" and colon:
            self.age_s = _at_least(rest, 1, "age")[0]
        elif name == "bytes" and colon:
            self.bytes = ByteCounts(*_at_least(rest, 8, "bytes")[:8])
        elif name == "xprt" and colon:
            self.transports.append(transport_line(rest, self.statvers))


def parse_mountstats(data: bytes) -> Mountstats:
    """Every NFS mount in the file's order. Raises nothing, whatever the bytes are."""
    mounts: list[NfsMount] = []
    problems: list[Problem] = []
    for head, lines in _blocks(os.fsdecode(data)):
        at = head[0]
        try:
            mount = _mount(head[1])
            if mount is None:
                continue
            for at, line in lines:  # noqa: B007 — also where the problem is
                mount.take(line)
            at = head[0]
            if mount.bytes is NOT_READ or not mount.ops:
                missing = "bytes line" if mount.bytes is NOT_READ else "per-op statistics"
                raise LineError(f"{mount.export} has no {missing}: cut short?")
            mounts.append(mount)
        except LineError as error:
            problems.append(Problem(at, str(error)))
    return Mountstats(tuple(mounts), tuple(problems))


def _blocks(text: str) -> Iterator[tuple[tuple[int, str], list[tuple[int, str]]]]:
    """Yield each `device` line with the lines after it; lines before the first belong to no mount."""
    head: tuple[int, str] | None = None
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.startswith(("device ", "no device ")):
            if head is not None:
                yield head, lines
            head, lines = (number, line), []
        else:
            lines.append((number, line))
    if head is not None:
        yield head, lines


def _mount(line: str) -> NfsMount | None:
    """Parse the first line of a mount; None for one that is not NFS. Raises LineError."""
    fields = line.split(" ")
    if "statvers=" not in line and not (len(fields) > 7 and fields[7] in _NFS):
        return None
    if len(fields) != 9 or fields[2:4] != ["mounted", "on"] or fields[5:7] != ["with", "fstype"]:
        raise LineError("not `device EXPORT mounted on POINT with fstype TYPE statvers=VERSION`")
    key, _, version = fields[8].strip().partition("=")
    if fields[7] not in _NFS:
        return None
    if key != "statvers" or version not in ("1.0", "1.1"):
        raise LineError(f"statvers is 1.0 or 1.1, not {version[:20]!r}")
    return NfsMount(unescaped(fields[1]), unescaped(fields[4]), fields[7], version)


PROC_SELF = Path("/proc/self")
MOUNTS = 8  # sources of a host, at most; the storage root's always is one
POINTS = 8  # mount points named of each

log = logging.getLogger(__name__)


class WireSampler:
    """NFS mounts of this mount namespace: the one that holds the storage root, and the busiest others."""

    def __init__(self, storage: Path, *, boot: str | None = None, proc_self: Path = PROC_SELF) -> None:
        self._storage = os.path.realpath(storage)
        self._boot = short_boot_id() if boot is None else boot
        self._proc = proc_self
        self._logged: frozenset[str] = frozenset()
        self._ages: dict[tuple[str, str], int] = {}  # of the mounts that were looked up last
        self._devices: dict[tuple[str, str], str] = {}  # device numbers by mount point and export
        self._under: str | None = None  # the device that holds the storage root

    def sample(self) -> list[Observation]:
        """The counters now; empty where nothing is mounted over NFS. Raises nothing."""
        try:
            stats = parse_mountstats((self._proc / "mountstats").read_bytes())
        except OSError:
            return []
        self._log(str(problem) for problem in stats.problems)
        if not stats.mounts:
            return []
        self._look_up(stats.mounts)
        under = self._under
        groups = sorted(
            _superblocks(stats.mounts, self._devices),
            key=lambda group: (group[0] == under, group[1][0].bytes.server_read + group[1][0].bytes.server_written),
            reverse=True,
        )
        return [
            Observation(WIRE, f"{self._boot}:{_shown(_server(mounts[0]))}:{device}", _values(mounts, device == under))
            for device, mounts in groups[:MOUNTS]
        ]

    def _look_up(self, mounts: Sequence[NfsMount]) -> None:
        """Read the mount table again where it may have changed: hosts with many containers have thousands of lines."""
        ages = {(mount.point, mount.export): mount.age_s for mount in mounts}
        same = ages.keys() == self._ages.keys() and all(ages[key] >= age for key, age in self._ages.items())
        self._ages = ages
        if same:
            return
        entries = read_mountinfo(self._proc / "mountinfo")
        ours = holding(self._storage, entries)
        self._under = None if ours is None else ours.device
        self._devices = {(entry.point, entry.source): entry.device for entry in entries}

    def _log(self, problems: Iterable[str]) -> None:
        """Log each problem once, not once a second."""
        new = frozenset(problems) - self._logged
        for problem in sorted(new):
            log.warning("%s", problem)
        self._logged |= new


def _superblocks(
    mounts: Sequence[NfsMount], devices: Mapping[tuple[str, str], str]
) -> Iterable[tuple[str, list[NfsMount]]]:
    """Group the mounts by device number; those that are missing in the mount table by `?` and their export."""

    def superblock(mount: NfsMount) -> tuple[str, str]:
        device = devices.get((mount.point, mount.export), "?")
        return device, mount.export if device == "?" else ""

    return ((device, group) for (device, _), group in grouped(mounts, superblock).items())


def _server(mount: NfsMount) -> str:
    """Return the server of a mount. Docker's volumes have the address among the options and `:/path` here."""
    return mount.export.rpartition(":/")[0] or "nfs"


def _shown(name: str) -> str:
    return display_name(os.fsencode(name))


def _values(mounts: Sequence[NfsMount], storage: bool) -> dict[str, Any]:
    """One superblock's observation; ops that were never sent are left out."""
    mount = mounts[0]
    return {
        "type": mount.kind,
        "version": mount.version,
        "storage": storage,  # whether the storage root is here
        "exports": [_shown(m.export) for m in mounts[:POINTS]],
        "points": [_shown(m.point) for m in mounts[:POINTS]],
        "ops": msgspec.to_builtins({name: counts for name, counts in mount.ops.items() if counts.ops}),
        "read_bytes": mount.bytes.server_read,
        "write_bytes": mount.bytes.server_written,
        "transports": msgspec.to_builtins(mount.transports),
        "backlog": sum(transport.backlog for transport in mount.transports),
        "slots": sum(transport.slots or 0 for transport in mount.transports),
    }
