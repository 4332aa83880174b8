"""What kind of file system a path lies on, from the kernel's mount table."""

from __future__ import annotations

import os

from core.mounts import MOUNTINFO, holding, parse_mountinfo

NETWORK = frozenset(
    [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "ceph",
        "glusterfs",
        "lustre",
        "gpfs",
        "beegfs",
        "afs",
        "9p",
        "virtiofs",
        "fuse.sshfs",
        "fuse.glusterfs",
        "fuse.s3fs",
        "fuse.rclone",
        "fuse.juicefs",
        "fuse.mount-s3",
    ]
)
MEMORY = frozenset({"tmpfs", "ramfs"})


def file_system_of(path: str | os.PathLike[str], mounts: bytes) -> str:
    """Type of the file system that holds `path`, `unknown` when the table does not say.

    `mounts` is the text of mountinfo, see proc_pid_mountinfo(5); of equal mount points the last one is in force.
    """
    mount = holding(os.path.realpath(os.fsdecode(path)), parse_mountinfo(os.fsdecode(mounts)))
    return "unknown" if mount is None else mount.kind


def storage_label(path: str | os.PathLike[str], mounts: bytes) -> str:
    """How a result names its storage: `local storage (ext4)`, `network storage (nfs4)`, `memory (tmpfs)`."""
    kind = file_system_of(path, mounts)
    if kind in NETWORK:
        return f"network storage ({kind})"
    if kind in MEMORY:
        return f"memory ({kind})"
    return f"local storage ({kind})"


def read_mounts() -> bytes:
    """The mount table; empty where there is none."""
    try:
        return MOUNTINFO.read_bytes()
    except OSError:
        return b""
