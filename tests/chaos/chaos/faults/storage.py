"""Calls of the storage layer that fail, are short or take long, in every worker, for a while (chaos.faulty_os)."""

import errno

from chaos.faults.base import Effect, Fault, Scene, Striking

_READING = ("scan", "stat", "open", "read")
_WRITING = ("create", "write", "mkdir", "rename", "close")
# Where reading meets it, it is the file's trouble: `unreadable` (core.storage.errors).
_OF_A_FILE = f"errno {errno.EIO}"
_TIMES = 3  # calls that fail, unless it says otherwise


def _injected(ops: tuple[str, ...], answer: str, times: int = _TIMES) -> Striking:
    """So many of these calls get this answer, from now on; then it is over by itself."""

    def strike(scene: Scene) -> Effect:
        left = [times]
        mine = (ops[scene.choice % len(ops)],) if answer.startswith("errno") else ops

        def answerer(moment: str, detail: str, _pid: int) -> str:
            call, _, path = detail.partition(" ")
            if moment != "storage" or call not in mine or not left[0]:
                return ""
            left[0] -= 1
            if answer == _OF_A_FILE and call in _READING:
                scene.source.unreadable(path)
            return answer

        return Effect(f"{answer} for {times} calls: {', '.join(mine)}", scene.ear.answering(answerer, storage=True))

    return strike


# name, number, calls, what it is
_ERRORS = (
    ("eio", errno.EIO, (*_READING, *_WRITING), "EIO from some calls of one sort, reading or writing"),
    ("estale", errno.ESTALE, (*_READING, *_WRITING), "ESTALE from some calls of one sort, reading or writing"),
    ("enospc", errno.ENOSPC, ("create", "write", "mkdir", "close"), "ENOSPC from some calls that write"),
    ("eacces", errno.EACCES, ("create", "mkdir", "rename"), "EACCES from some calls that write"),
    ("emfile", errno.EMFILE, ("scan", "open", "create"), "EMFILE from some calls that open"),
    ("close", errno.EIO, ("close",), "a close that fails"),
    ("fsync", errno.EIO, ("fsync",), "an fsync that fails (the one at the end of every job)"),
)

FAULTS = (
    *(
        Fault(f"storage-{name}", what, _injected(ops, f"errno {number}"), seconds=(1.0, 3.0))
        for name, number, ops, what in _ERRORS
    ),
    Fault(
        "storage-short",
        "reads and writes that move half of what was asked for",
        _injected(("read", "write"), "short", times=400),
        seconds=(1.0, 3.0),
    ),
    Fault(
        "storage-slow",
        "one call in a slot that takes 5 s, longer than a lease",
        _injected((*_READING, *_WRITING), "wait 5", times=1),
        seconds=(1.0, 2.0),
    ),
    Fault(
        "storage-hung",
        "one call in a slot that takes 30 s",
        _injected((*_READING, *_WRITING), "wait 30", times=1),
        seconds=(1.0, 2.0),
    ),
)
