"""The servers of the file system that the storage root lies on, killed and brought back: a mount that fails or hangs."""

from __future__ import annotations

from chaos.faults.base import FOREVER, Effect, Fault, Scene


def _killed(scene: Scene) -> Effect | None:
    servers = scene.site.servers
    if servers is None or servers.away:
        return None
    servers.kill()
    return Effect(f"the servers of {servers.mount} killed", servers.start)


FAULTS = (
    Fault(
        "servers-killed",
        "the servers of the storage root's file system are killed, and come back",
        _killed,
        seconds=(0.5, 10.0),
        needs="servers",
    ),
    Fault(
        "servers-away",
        "the servers of the storage root's file system are killed, and come back only when the job has ended or is suspended",
        _killed,
        seconds=(FOREVER, FOREVER),
        needs="servers",
    ),
)
