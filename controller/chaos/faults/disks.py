"""Real small disks that are full or read-only: the storage root's, the workers' scratch, the database's."""

from __future__ import annotations

from collections.abc import Callable

from controller.chaos.disk import Disk, cannot
from controller.chaos.faults.base import Effect, Fault, Scene
from controller.chaos.plan import Reach
from core.errors import SystemFault

FAMILY = "disks"


def _filled(name: str) -> Callable[[Scene], Effect | None]:
    def strike(scene: Scene) -> Effect | None:
        disk = scene.site.disks.get(name)
        if disk is None:
            return None
        disk.fill()
        return Effect(what=f"{disk.directory} full", undo=disk.empty)

    return strike


def _read_only(scene: Scene) -> Effect | None:
    """Refused while a file is open for writing: asked again in the moments to come."""
    disk = scene.site.disks.get("storage")
    if disk is None:
        return None
    try:
        disk.read_only(True)
    except SystemFault:
        return Effect(what="busy, full instead", undo=_fill(disk))
    return Effect(what=f"{disk.directory} read-only", undo=lambda: disk.read_only(False))


def _fill(disk: Disk) -> Callable[[], None]:
    disk.fill()
    return disk.empty


def _full(name: str, what: str) -> Fault:
    return Fault(
        reach=Reach(name=f"{name}-disk-full"),
        family=FAMILY,
        what=what,
        strike=_filled(name),
        seconds=(0.5, 4.0),
        own_disks=True,
        missing=cannot,
    )


FAULTS = (
    _full("storage", "the storage root's file system (ext4 in a file) is full"),
    _full("scratch", "the workers' scratch file system is full"),
    _full("database", "the database's file system is full"),
    Fault(
        reach=Reach(name="storage-disk-read-only"),
        family=FAMILY,
        what="the storage root's file system is remounted read-only",
        strike=_read_only,
        seconds=(0.5, 4.0),
        own_disks=True,
        missing=cannot,
    ),
)
