"""The NFS client's own counters, from /proc/self/mountstats (statvers 1.0 and 1.1, RPC iostats 1.0 and 1.1).

One block for each mount: a `device` line, then lines by keyword, then a line for each op (its numbers are named in
`nfs_mount.OpCounts`). Kernels add lines and fields, so unknown lines are passed over (an `impl_id` may even hold line breaks)
and further fields ignored. A known line that is damaged spoils its mount, never the others and never the caller:
that mount is left out and `problems` says which line was wrong and how.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from core.mounts import unescaped
from monitoring.filer.mountlines import (
    LineError,
    age_line,
    byte_counts,
    events_line,
    op_counts,
    options_line,
    transport_line,
)
from monitoring.filer.nfs_mount import ByteCounts, NfsMount, OpCounts, Transport

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
    """What could be read, and what could not."""

    mounts: tuple[NfsMount, ...]
    problems: tuple[Problem, ...]


@dataclass(slots=True)
class _Block:
    """A mount while its lines come in."""

    export: str
    point: str
    kind: str
    statvers: str
    line: int
    options: Mapping[str, str] = field(default_factory=dict)
    age_s: int = 0
    caps: str = ""
    events: Mapping[str, int] = field(default_factory=dict)
    bytes: ByteCounts | None = None
    transports: list[Transport] = field(default_factory=list)
    ops: dict[str, OpCounts] | None = None

    def take(self, line: str) -> None:
        """One more line; raises LineError when it is damaged."""
        name, colon, rest = line.strip().partition(":")
        if self.ops is not None:
            if colon:
                self.ops[name] = op_counts(rest)
            elif name:
                raise LineError(f"{name[:40]!r} is not an op")
        elif name == "per-op statistics":
            self.ops = {}
        elif name == "opts" and colon:
            self.options = options_line(rest)
        elif name == "age" and colon:
            self.age_s = age_line(rest)
        elif name == "caps" and colon:
            self.caps = rest.strip()
        elif name == "events" and colon:
            self.events = events_line(rest)
        elif name == "bytes" and colon:
            self.bytes = byte_counts(rest)
        elif name == "xprt" and colon:
            self.transports.append(transport_line(rest, self.statvers))

    def mount(self) -> NfsMount:
        """The whole of it; raises LineError when the file ended before its counters."""
        if self.bytes is None or not self.ops:
            raise LineError(f"{self.export} has no {'per-op statistics' if self.bytes else 'bytes line'}: cut short?")
        return NfsMount(
            export=self.export,
            point=self.point,
            kind=self.kind,
            statvers=self.statvers,
            version=self.options.get("vers", ""),
            options=MappingProxyType(dict(self.options)),
            age_s=self.age_s,
            caps=self.caps,
            events=MappingProxyType(dict(self.events)),
            bytes=self.bytes,
            transports=tuple(self.transports),
            ops=MappingProxyType(self.ops),
        )


def parse_mountstats(data: bytes) -> Mountstats:
    """Every NFS mount in the file's order. Raises nothing, whatever the bytes are."""
    mounts: list[NfsMount] = []
    problems: list[Problem] = []
    for head, lines in _blocks(os.fsdecode(data)):
        at = head[0]
        try:
            block = _block(*head)
            if block is None:
                continue
            for at, line in lines:  # noqa: B007 — also where the problem is
                block.take(line)
            at = head[0]
            mounts.append(block.mount())
        except LineError as error:
            problems.append(Problem(at, str(error)))
    return Mountstats(tuple(mounts), tuple(problems))


def _blocks(text: str) -> Iterator[tuple[tuple[int, str], list[tuple[int, str]]]]:
    """Each `device` line with what follows it; lines before the first are no mount's."""
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


def _block(number: int, line: str) -> _Block | None:
    """The beginning of a mount; None for one that is not NFS. Raises LineError."""
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
    return _Block(unescaped(fields[1]), unescaped(fields[4]), fields[7], version, number)
