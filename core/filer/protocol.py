"""What a call of ours becomes on its way to a filer: the filer ops of each call, kept as data (`protocols/*.toml`).

A *call* is what the storage layer did, a *filer op* what the array counted (design §4). How many filer ops a call takes
depends on the protocol between them, on the entries of a listing and on the bytes moved; it is measured where the protocol
is known, and a stated assumption where it is not. A filer op belongs to one of the filer's two units, metadata or data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.filer.tables import Tables, read_table
from core.operations import Op

PROTOCOLS = Path(__file__).parent / "protocols"
MAX_OPS = 10_000.0  # of one kind, for one call, entry or transfer
MAX_TRANSFER_BYTES = 1 << 30
_MAX_TEXT = 400
_PER = ("entry", "transfer")

Ops = Mapping[str, float]  # filer ops by name; means, so broken numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """The filer ops of one call."""

    each: Ops  # whatever it asks for
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
    """One of ours by name, or a file, relative to the directory `beside`; raises UsageError in one line."""
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
