"""The kind of file system that has a path, from the kernel's mount table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import UsageError
from core.mounts import MountEntry, Reach, mounted_at, read_mountinfo, storage_label
from core.names import display_name
from core.settings import Settings
from core.storage.whole import is_within


def caches_itself(path: str | os.PathLike[str], mounts: Sequence[MountEntry]) -> bool:
    """Return whether the storage of `path` may have a cache beyond this host's memory: network storage, or of unknown
    kind."""
    mount = mounted_at(path, mounts)
    return mount is None or mount.reach in (Reach.NETWORK, Reach.UNKNOWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The file system that a path is on."""

    label: str  # as `storage_label` returns it
    source: str  # of the mount: device, server and export
    path: str

    def __str__(self) -> str:
        return f"{self.label}, {self.source}, {self.path}"


def place_of(path: str | os.PathLike[str], mounts: Sequence[MountEntry]) -> Place:
    """Return the file system that `path` is on."""
    mount = mounted_at(path, mounts)
    return Place(
        label=storage_label(path, mounts),
        source="unknown source" if mount is None else display_name(os.fsencode(mount.source)),
        path=display_name(os.fsencode(os.path.abspath(os.fsdecode(path)))),
    )


def on_one_storage(path: str | os.PathLike[str], other: str | os.PathLike[str], mounts: Sequence[MountEntry]) -> bool:
    """Return whether two paths are on one file system; one that is mounted twice over a network is identified by its
    source."""
    one, two = mounted_at(path, mounts), mounted_at(other, mounts)
    if one is None or two is None or one.device == two.device:
        return True
    return (one.kind, one.source) == (two.kind, two.source) and one.reach is Reach.NETWORK


def refuse_off_storage(output: Path, settings: Settings) -> None:
    """Raise UsageError for an output outside the storage under test, if the workers run apart from this command: inside
    a container a relative path is in local scratch, and a job over it would measure that."""
    if settings.embedded:
        return
    mounts, real = read_mountinfo(), os.path.realpath(output)
    ours, theirs = mounted_at(real, mounts), mounted_at(settings.storage, mounts)
    if ours is None or theirs is None or ours.id == theirs.id or is_within(Path(real), os.fspath(settings.storage)):
        return
    raise UsageError(
        f"{output} is on {place_of(real, mounts)}, not on the storage under test ({place_of(settings.storage, mounts)});"
        f" give a directory on that, such as {settings.storage}/corpora/{Path(real).name}"
    )
