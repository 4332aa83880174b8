"""How the file system under a directory is mounted (proc(5), /proc/self/mountinfo)."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from controller.doctor.finding import Finding, bad, ok, warn
from core.mounts import Reach, reach_of, read_mountinfo


@dataclass(frozen=True, slots=True)
class Mount:
    """What matters here of a line of mountinfo."""

    point: str
    kind: str
    source: str
    options: tuple[str, ...]  # of the mount and of the file system

    @property
    def reach(self) -> Reach:
        """Where its bytes lie, as far as its type tells."""
        return reach_of(self.kind, self.source)[0]


def mount_of(directory: Path) -> Mount | None:
    """The mount that a directory is on; None where /proc does not tell."""
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
    here = [entry for entry in mounts if match and entry.id == int(match[1])]
    return Mount(here[0].point, here[0].kind, here[0].source, here[0].options) if here else None


def judge_mount(mount: Mount | None, *, filer: bool) -> Finding:
    """What the mount means for the storage under test (`filer`) or for scratch."""
    role = "storage" if filer else "scratch"
    if mount is None:
        return warn(f"{role}: /proc has no entry for its mount", "run on Linux with /proc mounted")
    said = f"{role}: {mount.kind} from {mount.source} on {mount.point} ({','.join(mount.options)})"
    if "ro" in mount.options:
        return bad(said + ": read-only", "mount it read-write")
    if filer and mount.reach is Reach.MEMORY:
        return warn(
            said + ": memory, so results are not about storage", "set EDBENCH_STORAGE to the storage under test"
        )
    if filer and mount.kind == "overlay":
        return warn(said + ": a container's own layer", "mount the storage under test and set EDBENCH_STORAGE to it")
    if filer and "soft" in mount.options:
        return warn(said + ": soft NFS mounts lose writes silently", "mount it with hard")
    if not filer and mount.reach is Reach.NETWORK:
        return warn(said + ": scratch is on a filer", "set EDBENCH_SCRATCH to a local directory")
    return ok(said)
