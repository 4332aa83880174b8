"""A plugin of processes that read mutants: it notes what a reader touches that it may not touch (PEP 578 audit events), and
every error that reached the guard without a code of its own. Notes are lines of JSON in the file `notes` of the directory that
EDBENCH_MUTANTS names."""

import json
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import worker.inspect.file
from core.errors import EdbenchError
from readers.errors import DocumentError
from worker.inspect.file import Loose, inspect_files, read_trace
from worker.items.guard import Guarded

HANDLERS = ()
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


class Watch:
    """Notes what happens while files are read; it stays for the life of the process."""

    def __init__(self, place: Path) -> None:
        self._notes = place / "notes"
        self._writable = (str(place / "tmp"), str(self._notes), "/proc/self/")
        prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, *(p for p in sys.path if p)}
        self._readable = (str(place), *prefixes, "/proc/self/", "/usr/share/", "/usr/lib/", "/etc/ld.so", "/dev/null")
        self._files: Sequence[Loose] = ()
        self._trace = Path()
        sys.addaudithook(self._hook)

    def inspect_files(self, files: Sequence[Loose], *args: Any, trace: Path, **how: Any) -> Any:
        """As the product's, watched."""
        self._files, self._trace = files, trace
        try:
            return inspect_files(files, *args, trace=trace, **how)
        finally:
            self._files = ()

    def note(self, what: str) -> None:
        """Of the file that is being read."""
        number = os.fsdecode(self._files[read_trace(self._trace).position].relative).partition("/")[0]
        with self._notes.open("a") as out:
            out.write(json.dumps((number, what)) + "\n")

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._files:
            return
        if event == "open":
            self._opened(*args)
        elif event in _NEVER:
            self.note(f"fence: {event} {args!r:.200}")
        elif event in _ON_PATHS:
            for position in _ON_PATHS[event]:
                self._written(event, args[position])

    def _opened(self, path: Any, mode: str | None, flags: int) -> None:
        if isinstance(path, int):
            return
        if (mode and set(mode) & set("wax+")) or (isinstance(flags, int) and flags & _WRITES):
            self._written("open for writing", path)
        elif not _text(path).startswith(self._readable):
            self.note(f"fence: open for reading {path!r}")

    def _written(self, event: str, path: Any) -> None:
        if not isinstance(path, int) and not _text(path).startswith(self._writable):
            self.note(f"fence: {event} {path!r}")


def _text(path: Any) -> str:
    return os.path.abspath(os.fsdecode(path))


def _where(error: BaseException) -> str:
    """Type, text and the last places in our own code of an error."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/site-packages/" not in f.filename]
    last = traceback.extract_tb(error.__traceback__)[-1:]
    places = " < ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in reversed([*frames[-3:], *last][-4:]))
    return f"{type(error).__name__}: {str(error)[:120]!r} at {places}"


_watch = Watch(Path(os.environ["EDBENCH_MUTANTS"]))
worker.inspect.file.inspect_files = _watch.inspect_files
_passed = Guarded.__exit__


def _leave(
    guard: Guarded, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
) -> None:
    if isinstance(error, Exception) and not isinstance(error, EdbenchError | DocumentError):
        _watch.note(f"unnamed: {_where(error)}")
    _passed(guard, kind, error, trace)


Guarded.__exit__ = _leave  # type: ignore[method-assign]
