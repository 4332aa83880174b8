"""The socket that LibreOffice makes in /tmp and, confined, cannot remove: ours are, and nobody else's.

Its name has the hash of where the profile is, which has the process's number; so has its owner (worker.box.lockdown).
"""

from __future__ import annotations

import contextlib
import hashlib
import os

from worker.box.lockdown import OFFICE_SOCKETS, OWN_UIDS

_NAME = "OSL_PIPE_SingleOfficeIPC_"


def remove_socket(pid: int, directory: str = OFFICE_SOCKETS) -> None:
    """That of the process that had this number."""
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(directory, socket_name(pid)))


def remove_stale_sockets(directory: str = OFFICE_SOCKETS) -> None:
    """Those of processes that ended with the slot that ran them. One whose owner does not tell its process, as without
    root, stays."""
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.startswith(_NAME):
                pid = entry.stat(follow_symlinks=False).st_uid - OWN_UIDS
                if pid > 0 and entry.name == socket_name(pid) and not os.path.exists(f"/proc/{pid}"):
                    remove_socket(pid, directory)


def socket_name(pid: int) -> str:
    """As LibreOffice writes it: each byte of the hash as short as it can be."""
    digest = hashlib.md5(f"file:///proc/{pid}/cwd/profile".encode("utf-16-le"), usedforsecurity=False).digest()
    return _NAME + "".join(f"{byte:x}" for byte in digest)
