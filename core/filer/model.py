"""Models of emulated filers, from TOML profiles: built-in ones by name, a user's own by path."""

from __future__ import annotations

import hashlib
import shutil
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

from core.errors import StorageFault, UsageError, read_problem, system_errors
from core.operations import Op
from core.records import FilerChoice
from core.toml_table import Share, TomlTable, Within

PROFILES = Path(__file__).parent / "profiles"
PROTOCOLS = Path(__file__).parent / "protocols"
MAX_FILE_BYTES = 65_536
MAX_NAME = 40
MAX_OPS = 10_000.0  # of one kind, for one call, entry or transfer
MAX_TRANSFER_BYTES = 1 << 30
_MAX_TEXT = 400
_PER = ("entry", "transfer")
_DEFAULT = "default"  # in service times: for every op that is not named
_LABELS = [op.label for op in Op]

Ops = Mapping[str, float]  # filer ops by name; means, so not whole numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """The filer ops of one call."""

    each: Ops  # for each call
    entry: Ops  # and for each entry of a listing
    transfer: Ops  # and for each `transfer_bytes` begun of the bytes that it moves

    @property
    def names(self) -> set[str]:
        return {*self.each, *self.entry, *self.transfer}


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """One mapping from calls to filer ops."""

    name: str
    origin: str  # how it is known: "measured …" or "assumed …"
    transfer_bytes: int  # most bytes of one read or write on the wire
    data: frozenset[str]  # the ops of the filer's data unit; all others are its metadata unit's
    calls: Mapping[Op, Expansion]
    index_calls: Mapping[Op, Expansion] = field(default_factory=dict)  # of phase index, if they differ there
    server: Mapping[Op, Expansion] = field(
        default_factory=dict
    )  # of `calls`, by what the server's own counters called them
    source: str = field(compare=False)  # how a user selects it: a built-in name, or the path of a file

    @property
    def ops(self) -> set[str]:
        """Every filer op that some call needs."""
        return set().union(*(found.names for found in (*self.calls.values(), *self.index_calls.values())))

    def to_plain(self) -> dict[str, Any]:
        """The protocol as plain data; `protocol_of` is the inverse."""
        head = {"name": self.name, "origin": self.origin, "transfer_bytes": self.transfer_bytes}
        head |= {"data": sorted(self.data), "call": _plain(self.calls)}
        more = {"index_call": self.index_calls, "server": self.server}
        return head | {key: _plain(calls) for key, calls in more.items() if calls}


def protocol_names() -> list[str]:
    """The names of the built-in protocols."""
    return sorted(path.stem for path in PROTOCOLS.glob("*.toml"))


def load_protocol(name_or_path: str, directory: Path | None = None) -> Protocol:
    """Load a built-in protocol by name, or a file relative to the given directory; raises UsageError in one line."""
    if name_or_path in protocol_names():
        path, source = PROTOCOLS / f"{name_or_path}.toml", name_or_path
    else:
        path = ((directory or Path()) / name_or_path).absolute()
        source = str(path)
    what = f"protocol {name_or_path!r}"
    return protocol_of(read_table(path, what, protocol_names()), what, source)


def protocol_of(table: Mapping[str, Any], what: str, source: str) -> Protocol:
    """Parse a protocol from plain data. Raises UsageError that begins with `what`."""
    top = TomlTable(what, "", dict(table))
    origin = top.text("origin", "")
    if not origin.startswith(("measured", "assumed")) or len(origin) > _MAX_TEXT:
        raise top.refuse(
            "origin", f"must state its source, `measured …` or `assumed …`, in at most {_MAX_TEXT} characters"
        )
    server = top.table("server")
    protocol = Protocol(
        name=_name(top),
        origin=origin,
        transfer_bytes=top.whole("transfer_bytes", 1 << 20, low=1, high=MAX_TRANSFER_BYTES),
        data=frozenset(top.texts("data")),
        calls=_expansions(top.table("call"), every=True),
        index_calls=_expansions(top.table("index_call"), every=False),
        server=_expansions(server, every=bool([*server])),
        source=source,
    )
    top.done()
    if unknown := protocol.data - protocol.ops:
        raise top.refuse("data", f"names {sorted(unknown)[0]}, which no call needs")
    return protocol


def _name(table: TomlTable) -> str:
    """The name in a table, a printable text for labels."""
    name = table.text("name", "")
    if not name or len(name) > MAX_NAME or not name.isprintable() or name != name.strip():
        raise table.refuse("name", f"must be a printable text of at most {MAX_NAME} characters")
    return name


def _plain(calls: Mapping[Op, Expansion]) -> dict[str, Any]:
    return {
        op.label: dict(found.each)
        | {per: dict(ops) for per, ops in (("entry", found.entry), ("transfer", found.transfer)) if ops}
        for op, found in calls.items()
    }


def _expansions(table: TomlTable, *, every: bool) -> dict[Op, Expansion]:
    """The expansions of `every` op, or of those that the table names."""
    named = table.names(_LABELS)
    return {op: _expansion(table.table(op.label)) for op in Op if every or op.label in named}


def _expansion(table: TomlTable) -> Expansion:
    entry, transfer = (table.table(per) for per in _PER)
    each = [name for name in table if name not in _PER]
    return Expansion(each=_ops(table, each), entry=_ops(entry, [*entry]), transfer=_ops(transfer, [*transfer]))


def _ops(table: TomlTable, names: Sequence[str]) -> Ops:
    for name in names:
        if not name.isidentifier() or name == _DEFAULT:
            raise table.refuse(name, "is not allowed: a filer op has a name of letters, digits and _")
    return {name: float(table.number(name, high=MAX_OPS)) for name in names}


STATIONS = ("metadata", "data", "link")
DATA_OPS = frozenset({Op.READ, Op.WRITE, Op.FSYNC})  # every other call is the metadata unit's, without a protocol
_METADATA_OPS = frozenset(Op) - DATA_OPS
_MIX_TOLERANCE = 0.001
MAX_SERVERS = 64
MAX_SERVICE_US = 60e6
MAX_LINK_BYTES_PER_S = 1e12
MAX_ENTRY_US = 1e4
MAX_DISK_MS = 60_000.0
MAX_SCALE = 1e6
MAX_CACHE_BYTES = 1 << 50
MAX_CALL_BYTES = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """One station of `servers` equal servers with one queue."""

    servers: int
    service_us: Mapping[str, float]  # by name of a filer op, without a protocol by name of a call; unscaled


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """The delay that a miss of the filer's cache adds to a call. It is no queue, and the scale factor does not divide
    it."""

    read_ms: Annotated[float, Within(high=MAX_DISK_MS)] = 0.0
    read_miss: Share = 0.0  # share of read calls
    write_ms: Annotated[float, Within(high=MAX_DISK_MS)] = 0.0
    write_miss: Share = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """The cost of a directory's size."""

    # Unscaled time of the metadata unit that each existing entry adds to the creation of another one.
    entry_us: Annotated[float, Within(high=MAX_ENTRY_US)] = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """The client's cache and round trips, between a call and the wire. The scale factor divides neither."""

    # Bytes read or written last that each client keeps; 0: every read reaches the filer.
    cache_bytes: Annotated[int, Within(high=MAX_CACHE_BYTES)] = 0
    reread_us: Annotated[float, Within(high=MAX_SERVICE_US)] = 0.0  # cost of a read that the cache answers
    # Added to a call for each metadata op, and once for all data ops; a delay, not a queue.
    round_trip_us: Annotated[float, Within(high=MAX_SERVICE_US)] = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Sizes of a call in the mix for which a ceiling is stated."""

    entries: Annotated[float, Within(high=MAX_CALL_BYTES)] = 10.0  # of a listing
    read_bytes: Annotated[float, Within(high=MAX_CALL_BYTES)] = 65_536.0
    write_bytes: Annotated[float, Within(high=MAX_CALL_BYTES)] = 65_536.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """The demand of a call at one unit: a constant, an amount for each entry of a listing, and one for each
    transfer."""

    each: float = 0.0
    entry: float = 0.0
    transfer: float = 0.0

    def of(self, entries: float, transfers: float) -> float:
        return self.each + self.entry * entries + self.transfer * transfers


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCost:
    """The cost of a call at the filer's two units, in scaled nanoseconds of a server and in filer ops."""

    metadata_ns: Demand
    data_ns: Demand
    metadata_ops: Demand
    data_ops: Demand


@dataclass(frozen=True, slots=True, kw_only=True)
class FilerModel:
    """One emulated filer. The scale factor k divides its ceilings: k times the service time, 1/k of the link."""

    name: str
    description: str
    scale: float
    metadata: Processor
    data: Processor
    link_bytes_per_s: float  # unscaled; 0: no link is modelled
    disk: Disk
    mix: Mapping[Op, float]  # share of each op in the calls that ceilings are stated for; sums to 1
    source: str  # what a user gives to select it: a profile's name, or the path of a file
    protocol: Protocol | None = None  # None: every call is one filer op
    client: Client = field(default_factory=Client)
    sizes: Sizes = field(default_factory=Sizes)
    directory: Directory = field(default_factory=Directory)

    @property
    def stations(self) -> tuple[tuple[str, int], ...]:
        """The name and the number of servers of each station."""
        return tuple(zip(STATIONS, (self.metadata.servers, self.data.servers, 1), strict=True))

    def cost(self, op: Op, *, indexing: bool = False) -> CallCost:
        """The cost of a call of that op; `indexing`: in phase index."""
        if self.protocol is None:
            data = op in DATA_OPS
            one, none = Demand(each=1.0), Demand()
            service = Demand(each=float(self._service_ns(self.data if data else self.metadata, op.label)))
            if data:
                return CallCost(metadata_ns=none, data_ns=service, metadata_ops=none, data_ops=one)
            return CallCost(metadata_ns=service, data_ns=none, metadata_ops=one, data_ops=none)
        found, of_data = self.protocol.calls[op], self.protocol.data
        if indexing:
            found = self.protocol.index_calls.get(op, found)
        parts = (found.each, found.entry, found.transfer)
        return CallCost(
            metadata_ns=self._demand(parts, self.protocol.ops - of_data, self.metadata),
            data_ns=self._demand(parts, of_data, self.data),
            metadata_ops=self._demand(parts, self.protocol.ops - of_data, None),
            data_ops=self._demand(parts, of_data, None),
        )

    def _demand(self, parts: tuple[Ops, Ops, Ops], names: set[str] | frozenset[str], at: Processor | None) -> Demand:
        """Sum the filer ops of these names: their nanoseconds `at` a unit, or their number."""
        each, entry, transfer = (
            sum(
                number * (1.0 if at is None else self._service_ns(at, name))
                for name, number in sorted(part.items())
                if name in names
            )
            for part in parts
        )
        return Demand(each=each, entry=entry, transfer=transfer)

    def _service_ns(self, processor: Processor, name: str) -> int:
        return round(processor.service_us[name] * 1000 * self.scale)

    @property
    def link_ns_per_byte(self) -> float:
        """Scaled nanoseconds of the link for one byte; 0 if no link is modelled."""
        return 1e9 * self.scale / self.link_bytes_per_s if self.link_bytes_per_s else 0.0

    @property
    def filer_ops_per_call(self) -> float:
        """Mean filer ops of a call in the mix."""
        return sum(
            share * (self._mean(op, "metadata_ops") + self._mean(op, "data_ops")) for op, share in self.mix.items()
        )

    @property
    def server_ops_per_call(self) -> float | None:
        """Mean ops of a call in the mix as the server's own counters count them; None if they were not read."""
        if self.protocol is None or not self.protocol.server:
            return None
        every = self.protocol.server
        return sum(
            share * Demand(**{per: sum(getattr(every[op], per).values()) for per in _PARTS}).of(*self._usual(op))
            for op, share in self.mix.items()
        )

    @property
    def ceiling_calls_per_s(self) -> float:
        """Calls a second that the busier unit allows for calls of `mix`, scaled; infinite without service time.

        The link is not included: it bounds bytes."""
        demand = [sum(share * self._mean(op, unit) for op, share in self.mix.items()) / 1e9 for unit in _UNITS]
        busiest = max(demand[0] / self.metadata.servers, demand[1] / self.data.servers)
        return 1 / busiest if busiest else float("inf")

    @property
    def ceiling_filer_ops_per_s(self) -> float:
        """Filer ops a second that the busier unit allows for calls of `mix`, scaled."""
        return self.ceiling_calls_per_s * self.filer_ops_per_call

    def _mean(self, op: Op, what: str) -> float:
        """Mean of a demand (a field of CallCost) for a call of the mix's sizes."""
        demand: Demand = getattr(self.cost(op), what)
        return demand.of(*self._usual(op))

    def _usual(self, op: Op) -> tuple[float, float]:
        """Entries and transfers of a call in the mix: a call begins half a transfer more than its bytes fill, on
        average."""
        moved = {Op.READ: self.sizes.read_bytes, Op.WRITE: self.sizes.write_bytes}.get(op, 0.0)
        begun = 0.0 if self.protocol is None or not moved else moved / self.protocol.transfer_bytes + 0.5
        return self.sizes.entries, begun

    @property
    def choice(self) -> FilerChoice:
        """The options by which a job names this filer."""
        return FilerChoice(source=self.source, name=self.name, scale=self.scale, digest=self.digest)

    @property
    def digest(self) -> str:
        """A hash that differs for filers that behave differently."""
        return hashlib.sha256(repr(self._numbers()).encode()).hexdigest()[:16]

    def _numbers(self) -> list[Any]:
        costs = map(self.cost, Op)
        services: list[Any] = [round(cost.metadata_ns.each + cost.data_ns.each) for cost in costs]
        found = [self.metadata.servers, self.data.servers, services, self.link_ns_per_byte, self.disk]
        if self.protocol is not None:
            found += [[asdict(self.cost(op)) for op in Op], self.protocol.transfer_bytes]
            found += [asdict(self.cost(op, indexing=True)) for op in sorted(self.protocol.index_calls)]
        more = (one for one, usual in ((self.client, Client()), (self.directory, Directory())) if one != usual)
        return [*found, *more]


_UNITS = ("metadata_ns", "data_ns")
_PARTS = ("each", "entry", "transfer")


def read_table(path: Path, what: str, known: Collection[str]) -> dict[str, Any]:
    """Read a whole TOML file. `what` names it in errors, which list the `known` names. Raises UsageError."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
        if len(raw) > MAX_FILE_BYTES:
            raise UsageError(f"{what}: the file has more than {MAX_FILE_BYTES} bytes; give a filer profile")
        return tomllib.loads(raw.decode("utf-8"))
    except OSError as e:
        raise UsageError(f"{read_problem(what, e)}; give {', '.join(known)}, or a TOML file") from e
    except (ValueError, RecursionError) as e:  # not TOML, no text, no path, a number of thousands of digits, depth
        raise UsageError(f"{read_problem(what, e)}; it must be TOML") from e


def profile_names() -> list[str]:
    """The names of the built-in profiles, `none` last."""
    return [*sorted(path.stem for path in PROFILES.glob("*.toml")), "none"]


def filer_help(default: str) -> str:
    """Help of --filer, for all commands that have it."""
    return (
        f"Use this emulated filer: {', '.join(profile_names())}, or (commands only) a TOML file.  [default: {default}]"
    )


def load_filer(name_or_path: str) -> FilerModel | None:
    """Return the emulated filer of that name or file; None for `none`. Raises UsageError in one line."""
    if name_or_path == "none":
        return None
    if name_or_path in profile_names():
        path, source = PROFILES / f"{name_or_path}.toml", name_or_path
    else:
        path = Path(name_or_path).absolute()
        source = str(path)
    table = read_table(path, f"filer {name_or_path!r}", profile_names())
    return _model(TomlTable(f"filer {name_or_path}", "", table), source, path.parent)


def filer_choice(named: str) -> FilerChoice:
    """Return the part of the named filer's model that a job records; raises UsageError."""
    model = load_filer(named)
    return FilerChoice() if model is None else model.choice


def copied_filer(file: Path, directory: Path) -> Path:
    """Copy a filer's file, and that of its protocol, into a directory; return the copy. Raises UsageError,
    StorageFault."""
    model, here = load_filer(str(file)), file.absolute().parent
    files = [file.absolute()]
    if model is not None and model.protocol is not None and Path(model.protocol.source).is_relative_to(here):
        files.append(Path(model.protocol.source))
    with system_errors(StorageFault, f"{file} cannot be copied to {directory}"):
        for one in files:
            target = directory / one.relative_to(here)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(one, target)
    return directory / file.name


def _model(top: TomlTable, source: str, directory: Path) -> FilerModel:
    named = top.text("protocol", "")
    protocol = load_protocol(named, directory) if named else None
    name = _name(top)
    if name in profile_names() and directory != PROFILES:
        raise top.refuse(
            "name",
            f"is {name!r}, which is a built-in profile; give another name, so that results show which one was used",
        )
    link = top.table("link")
    link.names(["bytes_per_s"])
    speed = float(link.number("bytes_per_s", low=1000.0, high=MAX_LINK_BYTES_PER_S)) if [*link] else 0.0
    model = FilerModel(
        name=name,
        description=top.text("description", ""),
        scale=float(top.number("scale", 1.0, low=1e-3, high=MAX_SCALE)),
        metadata=_processor(top.table("metadata"), _served(protocol, _METADATA_OPS, data=False)),
        data=_processor(top.table("data"), _served(protocol, DATA_OPS, data=True)),
        link_bytes_per_s=speed,
        disk=top.table("disk").record(Disk),
        mix=_mix(top),
        source=source,
        protocol=protocol,
        client=top.table("client").record(Client),
        sizes=top.table("sizes").record(Sizes),
        directory=top.table("directory").record(Directory),
    )
    top.done()
    return model


def _served(protocol: Protocol | None, calls: Collection[Op], *, data: bool) -> list[str]:
    """The names of what one unit serves."""
    if protocol is None:
        return sorted(op.label for op in calls)
    return sorted(name for name in protocol.ops if (name in protocol.data) == data)


def _processor(table: TomlTable, served: Sequence[str]) -> Processor:
    times = table.table("service_us")
    times.names([_DEFAULT, *served])
    usual = times.number(_DEFAULT, 0.0, high=MAX_SERVICE_US)
    service = {op: float(times.number(op, usual, high=MAX_SERVICE_US)) for op in served}
    made = Processor(servers=table.whole("servers", 1, low=1, high=MAX_SERVERS), service_us=service)
    table.done()
    return made


def _mix(top: TomlTable) -> dict[Op, float]:
    shares = top.table("mix")
    named = shares.names(_LABELS)
    mix = {op: float(shares.share(op.label)) for op in Op if op.label in named}
    if not mix:
        return {op: 1 / len(Op) for op in Op}
    if abs(sum(mix.values()) - 1) > _MIX_TOLERANCE:
        raise top.refuse("mix", f"has shares that sum to {sum(mix.values()):g}; they must sum to 1")
    return mix
