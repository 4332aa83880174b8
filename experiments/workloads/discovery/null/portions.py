"""The corpus in portions: each with its extracted children needs no more memory than null storage may hold.

What a loose file needs is not guessed: the run on the storage under test, which precedes its null baseline, has it in
its ledger.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from controller.databases import JobHandle
from core.errors import StorageFault
from core.names import display_name
from sql.faces.runs import RUNS


@dataclass(frozen=True, slots=True)
class Portion:
    """Loose files that are worked on together, by their paths relative to the source, and the bytes they need."""

    files: tuple[bytes, ...]
    room: int


def needs_of(handles: Sequence[JobHandle], *, copies: bool) -> dict[bytes, int]:
    """What each loose file needs by its path, in bytes: a copy of it, and what each job takes out of it and writes.

    `copies`: each job reads a copy of its own, made from that one. Some hundred bytes of memory a loose file. Raises
    DatabaseFault.
    """
    needs: dict[bytes, int] = {}
    for handle in handles:
        with handle.database.transaction() as conn:
            for need in RUNS.loose_needs(conn, job=handle.id):
                path = bytes(need.path)
                own = need.inside + (need.itself if copies else 0)
                needs[path] = needs.get(path, need.itself) + own
    return needs


def portions_of(needs: Mapping[bytes, int], cap: int) -> tuple[Portion, ...]:
    """As few as neighbours allow: files in the order of their paths. Raises StorageFault for one that needs more than
    `cap` bytes by itself."""
    return tuple(_cut(needs, cap))


def _cut(needs: Mapping[bytes, int], cap: int) -> Iterator[Portion]:
    files: list[bytes] = []
    room = 0
    for path in sorted(needs):
        need = needs[path]
        if need > cap:
            raise StorageFault(
                f"{display_name(path)} with its extracted children needs {need / 1e9:,.3f} GB, and null storage may hold"
                f" {cap / 1e9:,.3f} GB"
            )
        if files and room + need > cap:
            yield Portion(tuple(files), room)
            files, room = [], 0
        files.append(path)
        room += need
    if files:
        yield Portion(tuple(files), room)
