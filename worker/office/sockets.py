"""The socket that LibreOffice makes in /tmp and, confined, cannot remove: ours are, and nobody else's.

Its name has the hash of where the profile is: up to LibreOffice 24 as it was given, with the process's number; LibreOffice 25
resolves links first, so that the next process in the same directory would find the name taken and end with status 1. With
root, the owner has the process's number (worker.box.lockdown).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from worker.box.lockdown import OFFICE_SOCKETS, OWN_UIDS

_NAME = "OSL_PIPE_SingleOfficeIPC_"


def remove_socket(pid: int, place: Path, directory: str = OFFICE_SOCKETS) -> None:
    """That of the process that had this number and worked in `place`."""
    for at in (Path(f"/proc/{pid}/cwd"), place.resolve()):
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(directory, socket_name(at)))


def remove_stale_sockets(directory: str = OFFICE_SOCKETS) -> None:
    """Those of processes that ended with the slot that ran them. One whose owner does not tell its process, as without
    root, stays."""
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.startswith(_NAME):
                pid = entry.stat(follow_symlinks=False).st_uid - OWN_UIDS
                if pid > 0 and not os.path.exists(f"/proc/{pid}"):
                    os.unlink(entry.path)


def socket_name(place: Path) -> str:
    """As LibreOffice writes it: each byte of the hash as short as it can be."""
    digest = hashlib.md5((place / "profile").as_uri().encode("utf-16-le"), usedforsecurity=False).digest()
    return _NAME + "".join(f"{byte:x}" for byte in digest)
