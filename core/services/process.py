"""Child processes that do not outlive their parent: own session, parent-death signal, ended as a group.

A `LineProcess` reads JSON lines and answers each with one (`answer`, or `answer_error`); its parent takes them with
`answers`."""

from __future__ import annotations

import contextlib
import fcntl
import os
import selectors
import shutil
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, ClassVar

import core
from core.errors import RunFailed, StorageFault, UsageError
from core.services import launch

MOST_BYTES = 16_000_000  # of a log, and of the older one next to it
_MODE = 0o640
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


def open_log(log: Path, *, afresh: bool = False) -> IO[bytes]:
    """Open a log for appending. Only owner and group can read it, whatever the umask and the process that created
    it."""
    descriptor = os.open(log, _FLAGS | (os.O_TRUNC if afresh else os.O_APPEND), _MODE)
    os.fchmod(descriptor, _MODE)
    return open(descriptor, "wb")


def rotate(log: Path) -> None:
    """Keep one older log next to a new empty one; for a log that no process writes to."""
    with contextlib.suppress(FileNotFoundError):
        with contextlib.suppress(PermissionError):  # written by root, in another user's directory
            log.chmod(_MODE)
        log.replace(_older(log))


def trim(log: Path) -> None:
    """Like `rotate`, for a log that is written to, and only if it is too large. It is emptied even when the disk is
    full."""
    try:
        if log.stat().st_size <= MOST_BYTES:
            return
        with log.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file.fileno()).st_size > MOST_BYTES:  # no other process has truncated it meanwhile
                with contextlib.suppress(OSError):
                    _copy(file, _older(log))
                os.ftruncate(file.fileno(), 0)
    except (FileNotFoundError, BlockingIOError):
        return


def _copy(source: IO[bytes], target: Path) -> None:
    draft = target.with_name(f"{target.name}.tmp")
    try:
        with open_log(draft, afresh=True) as file:
            shutil.copyfileobj(source, file)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _older(log: Path) -> Path:
    return log.with_name(log.name + ".1")


@dataclass(frozen=True, slots=True)
class RunAs:
    """The user a child process runs as."""

    uid: int
    gid: int


def tied(
    command: Sequence[str | os.PathLike[str]],
    *,
    run_as: RunAs | None = None,
    death_signal: signal.Signals = signal.SIGKILL,
    limits: Mapping[int, int] | None = None,
) -> list[str]:
    """Return the command line that starts `command` so that it does not outlive its starter, under `limits` (RLIMIT_… →
    value).

    The kernel sends it `death_signal` when the *thread* that starts it ends. Exit status `launch.CANNOT_START` when it
    cannot be started."""
    user = run_as or RunAs(launch.KEEP, launch.KEEP)
    limit_text = ",".join(f"{what}={most}" for what, most in (limits or {}).items())
    wrapper = (
        sys.executable,
        "-I",
        "-S",
        launch.__file__,
        os.getpid(),
        int(death_signal),
        user.uid,
        user.gid,
        limit_text,
    )
    return [*map(str, wrapper), *(os.fspath(part) for part in command)]


def spawn(
    command: Sequence[str | os.PathLike[str]],
    *,
    env: Mapping[str, str],
    log: Path,
    cwd: Path,
    run_as: RunAs | None = None,
    death_signal: signal.Signals = signal.SIGKILL,
) -> subprocess.Popen[bytes]:
    """Start `command` in a session of its own with its output appended to `log`.

    The kernel sends it `death_signal` when the *thread* that called this ends, so call it from a thread that lives as
    long as the child has to. Raises OSError if it cannot be started."""
    with open_log(log) as output:
        return subprocess.Popen(
            tied(command, run_as=run_as, death_signal=death_signal),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )


def signal_group(process: subprocess.Popen[bytes], signum: signal.Signals) -> None:
    """Signal all processes in the session that `spawn` made; do nothing if it has ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signum)


def stop(process: subprocess.Popen[bytes], steps: Sequence[tuple[signal.Signals, float]]) -> None:
    """Send each signal and wait so many seconds after it, then SIGKILL the rest of the process's group."""
    for signum, seconds in steps:
        if process.poll() is not None:
            break
        process.send_signal(signum)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    signal_group(process, signal.SIGKILL)
    process.wait()


class Server(ABC):
    """A service of the keeper: a process that is started again if it dies."""

    STOP: ClassVar[Sequence[tuple[signal.Signals, float]]]
    _process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Process id; 0 if it was never started, or is stopped."""
        return self._process.pid if self._process else 0

    def ended(self) -> bool:
        """Whether it does not run."""
        return self._process is None or self._process.poll() is not None

    @abstractmethod
    def _spawn(self) -> None:
        """Start its process. Raises OSError."""

    def tend(self) -> bool:
        """Start it again if it died, without waiting for it to answer; return whether that was necessary. Raises
        OSError."""
        if not self.ended():
            return False
        self._spawn()
        return True

    def close(self) -> None:
        """Stop it, by force in the end, and forget its process."""
        if self._process is not None:
            stop(self._process, self.STOP)
            self._process = None


def last_line(log: Path, *, containing: tuple[str, ...] = ()) -> str:
    """The last line of a log that contains one of the words, else its last line; "" if it has none."""
    try:
        with log.open("rb") as source:
            source.seek(max(0, source.seek(0, os.SEEK_END) - 16_384))
            lines = source.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    lines = [line.strip() for line in lines if line.strip()]
    wanted = [line for line in lines if any(word in line for word in containing)]
    return (wanted or lines or [""])[-1]


_LOOK_S = 1.0
_END_S = 10.0
_SIZE = 1 << 20


class LineProcess:
    """The parent's side of a process that reads and writes JSON lines; `what` names it in errors."""

    def __init__(self, module: str, what: str, env: Mapping[str, str] | None = None) -> None:
        self._what = what
        self.process = subprocess.Popen(
            tied([sys.executable, "-m", module]), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            cwd=Path(core.__file__).parents[1], start_new_session=True, env=None if env is None else os.environ | env,
        )  # fmt: skip
        self._unread = b""

    @property
    def out(self) -> IO[bytes]:
        """The standard output of the process."""
        assert self.process.stdout is not None
        return self.process.stdout

    def send(self, what: object) -> None:
        """Send one line. Raises RunFailed if the process has died."""
        import msgspec  # not at the start of every command

        assert self.process.stdin is not None
        try:
            self.process.stdin.write(msgspec.json.encode(what) + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise self._died() from error

    def receive(self) -> bytes | None:
        """Return a whole line, if there is one. Raises RunFailed if the process has died."""
        more = os.read(self.out.fileno(), _SIZE)
        if not more:
            raise self._died()
        self._unread += more
        if not self._unread.endswith(b"\n"):
            return None
        line, self._unread = self._unread, b""
        return line

    def _died(self) -> RunFailed:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_END_S)
        return RunFailed(f"a process of {self._what} died (status {self.process.returncode}); the run has ended")

    def end(self, seconds: float = 0.0) -> None:
        """End the process and its children by force, after so many seconds in which it may end by itself on SIGTERM."""
        stop(self.process, [(signal.SIGTERM, seconds)] if seconds else [])
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()


def receive_all(processes: Sequence[LineProcess], between: Callable[[], None] = lambda: None) -> list[bytes]:
    """Wait for a line of each process and return them in order. `between` is called about once a second meanwhile.
    Raises RunFailed, and what `between` raises."""
    lines: dict[int, bytes] = {}
    with selectors.DefaultSelector() as waiting:
        for number, process in enumerate(processes):
            waiting.register(process.out, selectors.EVENT_READ, number)
        while len(lines) < len(processes):
            for key, _ in waiting.select(_LOOK_S):
                line = processes[key.data].receive()
                if line is not None:
                    lines[key.data] = line
                    waiting.unregister(key.fileobj)
            between()
    return [lines[number] for number in range(len(processes))]


def answers(processes: Sequence[LineProcess], between: Callable[[], None] = lambda: None) -> list[Any]:
    """Wait for the lines of the processes (`receive_all`) and decode them. Raises the error that a process reported,
    and what `receive_all` raises."""
    import msgspec

    found = [msgspec.json.decode(line) for line in receive_all(processes, between)]
    for one in found:
        if isinstance(one, dict) and "error" in one:
            if one["usage"]:
                raise UsageError(one["error"])
            raise RunFailed(one["error"]) if one["errno"] is None else StorageFault(one["error"], errno=one["errno"])
    return found


def answer(what: object) -> None:
    """Write one line to the parent."""
    import msgspec

    sys.stdout.buffer.write(msgspec.json.encode(what) + b"\n")
    sys.stdout.buffer.flush()


def answer_error(error: Exception) -> None:
    """Report an error in place of an answer."""
    errno = error.errno if isinstance(error, StorageFault) else None
    answer({"error": " ".join(str(error).split()), "errno": errno, "usage": isinstance(error, UsageError)})
