"""Calls of the storage layer that fail, are short or take long, in every worker, for a while (core.storage.faulty_os)."""

from __future__ import annotations

import errno
from collections.abc import Callable

from controller.chaos.faults.base import Effect, Fault, Scene
from controller.chaos.plan import Reach

FAMILY = "storage"
_READING = ("scan", "stat", "open", "read")
_WRITING = ("create", "write", "mkdir", "rename", "close")
_TIMES = 3  # calls that fail, unless it says otherwise


def _injected(ops: tuple[str, ...], answer: str, times: int = _TIMES) -> Callable[[Scene], Effect]:
    """So many of these calls get this answer, from now on; then it is over by itself."""

    def strike(scene: Scene) -> Effect:
        left = [times]
        mine = (ops[scene.choice % len(ops)],) if answer.startswith("errno") else ops

        def standing(moment: str, detail: str, _pid: int) -> str:
            if moment != "storage" or detail.partition(" ")[0] not in mine or not left[0]:
                return ""
            left[0] -= 1
            return answer

        return Effect(
            what=f"{answer} for {times} calls: {', '.join(mine)}", undo=scene.ear.stand(standing, storage=True)
        )

    return strike


def _error(name: str, number: int, ops: tuple[str, ...], what: str) -> Fault:
    return Fault(
        reach=Reach(name=f"storage-{name}"),
        family=FAMILY,
        what=what,
        strike=_injected(ops, f"errno {number}"),
        seconds=(1.0, 3.0),
    )


FAULTS = (
    _error("eio", errno.EIO, (*_READING, *_WRITING), "EIO from some calls of one sort, reading or writing"),
    _error("estale", errno.ESTALE, (*_READING, *_WRITING), "ESTALE from some calls of one sort, reading or writing"),
    _error("enospc", errno.ENOSPC, ("create", "write", "mkdir", "close"), "ENOSPC from some calls that write"),
    _error("eacces", errno.EACCES, ("create", "mkdir", "rename"), "EACCES from some calls that write"),
    _error("emfile", errno.EMFILE, ("scan", "open", "create"), "EMFILE from some calls that open"),
    _error("close", errno.EIO, ("close",), "a close that fails"),
    _error("fsync", errno.EIO, ("fsync",), "an fsync that fails (the one at the end of every job)"),
    Fault(
        reach=Reach(name="storage-short"),
        family=FAMILY,
        what="reads and writes that move half of what was asked for",
        strike=_injected(("read", "write"), "short", times=400),
        seconds=(1.0, 3.0),
    ),
    Fault(
        reach=Reach(name="storage-slow"),
        family=FAMILY,
        what="one call in a slot that takes 5 s, longer than a lease",
        strike=_injected((*_READING, *_WRITING), "wait 5", times=1),
        seconds=(1.0, 2.0),
    ),
    Fault(
        reach=Reach(name="storage-hung"),
        family=FAMILY,
        what="one call in a slot that takes 30 s",
        strike=_injected((*_READING, *_WRITING), "wait 30", times=1),
        seconds=(1.0, 2.0),
    ),
)
