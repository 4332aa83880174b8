"""Models of emulated filers, from TOML profiles: ours by name, a user's own by path."""

from __future__ import annotations

import hashlib
import math
import shutil
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from core.errors import StorageFault, UsageError, read_problem
from core.operations import Op
from core.records import FilerChoice

PROTOCOLS = Path(__file__).parent / "protocols"
MAX_OPS = 10_000.0  # of one kind, for one call, entry or transfer
MAX_TRANSFER_BYTES = 1 << 30
_MAX_TEXT = 400
_PER = ("entry", "transfer")

Ops = Mapping[str, float]  # filer ops by name; means, so broken numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """The filer ops of one call."""

    each: Ops  # whatever it requests
    entry: Ops  # and for each entry of a listing
    transfer: Ops  # and for each `transfer_bytes` begun of what it moves

    @property
    def names(self) -> set[str]:
        return {*self.each, *self.entry, *self.transfer}


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """One way from calls to filer ops."""

    name: str
    origin: str  # how it is known: "measured …" or "assumed …"
    transfer_bytes: int  # what one read or write on the wire moves at most
    data: frozenset[str]  # the ops of the filer's data unit; all others are its metadata unit's
    calls: Mapping[Op, Expansion]
    index_calls: Mapping[Op, Expansion] = field(default_factory=dict)  # of phase index, where they are other ones there
    server: Mapping[Op, Expansion] = field(
        default_factory=dict
    )  # of `calls`, by what the server's own counters called them
    source: str = field(compare=False)  # what a user gives to get it again: a name of ours, or the path of a file

    @property
    def ops(self) -> set[str]:
        """Every filer op that some call needs."""
        return set().union(*(found.names for found in (*self.calls.values(), *self.index_calls.values())))

    def transfers(self, nbytes: int) -> int:
        """How many transfers begin for so many bytes."""
        return -(-nbytes // self.transfer_bytes)

    def to_plain(self) -> dict[str, Any]:
        """As `protocol_of` takes it."""
        head = {"name": self.name, "origin": self.origin, "transfer_bytes": self.transfer_bytes}
        head |= {"data": sorted(self.data), "call": _plain(self.calls)}
        more = {"index_call": self.index_calls, "server": self.server}
        return head | {key: _plain(calls) for key, calls in more.items() if calls}


def protocol_names() -> list[str]:
    """Those that come with the product."""
    return sorted(path.stem for path in PROTOCOLS.glob("*.toml"))


def load_protocol(name_or_path: str, beside: Path | None = None) -> Protocol:
    """Load a built-in protocol by name, or a file relative to the given directory; raises UsageError in one line."""
    if name_or_path in protocol_names():
        path, source = PROTOCOLS / f"{name_or_path}.toml", name_or_path
    else:
        path = ((beside or Path()) / name_or_path).absolute()
        source = str(path)
    what = f"protocol {name_or_path!r}"
    return protocol_of(read_table(path, what, protocol_names()), what, source)


def protocol_of(table: Mapping[str, Any], what: str, source: str) -> Protocol:
    """Out of plain data; raises UsageError that begins with `what`."""
    tables = Tables(what)
    tables.known(table, ("name", "origin", "transfer_bytes", "data", "call", "index_call", "server"), "")
    origin = tables.text(table, "origin")
    if not origin.startswith(("measured", "assumed")) or len(origin) > _MAX_TEXT:
        raise tables.wrong(f"origin must say how it is known, `measured …` or `assumed …`, in {_MAX_TEXT} characters")
    calls, index_calls, server = (tables.table(table, key) for key in ("call", "index_call", "server"))
    for found, at in ((calls, "call."), (index_calls, "index_call."), (server, "server.")):
        tables.known(found, [op.label for op in Op], at)
    protocol = Protocol(
        name=tables.name(table, 40),
        origin=origin,
        transfer_bytes=tables.whole(table, "transfer_bytes", "", 1 << 20, MAX_TRANSFER_BYTES),
        data=_names(tables, table.get("data", [])),
        calls=_expansions(tables, calls, "call.", Op),
        index_calls=_expansions(tables, index_calls, "index_call.", (op for op in Op if op.label in index_calls)),
        server=_expansions(tables, server, "server.", Op) if server else {},
        source=source,
    )
    if unknown := protocol.data - protocol.ops:
        raise tables.wrong(f"data names {sorted(unknown)[0]}, which no call needs")
    return protocol


def _names(tables: Tables, found: object) -> frozenset[str]:
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise tables.wrong("data must be a list of names of filer ops")
    return frozenset(found)


def _plain(calls: Mapping[Op, Expansion]) -> dict[str, Any]:
    return {
        op.label: dict(found.each)
        | {per: dict(ops) for per, ops in (("entry", found.entry), ("transfer", found.transfer)) if ops}
        for op, found in calls.items()
    }


def _expansions(tables: Tables, calls: Mapping[str, Any], at: str, named: Iterable[Op]) -> dict[Op, Expansion]:
    return {op: _expansion(tables, tables.table(calls, op.label, at), f"{at}{op.label}.") for op in named}


def _expansion(tables: Tables, table: Mapping[str, Any], at: str) -> Expansion:
    each = {key: value for key, value in table.items() if key not in _PER}
    entry, transfer = (tables.table(table, per, at) for per in _PER)
    return Expansion(
        each=_ops(tables, each, at), entry=_ops(tables, entry, f"{at}entry."),
        transfer=_ops(tables, transfer, f"{at}transfer."),
    )  # fmt: skip


def _ops(tables: Tables, table: Mapping[str, Any], at: str) -> Ops:
    for name in table:
        if not name.isidentifier() or name == "default":
            raise tables.wrong(f"{at}{name}: a filer op has a name of letters, digits and _")
    return {name: tables.number(table, name, at, 0.0, MAX_OPS) for name in table}


STATIONS = ("metadata", "data", "link")
DATA_OPS = frozenset({Op.READ, Op.WRITE, Op.FSYNC})  # every other call is the metadata unit's, without a protocol
MAX_SERVERS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """One station of `servers` equal servers with one queue."""

    servers: int
    service_us: Mapping[str, float]  # of a filer op by its name, without a protocol of a call by its op's; unscaled


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """What a miss of the filer's cache adds to a call; a delay, not a queue. Not divided by the scale factor."""

    read_ms: float = 0.0
    read_miss: float = 0.0  # share of read calls
    write_ms: float = 0.0
    write_miss: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """What the size of a directory costs."""

    entry_us: float = 0.0  # of the metadata unit, unscaled, to make a name: for each that its directory has


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """The client's cache and round trips, between a call and the wire. The scale factor divides neither."""

    cache_bytes: int = 0  # of what was read or written last, kept by each client; 0: every read reaches the filer
    reread_us: float = 0.0  # what a read that the cache answers costs
    round_trip_us: float = (
        0.0  # that each metadata op adds to its call, and all its data ops together; a delay, not a queue
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Of a call of the mix that a ceiling is stated for."""

    entries: float = 10.0  # of a listing
    read_bytes: float = 65_536.0
    write_bytes: float = 65_536.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What a call asks of one unit: so much, and for each entry of a listing, and for each transfer begun."""

    each: float = 0.0
    entry: float = 0.0
    transfer: float = 0.0

    def of(self, entries: float, transfers: float) -> float:
        return self.each + self.entry * entries + self.transfer * transfers


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCost:
    """What a call costs at the filer's two units, in scaled nanoseconds of a server, and in filer ops."""

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
    source: str  # what a user gives to get it again: a profile's name, or the path of a file
    protocol: Protocol | None = None  # None: every call is one filer op
    client: Client = field(default_factory=Client)
    sizes: Sizes = field(default_factory=Sizes)
    directory: Directory = field(default_factory=Directory)

    @property
    def stations(self) -> tuple[tuple[str, int], ...]:
        """The name and the number of servers of each station."""
        return tuple(zip(STATIONS, (self.metadata.servers, self.data.servers, 1), strict=True))

    def cost(self, op: Op, *, indexing: bool = False) -> CallCost:
        """Of a call of that op, made in phase index or in any other."""
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
        """Over the filer ops of these names: their nanoseconds `at` a unit, or their number."""
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

    def transfers(self, nbytes: int) -> int:
        """How many transfers a call of so many bytes begins."""
        return 0 if self.protocol is None else self.protocol.transfers(nbytes)

    @property
    def link_ns_per_byte(self) -> float:
        """Scaled; 0 where no link is modelled."""
        return 1e9 * self.scale / self.link_bytes_per_s if self.link_bytes_per_s else 0.0

    @property
    def filer_ops_per_call(self) -> float:
        """Of the mix."""
        return sum(
            share * (self._mean(op, "metadata_ops") + self._mean(op, "data_ops")) for op, share in self.mix.items()
        )

    @property
    def server_ops_per_call(self) -> float | None:
        """Of the mix, by what the server's own counters say of the protocol; None where they were not looked at."""
        if self.protocol is None or not self.protocol.server:
            return None
        every = self.protocol.server
        return sum(
            share * Demand(**{per: sum(getattr(every[op], per).values()) for per in _PARTS}).of(*self._usual(op))
            for op, share in self.mix.items()
        )

    @property
    def ceiling_calls_per_s(self) -> float:
        """Calls a second that the busier unit allows for calls of `mix`, scaled; infinite at no service time.

        The link is left out: it bounds bytes.
        """
        demand = [sum(share * self._mean(op, unit) for op, share in self.mix.items()) / 1e9 for unit in _UNITS]
        busiest = max(demand[0] / self.metadata.servers, demand[1] / self.data.servers)
        return 1 / busiest if busiest else float("inf")

    @property
    def ceiling_filer_ops_per_s(self) -> float:
        """The same in filer ops."""
        return self.ceiling_calls_per_s * self.filer_ops_per_call

    def _mean(self, op: Op, what: str) -> float:
        """Of a call of the mix's sizes."""
        demand: Demand = getattr(self.cost(op), what)
        return demand.of(*self._usual(op))

    def _usual(self, op: Op) -> tuple[float, float]:
        """Entries and transfers: a call begins half a transfer more than its bytes fill, on average."""
        moved = {Op.READ: self.sizes.read_bytes, Op.WRITE: self.sizes.write_bytes}.get(op, 0.0)
        begun = 0.0 if self.protocol is None or not moved else moved / self.protocol.transfer_bytes + 0.5
        return self.sizes.entries, begun

    @property
    def choice(self) -> FilerChoice:
        """The options by which a job names this filer."""
        return FilerChoice(source=self.source, name=self.name, scale=self.scale, digest=self.digest)

    @property
    def digest(self) -> str:
        """Differs for filers that behave differently."""
        return hashlib.sha256(repr(self._numbers()).encode()).hexdigest()[:16]

    def _numbers(self) -> list[Any]:
        services: list[Any] = [round(sum(self._each(op))) for op in Op]
        found = [self.metadata.servers, self.data.servers, services, self.link_ns_per_byte, self.disk]
        if self.protocol is not None:
            found += [[asdict(self.cost(op)) for op in Op], self.protocol.transfer_bytes]
            found += [asdict(self.cost(op, indexing=True)) for op in sorted(self.protocol.index_calls)]
        more = (one for one, usual in ((self.client, Client()), (self.directory, Directory())) if one != usual)
        return [*found, *more]

    def _each(self, op: Op) -> tuple[float, float]:
        cost = self.cost(op)
        return cost.metadata_ns.each, cost.data_ns.each


_UNITS = ("metadata_ns", "data_ns")
_PARTS = ("each", "entry", "transfer")


MAX_FILE_BYTES = 65_536
_MOST_SAID = 60  # characters of a wrong value
_MOST_BITS = 1000  # of a whole number; far more of them cannot be written out


def read_table(path: Path, what: str, known: Collection[str]) -> dict[str, Any]:
    """The whole file; `what` names it in errors, `known` what else there is. Raises UsageError."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
        if len(raw) > MAX_FILE_BYTES:
            raise UsageError(f"{what}: the file has more than {MAX_FILE_BYTES} bytes; is it the right one?")
        return tomllib.loads(raw.decode("utf-8"))
    except OSError as e:
        raise UsageError(f"{read_problem(what, e)}; give {', '.join(known)}, or a TOML file") from e
    except (ValueError, RecursionError) as e:  # not TOML, no text, no path, a number of thousands of digits, depth
        raise UsageError(f"{read_problem(what, e)}; it must be TOML") from e


class Tables:
    """Takes values out of tables; every method raises UsageError that begins with `where`."""

    def __init__(self, where: str) -> None:
        self._where = where

    def wrong(self, what: str) -> UsageError:
        return UsageError("".join(c if c.isprintable() else "?" for c in f"{self._where}: {what}"))

    def text(self, table: Mapping[str, Any], key: str) -> str:
        value = table.get(key, "")
        if not isinstance(value, str):
            raise self.wrong(f"{key} must be a text")
        return value

    def name(self, table: Mapping[str, Any], longest: int) -> str:
        """A printable text for labels, under `name`."""
        name = self.text(table, "name")
        if not name or len(name) > longest or not name.isprintable() or name != name.strip():
            raise self.wrong(f"name must be a printable text of at most {longest} characters")
        return name

    def table(self, table: Mapping[str, Any], key: str, at: str = "") -> Mapping[str, Any]:
        value = table.get(key, {})
        if not isinstance(value, dict):
            raise self.wrong(f"{at}{key} must be a table")
        return value

    def known(self, table: Mapping[str, Any], keys: Collection[str], at: str) -> None:
        """Raises UsageError for a key that is not one of these."""
        for key in table:
            if key not in keys:
                raise self.wrong(f"there is no {at}{key}; there is {', '.join(sorted(keys))}")

    def number(
        self, table: Mapping[str, Any], key: str, at: str, default: float, high: float, *, low: float = 0.0
    ) -> float:
        value = table.get(key, default)
        if not _a_number(value):
            raise self.wrong(f"{at}{key} is {_said(value)}; it must be a number")
        if not low <= value <= high:
            raise self.wrong(f"{at}{key} is {_said(value)}; it must be from {low:g} to {high:g}")
        return float(value)

    def whole(self, table: Mapping[str, Any], key: str, at: str, default: int, high: int, *, low: int = 1) -> int:
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.wrong(f"{at}{key} is {_said(value)}; it must be a whole number from {low} to {high:,}")
        return value


def _a_number(value: object) -> bool:
    """A finite one; whole ones may be of any size."""
    return not isinstance(value, bool) and (
        isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    )


def _said(value: object) -> str:
    """The value as in the file, or its beginning."""
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return "of more than 300 digits"
    said = f"{value:g}" if isinstance(value, float) else repr(value)
    return said if len(said) <= _MOST_SAID else f"{said[:_MOST_SAID]}…"


PROFILES = Path(__file__).parent / "profiles"
MAX_SERVICE_US = 60e6
MAX_LINK_BYTES_PER_S = 1e12
MAX_ENTRY_US = 1e4
MAX_DISK_MS = 60_000.0
MAX_SCALE = 1e6
MAX_NAME = 40
MAX_CACHE_BYTES = 1 << 50
MAX_CALL_BYTES = 1e9
_METADATA_OPS = frozenset(Op) - DATA_OPS
_MIX_TOLERANCE = 0.001
_DEFAULT = "default"  # in service times: of every op that is not named
_TABLES = ("metadata", "data", "link", "disk", "directory", "client", "mix", "sizes")


def profile_names() -> list[str]:
    """Profiles that come with the product, `none` last."""
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
    return _Reader(f"filer {name_or_path}", ours=path.parent == PROFILES).model(table, source, path.parent)


def copied_filer(file: Path, directory: Path) -> Path:
    """Copy the file of a filer, with that of a protocol next to it, into a directory; the copy. Raises UsageError, StorageFault."""
    model, here = load_filer(str(file)), file.absolute().parent
    files = [file.absolute()]
    if model is not None and model.protocol is not None and Path(model.protocol.source).is_relative_to(here):
        files.append(Path(model.protocol.source))
    try:
        for one in files:
            target = directory / one.relative_to(here)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(one, target)
    except OSError as error:
        raise StorageFault(
            f"{file} cannot be copied to {directory}: {error.strerror}", errno=error.errno or 0
        ) from error
    return directory / file.name


class _Reader(Tables):
    def __init__(self, where: str, *, ours: bool) -> None:
        super().__init__(where)
        self._ours = ours

    def model(self, table: Mapping[str, Any], source: str, beside: Path) -> FilerModel:
        self.known(table, ("name", "description", "scale", "protocol", *_TABLES), "")
        link, disk, client, sizes = (self.table(table, key) for key in ("link", "disk", "client", "sizes"))
        directory = self.table(table, "directory")
        self.known(directory, ("entry_us",), "directory.")
        self.known(link, ("bytes_per_s",), "link.")
        self.known(disk, ("read_ms", "read_miss", "write_ms", "write_miss"), "disk.")
        limit = {"ms": MAX_DISK_MS, "miss": 1.0}
        said = self.text(table, "protocol")
        protocol = load_protocol(said, beside) if said else None
        return FilerModel(
            name=self._filer_name(table),
            description=self.text(table, "description"),
            scale=self.number(table, "scale", "", 1.0, MAX_SCALE, low=1e-3),
            metadata=self._processor(table, "metadata", self._served(protocol, _METADATA_OPS, data=False)),
            data=self._processor(table, "data", self._served(protocol, DATA_OPS, data=True)),
            link_bytes_per_s=self.number(link, "bytes_per_s", "link.", 0.0, MAX_LINK_BYTES_PER_S, low=1000.0)
            if "bytes_per_s" in link
            else 0.0,
            disk=Disk(**{k: self.number(disk, k, "disk.", 0.0, limit[k.partition("_")[2]]) for k in disk}),
            mix=self._mix(table),
            source=source,
            protocol=protocol,
            client=self._client(client),
            sizes=self._sizes(sizes),
            directory=Directory(entry_us=self.number(directory, "entry_us", "directory.", 0.0, MAX_ENTRY_US)),
        )

    def _filer_name(self, table: Mapping[str, Any]) -> str:
        name = self.name(table, MAX_NAME)
        if name in profile_names() and not self._ours:
            raise self.wrong(
                f"name is {name!r}, which is a built-in profile; give another name, so that results show which one was used"
            )
        return name

    def _served(self, protocol: Protocol | None, calls: Collection[Op], *, data: bool) -> Collection[str]:
        """What one unit serves, by name."""
        if protocol is None:
            return [op.label for op in calls]
        return [name for name in protocol.ops if (name in protocol.data) == data]

    def _processor(self, table: Mapping[str, Any], name: str, served: Collection[str]) -> Processor:
        section = self.table(table, name)
        self.known(section, ("servers", "service_us"), f"{name}.")
        servers = self.whole(section, "servers", f"{name}.", 1, MAX_SERVERS)
        times = self.table(section, "service_us", f"{name}.")
        at = f"{name}.service_us."
        self.known(times, (_DEFAULT, *served), at)
        usual = self.number(times, _DEFAULT, at, 0.0, MAX_SERVICE_US)
        service = {op: self.number(times, op, at, usual, MAX_SERVICE_US) for op in sorted(served)}
        return Processor(servers=servers, service_us=service)

    def _client(self, table: Mapping[str, Any]) -> Client:
        self.known(table, ("cache_bytes", "reread_us", "round_trip_us"), "client.")
        return Client(
            cache_bytes=self.whole(table, "cache_bytes", "client.", 0, MAX_CACHE_BYTES, low=0),
            reread_us=self.number(table, "reread_us", "client.", 0.0, MAX_SERVICE_US),
            round_trip_us=self.number(table, "round_trip_us", "client.", 0.0, MAX_SERVICE_US),
        )

    def _sizes(self, table: Mapping[str, Any]) -> Sizes:
        self.known(table, ("entries", "read_bytes", "write_bytes"), "sizes.")
        return Sizes(**{key: self.number(table, key, "sizes.", 0.0, MAX_CALL_BYTES) for key in table})

    def _mix(self, table: Mapping[str, Any]) -> dict[Op, float]:
        shares = self.table(table, "mix")
        self.known(shares, [op.label for op in Op], "mix.")
        mix = {op: self.number(shares, op.label, "mix.", 0.0, 1.0) for op in Op if op.label in shares}
        if not mix:
            return {op: 1 / len(Op) for op in Op}
        if abs(sum(mix.values()) - 1) > _MIX_TOLERANCE:
            raise self.wrong(f"the shares in mix sum to {sum(mix.values()):g}; they must sum to 1")
        return mix
