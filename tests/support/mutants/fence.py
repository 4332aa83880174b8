"""What a process that reads foreign files may touch; everything else is noted (PEP 578 audit events)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_ON_PATHS = {  # event → which of its arguments are paths
    "os.mkdir": (0,),
    "os.rename": (0, 1),
    "os.remove": (0,),
    "os.rmdir": (0,),
    "os.link": (0, 1),
    "os.symlink": (1,),
    "os.truncate": (0,),
    "os.chmod": (0,),
    "os.chown": (0,),
    "os.utime": (0,),
    "os.setxattr": (0,),
    "shutil.rmtree": (0,),
}
_NEVER = frozenset(
    (
        *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "pty.spawn"),
        *("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname"),
        *("urllib.Request", "http.client.connect", "ftplib.connect", "smtplib.connect", "webbrowser.open"),
        *("os.chdir", "os.putenv", "os.kill", "signal.pthread_kill", "pickle.find_class", "os.startfile"),
    )
)


class Fence:
    """An audit hook; once put up it stays for the life of the process. `noted` grows."""

    def __init__(self, own: Path) -> None:
        self._own = str(own)
        prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, *(p for p in sys.path if p)}
        self._readable = (self._own, *prefixes, "/proc/self/", "/usr/share/", "/usr/lib/", "/etc/ld.so", "/dev/null")
        self.noted: list[str] = []

    def put_up(self) -> None:
        sys.addaudithook(self._hook)

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            self._opened(*args)
        elif event in _NEVER:
            self.noted.append(f"{event} {args!r:.200}")
        elif event in _ON_PATHS:
            for position in _ON_PATHS[event]:
                self._written(event, args[position])

    def _opened(self, path: Any, mode: str | None, flags: int) -> None:
        if isinstance(path, int):
            return
        if (mode and set(mode) & set("wax+")) or (isinstance(flags, int) and flags & _WRITES):
            self._written("open for writing", path)
        elif not self._text(path).startswith(self._readable):
            self.noted.append(f"open for reading {path!r}")

    def _written(self, event: str, path: Any) -> None:
        if not isinstance(path, int) and not self._text(path).startswith((self._own, "/proc/self/")):
            self.noted.append(f"{event} {path!r}")

    @staticmethod
    def _text(path: Any) -> str:
        return os.path.abspath(os.fsdecode(path))
