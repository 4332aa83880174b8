"""The source changes while it is read, or holds files that kill whoever reads them."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from chaos.faults.base import Effect, Fault, Scene, Striking
from chaos.source import Source, swap
from chaos.worker_plugin import PLACES, WAYS, poison

_OWN: Mapping[str, Any] = {"kinds": ("two-pass", "single-pass", "whoosh"), "alone": True, "needs": "source"}


def _spoiled(change: Callable[[Path], None], what: str) -> Striking:
    """Spoil one loose file; whatever is in it may differ then, and nothing else."""

    def strike(scene: Scene) -> Effect | None:
        source = scene.source
        if not source.own or not source.candidates:
            return None
        chosen = source.candidates[scene.choice % len(source.candidates)]
        source.spoiled.append(chosen)
        change(source.path(chosen))
        return Effect(f"{what}: {chosen}")

    return strike


def _shrink(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _grow(path: Path) -> None:
    with path.open("ab") as out:
        out.write(b"and more\n" * 1_000)


def _change(path: Path) -> None:
    """Other bytes of the same length, under a mapping or an open descriptor of a reader."""
    size = path.stat().st_size
    with path.open("r+b") as out:
        out.write(b"\x5a" * size)


def _poisoned(way: str) -> Fault:
    """In the source from the beginning; the strike itself is a plain look."""

    def prepare(source: Source) -> None:
        custodian = source.candidates[0].partition("/")[0]
        for place in PLACES:
            name = f"{custodian}/poison {way} {place}.bin"
            source.path(name).write_bytes(poison(way, place))
            source.spoiled.append(name)
            source.added.append(name)

    return Fault(
        f"poison-{way}",
        f"two files whose parser does this: {way}",
        lambda _: Effect(way),
        moments=("claim",),
        prepare=prepare,
        **_OWN,
    )


# name, what becomes of a file's path, what that is
_CHANGES: tuple[tuple[str, Callable[[Path], None], str], ...] = (
    ("changed", _change, "a source file gets other bytes of the same length"),
    ("shrunk", _shrink, "a source file loses its second half"),
    ("grown", _grow, "a source file grows"),
    ("removed", os.unlink, "a source file is removed"),
    ("swapped-for-a-link", lambda path: swap(path, "link"), "a source file becomes a link to a file outside"),
    ("swapped-for-a-directory", lambda path: swap(path, "directory"), "a source file becomes a directory"),
    ("swapped", lambda path: swap(path, "file"), "another file is renamed over a source file"),
)

FAULTS = tuple(Fault(f"source-{name}", what, _spoiled(change, name), **_OWN) for name, change, what in _CHANGES)
POISON = tuple(_poisoned(way) for way in WAYS)
