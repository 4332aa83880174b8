"""What kind of file system a path lies on, from the kernel's mount table."""

from __future__ import annotations

import os

from core.mounts import MOUNTINFO, MountEntry, Reach, holding, parse_mountinfo, reach_of


def in_memory(path: str | os.PathLike[str], mounts: bytes) -> bool:
    """Whether `path` lies on a file system that is memory."""
    mount = _mount_of(path, mounts)
    return mount is not None and reach_of(mount.kind, mount.source)[0] is Reach.MEMORY


def caches_itself(path: str | os.PathLike[str], mounts: bytes) -> bool:
    """Whether `path` may lie on storage with a cache beyond this host's memory: network storage, or it cannot be told."""
    mount = _mount_of(path, mounts)
    return mount is None or reach_of(mount.kind, mount.source)[0] in (Reach.NETWORK, Reach.UNKNOWN)


def storage_label(path: str | os.PathLike[str], mounts: bytes) -> str:
    """How a result names its storage: `local storage (ext4)`, `network storage (nfs4)`, `memory (tmpfs)`.

    A type that is neither known as local nor as network storage is said to be that: a FUSE program may be anything.
    """
    mount = _mount_of(path, mounts)
    if mount is None:
        return f"{Reach.UNKNOWN} (the mount table does not say)"
    reach, name = reach_of(mount.kind, mount.source)
    return f"{reach} ({name}{f' from {mount.source}' if reach is Reach.UNKNOWN else ''})"


def storage_name(path: str | os.PathLike[str], mounts: bytes) -> str:
    """The storage under `path` for people: `filer:/export (nfs4)`, `/dev/sda1 (ext4)`; the path alone without a mount."""
    mount = _mount_of(path, mounts)
    return os.fsdecode(path) if mount is None else f"{mount.source} ({mount.kind})"


def _mount_of(path: str | os.PathLike[str], mounts: bytes) -> MountEntry | None:
    return holding(os.path.realpath(os.fsdecode(path)), parse_mountinfo(os.fsdecode(mounts)))


def read_mounts() -> bytes:
    """The mount table; empty where there is none."""
    try:
        return MOUNTINFO.read_bytes()
    except OSError:
        return b""
