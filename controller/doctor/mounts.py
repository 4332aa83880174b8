"""How the file system under a directory is mounted (proc(5), /proc/self/mountinfo)."""

from __future__ import annotations

from controller.doctor.finding import Finding, bad, ok, warn
from core.mounts import Mount, Reach


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
