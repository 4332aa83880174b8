"""The kind of file system that holds a path, from the kernel's mount table."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from core.errors import UsageError
from core.mounts import Reach, mounted_at, reach_of, read_mounts, storage_label
from core.names import display_name
from core.settings import Settings
from core.storage.whole import lies_in


def caches_itself(path: str | os.PathLike[str], mounts: bytes) -> bool:
    """Whether the storage of `path` may have a cache beyond this host's memory: network storage, or of unknown kind."""
    mount = mounted_at(path, mounts)
    return mount is None or reach_of(mount.kind, mount.source)[0] in (Reach.NETWORK, Reach.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a path was on."""

    label: str  # as `storage_label` returns it
    source: str  # of the mount: device, server and export
    path: str

    def __str__(self) -> str:
        return f"{self.label}, {self.source}, {self.path}"


def place_of(path: str | os.PathLike[str], mounts: bytes) -> Place:
    """What `path` is on."""
    mount = mounted_at(path, mounts)
    return Place(
        label=storage_label(path, mounts),
        source="unknown source" if mount is None else display_name(os.fsencode(mount.source)),
        path=display_name(os.fsencode(os.path.abspath(os.fsdecode(path)))),
    )


def on_one_storage(path: str | os.PathLike[str], other: str | os.PathLike[str], mounts: bytes) -> bool:
    """Whether two paths are on one file system; one that is mounted twice over a network is known by its source."""
    one, two = mounted_at(path, mounts), mounted_at(other, mounts)
    if one is None or two is None or one.device == two.device:
        return True
    same = (one.kind, one.source) == (two.kind, two.source)
    return same and reach_of(one.kind, one.source)[0] is Reach.NETWORK


def refuse_off_storage(output: Path, settings: Settings) -> None:
    """Raises UsageError for an output that is not on the storage under test of a system whose workers run by themselves: inside a
    container a relative path is in local scratch, and a job over it would measure that."""
    if settings.embedded:
        return
    mounts, real = read_mounts(), os.path.realpath(output)
    ours, theirs = mounted_at(real, mounts), mounted_at(settings.storage, mounts)
    if ours is None or theirs is None or ours.id == theirs.id or lies_in(Path(real), os.fspath(settings.storage)):
        return
    raise UsageError(
        f"{output} is on {place_of(real, mounts)}, not on the storage under test ({place_of(settings.storage, mounts)});"
        f" give a directory on that, such as {settings.storage}/corpora/{Path(real).name}"
    )
