"""Real small disks that are full or read-only: the storage root's, the workers' scratch and shared memory, the database's."""

from collections.abc import Callable

from chaos.disk import Disk
from chaos.faults.base import Effect, Fault, Scene, Striking
from core.errors import SystemFault

_SECONDS = (0.5, 4.0)


def _filled(name: str) -> Striking:
    def strike(scene: Scene) -> Effect | None:
        disk = scene.site.disks.get(name)
        if disk is None:
            return None
        disk.fill()
        return Effect(f"{disk.directory} full", disk.empty)

    return strike


def _read_only(scene: Scene) -> Effect | None:
    """Refused while a file is open for writing: asked again in the moments to come."""
    disk = scene.site.disks.get("storage")
    if disk is None:
        return None
    try:
        disk.read_only(True)
    except SystemFault:
        return Effect("busy, full instead", _fill(disk))
    return Effect(f"{disk.directory} read-only", lambda: disk.read_only(False))


def _fill(disk: Disk) -> Callable[[], None]:
    disk.fill()
    return disk.empty


FAULTS = tuple(
    Fault(name, what, strike, seconds=_SECONDS, needs="disks")
    for name, what, strike in (
        ("storage-disk-full", "the storage root's file system (ext4 in a file) is full", _filled("storage")),
        ("scratch-disk-full", "the workers' scratch file system is full", _filled("scratch")),
        ("database-disk-full", "the database's file system is full", _filled("database")),
        ("storage-disk-read-only", "the storage root's file system is remounted read-only", _read_only),
    )
)
