"""Messages between a crew's members, its provisioner and the controller, sent over the broker (msgspec JSON).

A member keeps a key alive that identifies it. Orders wait in a list of the member's own, and each answer in a list of
its order. The members' broker is permanent, so an order holds a run, counts, and paths below the roots that the member
itself was configured with: no address, environment, command or credential. An order with any other field is refused,
and so is a path that leads elsewhere (`core.crew`). Only the controller's login may push orders
(`core.services.keyring`)."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from core.errors import SystemFault, UsageError
from core.filer.model import profile_names
from core.settings import Settings

MEMBERS = "edbench:crew:members"  # ids of those that have been connected
MEMBER, LEASED = (
    "edbench:crew:member:",
    "edbench:crew:leased:",
)  # keys that expire: of a member by id, of a lease by run
ORDERS, ANSWERS = "edbench:crew:orders:", "edbench:crew:answers:"
OF_MEMBER, PROVISIONER = "member:", "provisioner"  # whose orders they are: `member:<id>`, or the provisioner's
ALIVE_SECONDS = 20.0  # after which a member, or the command that leased it, is lost
BEAT_SECONDS = 1.0
MOST_DATABASES, MOST_WORKERS, MOST_SLOTS = 64, 1_000, 4_096
RUN_DATABASE = re.compile(r"edbench_run_([0-9a-f]{16})_[0-9]{1,2}")

Run = Annotated[str, Meta(pattern=r"\A[0-9a-f]{16}\Z")]
Name = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,62}\Z")]  # of a host, in names of queues and workers
MOUNT = "[A-Za-z0-9][A-Za-z0-9._,=-]{0,62}"  # the name of a mount in a member's own configuration
Root = Literal["storage", "evidence", "null"]
Databases = Annotated[int, Meta(ge=1, le=MOST_DATABASES)]


def database_name(run: str, number: int) -> str:
    """The database of a run on its server `number`, from 1. Each server has a name of its own: a client that is led to another
    server, as when containers that start again get each other's address, finds no such database there."""
    return f"edbench_run_{run}_{number}"


class _Order(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="do", tag=str.lower):
    """Base of all orders."""


class Place(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A directory or file below one of the roots that the member was configured with."""

    root: Root
    path: Annotated[str, Meta(max_length=4_096)]


class Lease(_Order, frozen=True, kw_only=True):
    """Work for a run, and for nothing else, until `Return`: so many workers of so many slots on the run's databases."""

    run: Run
    databases: Databases
    workers: Annotated[int, Meta(ge=1, le=MOST_WORKERS)]
    first: Annotated[int, Meta(ge=1, le=MOST_WORKERS)] = 1  # number of the first of them
    slots: Annotated[int, Meta(ge=1, le=MOST_SLOTS)]
    place: Place  # the run's storage root
    filer: Place | str = "none"  # emulated: a profile of the product's by name, or a file
    hosts: Annotated[tuple[Name, ...], Meta(max_length=512)] = ()  # as `Settings.hosts`: this one first
    # Mount the storage as the member's configuration has it (worker.member.remount).
    mount: Annotated[str, Meta(pattern=rf"\A{MOUNT}\Z")] | None = None


class Return(_Order, frozen=True, kw_only=True):
    """End the lease: work as before it. The answer is `Meters`."""

    run: Run


class Look(_Order, frozen=True, kw_only=True):
    """Read the token at that place, and write it to a file next to it whose name ends with the member's id."""

    token: Place
    source: Place | None = None  # a directory that the member has to see


class Clock(_Order, frozen=True, kw_only=True):
    """Report the time."""


class Drop(_Order, frozen=True, kw_only=True):
    """Drop what this client's caches hold of these directories."""

    places: Annotated[tuple[Place, ...], Meta(max_length=16)]


class Prepare(_Order, frozen=True, kw_only=True):
    """Prepare the clients of a package for a run, until `Return`. The package defines the answer."""

    run: Run
    package: Name  # as it is registered under `worker.member.agent.GROUP`
    order: msgspec.Raw  # a type of the package's, with nothing that other orders do not hold


class Act(_Order, frozen=True, kw_only=True):
    """Have these clients carry out an order of their package, which defines the answer."""

    run: Run
    order: msgspec.Raw


class Make(_Order, frozen=True, kw_only=True):
    """Make the run's database on the first so many servers (an order to the provisioner)."""

    run: Run
    databases: Databases


class Remove(Make, frozen=True, kw_only=True):
    """Remove the run's databases (an order to the provisioner)."""


MemberOrder = Lease | Return | Look | Clock | Drop | Prepare | Act
ProvisionerOrder = Make | Remove


class Envelope(Struct, frozen=True, kw_only=True):
    """An order with the `id` that names the list of its answer."""

    id: Annotated[str, Meta(pattern=r"\A[0-9a-f]{32}\Z")]
    order: msgspec.Raw


def raw(order: object) -> msgspec.Raw:
    """Encode an order so that it can be a field of another one."""
    return msgspec.Raw(msgspec.json.encode(order))


class Answer(Struct, frozen=True, kw_only=True):
    """The answer to an order; `refused`: one line that explains why it was not carried out."""

    of: dict[str, Any] = field(default_factory=dict)
    refused: str = ""


class Used(Struct, frozen=True, kw_only=True):
    """CPU time used by a member's workers since the lease began."""

    at: float = 0.0  # the member's clock, seconds since the epoch
    cpu_s: float = 0.0
    waited_s: float = 0.0  # for a CPU


class Hello(Struct, frozen=True, kw_only=True):
    """The message that a member sends once a second."""

    id: str  # new with each start of the member
    name: str
    version: str  # of edbench there
    host: dict[str, Any]  # name, boot_id, processors, memory_bytes, kernel, … as `monitoring.machine.host` reports them
    storage: dict[str, Any]  # the member's storage root, as `monitoring.machine.place` reports it
    roots: dict[str, str]  # Root → its path there
    workers: int = 1  # most workers of the member
    run: str = ""  # the run that it works for
    used: Used = field(default_factory=Used)


class Sight(Struct, frozen=True, kw_only=True):
    """Answer to `Look`; `unseen` has the reason for each thing that is not visible."""

    token: str = ""
    source: tuple[int, int] = (0, 0)  # device and inode
    unseen: dict[str, str] = field(default_factory=dict)  # token, sign, source


class Meters(Struct, frozen=True, kw_only=True):
    """Counters of a member from the lease to its return."""

    seconds: float
    processors: float  # cores that it may use
    busy_s: float  # CPU seconds of the whole host
    workers_cpu_s: float
    workers_waited_s: float  # for a CPU
    memory_peak_bytes: int  # of the workers, sampled each second, without page cache
    least_available_bytes: int  # of the host's memory
    received_bytes: int  # by all interfaces of the network namespace but loopback
    sent_bytes: int
    block_read_bytes: int | None  # None where the kernel does not report them
    block_write_bytes: int | None
    block_source: str | None  # what was counted: control group or processes
    nfs: dict[str, int] = field(default_factory=dict)  # the storage's mount: ops, bytes read and written; empty: no NFS


NULL_ROOT = Path("/dev/shm")
_PATIENCE_SECONDS = 20.0  # for a file of the controller to appear here: clients cache that a file does not exist


def roots_of(settings: Settings, env: Mapping[str, str]) -> dict[str, Path]:
    """The roots of this process by name. `null`: memory that the workers of a host share, EDBENCH_NULL."""
    roots = {"storage": settings.storage, "null": Path(env.get("EDBENCH_NULL") or NULL_ROOT)}
    return roots if settings.evidence is None else roots | {"evidence": settings.evidence}


def resolved(place: Place, roots: Mapping[str, Path]) -> Path:
    """The path of a place on this host. Raises UsageError where it is not below its root (links followed), or there is
    no such root."""
    root = roots.get(place.root)
    if root is None:
        raise UsageError(f"this member has no root {place.root}")
    path = Path(place.path)
    if "\0" in place.path:
        raise UsageError(f"{place.path!r} is not below the {place.root} root of this member")
    real, top = os.path.realpath(root / path), os.path.realpath(root)
    if path.is_absolute() or ".." in path.parts or not _below(real, top):
        raise UsageError(f"{place.path!r} is not below the {place.root} root of this member")
    return root / path


def writable(place: Place, roots: Mapping[str, Path]) -> Path:
    """The path of a place that is written to. Raises UsageError as `resolved`, and for evidence."""
    if place.root == "evidence":
        raise UsageError("the evidence directory is read-only")
    return resolved(place, roots)


def filer_at(filer: Place | str, roots: Mapping[str, Path]) -> str:
    """An emulated filer that an order names: a profile's name, or the path of a file here. Raises UsageError."""
    if isinstance(filer, Place):
        return str(resolved(filer, roots))
    if filer not in profile_names():
        raise UsageError(f"{filer!r} is not an emulated filer")
    return filer


def monotonic_ns(start: float) -> int:
    """Convert a moment of this host's wall clock (seconds since the epoch) to monotonic nanoseconds."""
    return time.monotonic_ns() + round((start - time.time()) * 1e9)


def place_at(path: Path, roots: Mapping[str, Path]) -> Place | None:
    """The place of a path on this host; None if it is below none of the roots."""
    real = os.path.realpath(path)
    for name, root in roots.items():
        top = os.path.realpath(root)
        if _below(real, top):
            return Place(root=name, path=os.path.relpath(real, top))  # type: ignore[arg-type]
    return None


def wait_for(path: Path) -> None:
    """Wait until a path exists. Raises SystemFault if it does not appear."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not path.exists():
        if time.monotonic() > deadline:
            raise SystemFault(f"{path}, created by the controller, does not exist here; mount the same storage")
        time.sleep(0.1)


def _below(real: str, top: str) -> bool:
    return os.path.commonpath([real, top]) == top
