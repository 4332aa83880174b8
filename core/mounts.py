"""The kernel's mount table (proc_pid_mountinfo(5)): what is mounted where, read without touching what is mounted."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

MOUNTINFO = Path("/proc/self/mountinfo")


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Linux's own file systems on devices of this host. A device may itself be a volume of an array (iSCSI, Fibre Channel):
# the mount table does not show that. Nor does it show what is below a union or another view of directories (mergerfs,
# bindfs, aufs), which may be NFS: those are in neither list. Overlays are containers' roots, written to on the host;
# their lower directories are assumed to be there too.
_LOCAL = _names(
    "ext2 ext3 ext4 xfs btrfs zfs bcachefs f2fs jfs reiserfs nilfs2 ntfs ntfs3 vfat msdos exfat hfsplus udf iso9660"
    " squashfs erofs overlay fuseblk fuse.fuse-overlayfs"
)
_MEMORY = frozenset(("tmpfs", "ramfs", "devtmpfs"))
_NETWORK = _names(
    "nfs nfs4 cifs smb3 smbfs ceph glusterfs lustre gpfs beegfs afs coda 9p virtiofs orangefs pvfs2 ocfs2 gfs2 wekafs"
    " panfs quobyte moosefs saunafs lizardfs vboxsf"
)
# Programs behind FUSE mounts, by the subtype (`fuse.NAME`) or by how their source begins where there is none.
_FUSE_NETWORK = _names(
    "sshfs glusterfs s3fs rclone juicefs mount-s3 goofys geesefs s3backer gcsfuse blobfuse blobfuse2 ceph ceph-fuse mfs"
    " moosefs saunafs sfs lizardfs seaweedfs weed quobyte hdfs fuse_dfs cvmfs2 curlftpfs davfs davfs2 smbnetfs tigrisfs"
    " alluxio 3fs dfuse cubefs chubaofs orangefs xtreemfs cephfs"
)
_FUSE_SOURCES = (
    ("mfs#", "moosefs"), ("mfsmount", "moosefs"), ("sfs#", "saunafs"), ("lizardfs#", "lizardfs"),
    ("JuiceFS:", "juicefs"), ("seaweedfs", "seaweedfs"), ("s3fs", "s3fs"), ("sshfs#", "sshfs"), ("ceph-fuse", "ceph"),
)  # fmt: skip

_OCTAL = re.compile(rb"\\([0-3][0-7]{2})")


class Reach(StrEnum):
    """The place where a file system stores its bytes, as far as its type shows it."""

    LOCAL = "local storage"
    NETWORK = "network storage"
    MEMORY = "memory"
    UNKNOWN = "unknown whether local or network storage"


def reach_of(kind: str, source: str) -> tuple[Reach, str]:
    """The reach of a mount by its type and source, and the file system's name, which the type `fuse` does not have."""
    if kind in _MEMORY:
        return Reach.MEMORY, kind
    if kind in _NETWORK:
        return Reach.NETWORK, kind
    if kind in _LOCAL:
        return Reach.LOCAL, kind
    program = kind.removeprefix("fuse.") if kind.startswith("fuse.") else ""
    if program in _FUSE_NETWORK:
        return Reach.NETWORK, kind
    if kind == "fuse":
        for beginning, name in _FUSE_SOURCES:
            if source.startswith(beginning):
                return Reach.NETWORK, f"fuse, {name}"
    return Reach.UNKNOWN, kind


@dataclass(frozen=True, slots=True)
class MountEntry:
    """One line of mountinfo. Names are as `os.fsdecode` gives them."""

    id: int
    device: str  # MAJOR:MINOR of the file system; major 0 where it is on no block device
    point: str
    kind: str  # file system type
    source: str  # block device, server:export, or any text of the file system
    options: tuple[str, ...]  # of the mount and of the file system

    @property
    def reach(self) -> Reach:
        """The place where it stores its bytes, as far as its type shows it."""
        return reach_of(self.kind, self.source)[0]


def unescaped(text: str) -> str:
    r"""A field of the kernel's tables with its octal escapes decoded."""
    if "\\" not in text:
        return text
    return os.fsdecode(_OCTAL.sub(lambda match: bytes([int(match[1], 8)]), os.fsencode(text)))


def parse_mountinfo(text: str) -> list[MountEntry]:
    """Every mount in the table's order; unknown lines are skipped."""
    entries = (_entry(line) for line in text.split("\n"))
    return [entry for entry in entries if entry is not None]


def _entry(line: str) -> MountEntry | None:
    left, separator, right = line.partition(" - ")
    fields, rest = left.split(" "), right.split(" ")
    if not separator or len(fields) < 6 or len(rest) < 3 or not re.fullmatch("[0-9]{1,10}", fields[0]):
        return None
    options = dict.fromkeys([*fields[5].split(","), *rest[2].split(",")])
    return MountEntry(int(fields[0]), fields[2], unescaped(fields[4]), rest[0], unescaped(rest[1]), tuple(options))


def read_mountinfo(path: Path = MOUNTINFO) -> list[MountEntry]:
    """The mount table of this process; empty where there is none."""
    try:
        return parse_mountinfo(os.fsdecode(path.read_bytes()))
    except OSError:
        return []


def holding(path: str | os.PathLike[str], entries: Sequence[MountEntry]) -> MountEntry | None:
    """The mount that holds an absolute path without symbolic links; of mounts at the same point, the last one."""
    name = os.fspath(path)
    best: MountEntry | None = None
    for entry in entries:
        inside = name == entry.point or name.startswith(entry.point.rstrip("/") + "/")
        if inside and (best is None or len(entry.point) >= len(best.point)):
            best = entry
    return best


def mount_of(directory: Path) -> MountEntry | None:
    """The mount that a directory is on; None where /proc does not show it."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            info = Path(f"/proc/self/fdinfo/{descriptor}").read_text()
        finally:
            os.close(descriptor)
        match = re.search(r"^mnt_id:\s*(\d+)$", info, re.MULTILINE)
        mounts = read_mountinfo()
    except OSError:
        return None
    return next((entry for entry in mounts if match and entry.id == int(match[1])), None)


def storage_label(path: str | os.PathLike[str], mounts: Sequence[MountEntry]) -> str:
    """The name of the storage in a result: `local storage (ext4)`, `network storage (nfs4)`, `memory (tmpfs)`.

    A type that is known neither as local nor as network storage is labelled unknown: a FUSE program may be anything."""
    mount = mounted_at(path, mounts)
    if mount is None:
        return f"{Reach.UNKNOWN} (not in the mount table)"
    reach, name = reach_of(mount.kind, mount.source)
    return f"{reach} ({name}{f' from {mount.source}' if reach is Reach.UNKNOWN else ''})"


def mounted_at(path: str | os.PathLike[str], mounts: Sequence[MountEntry]) -> MountEntry | None:
    """The mount that holds a path, links followed; None where there is none."""
    return holding(os.path.realpath(os.fsdecode(path)), mounts)


def in_memory(path: str | os.PathLike[str]) -> bool:
    """Whether `path` is on a file system in memory."""
    mount = mounted_at(path, read_mountinfo())
    return mount is not None and mount.reach is Reach.MEMORY
