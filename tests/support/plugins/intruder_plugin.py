"""A plugin whose parser is an attacker: it tries everything that a taken-over parser might and says what worked.

The file holds JSON behind its first bytes: what there is to attack (`Targets`)."""

import ctypes
import errno
import json
import os
import resource
import signal
import socket
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from core.records import Limits
from readers.base import LeafHandler, Source, Text

WORD = b"INTRUDER "
_PTRACE_ATTACH = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What is to be attacked."""

    slot: int  # process
    port: int  # somebody listens on loopback
    unix: str  # and on this socket
    readable: str  # a file that everybody may read
    directory: str  # a directory that everybody may write to

    def file(self) -> bytes:
        """What makes the handler attack them."""
        return WORD + json.dumps(asdict(self)).encode()


def _libc(name: str, *arguments: Any) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    function = getattr(libc, name)
    function.restype = ctypes.c_long
    if function(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)


def _read(path: str) -> None:
    with open(path, "rb") as file:
        file.read(1)


def _write(path: str) -> None:
    with open(path, "wb") as file:
        file.write(b"x")


def _connect(family: int, address: Any) -> None:
    with socket.socket(family) as one:
        one.settimeout(5)
        one.connect(address)


def _fork() -> None:
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)


def _thread() -> None:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()


def _trace(pid: int) -> None:
    _libc("ptrace", _PTRACE_ATTACH, pid, 0, 0)
    os.waitpid(pid, 0)
    _libc("ptrace", 17, pid, 0, 0)


def _peek(pid: int) -> None:
    """process_vm_readv of nothing: allowed or not, before any address is looked at."""
    _libc("process_vm_readv", pid, None, 0, None, 0, 0)


def _read_at(path: str) -> None:
    """Opened is enough: what is at address 0 cannot be read by anyone."""
    os.close(os.open(path, os.O_RDONLY))


def _signal_by_descriptor(pid: int) -> None:
    descriptor = os.pidfd_open(pid)
    signal.pidfd_send_signal(descriptor, signal.SIGURG)
    os.close(descriptor)


def _more_limits() -> None:
    resource.prlimit(os.getpid(), resource.RLIMIT_CORE, (0, 0))


def attacks(at: Targets) -> dict[str, Callable[[], object]]:
    """Every one, by what it would do."""
    return {
        "read /etc/shadow": lambda: _read("/etc/shadow"),
        "read /etc/passwd": lambda: _read("/etc/passwd"),
        "read any file": lambda: _read(at.readable),
        "list a directory": lambda: os.listdir("/"),
        "look whether a file is there": lambda: os.stat(at.readable),
        "write a file": lambda: _write(f"{at.directory}/written"),
        "make a directory": lambda: os.mkdir(f"{at.directory}/made"),
        "make a link": lambda: os.symlink("/etc", f"{at.directory}/link"),
        "remove a file": lambda: os.unlink(f"{at.directory}/removable"),
        "change a file's mode": lambda: os.chmod(at.directory, 0o777),
        "connect to the database's port": lambda: _connect(socket.AF_INET, ("127.0.0.1", at.port)),
        "connect to the broker's socket": lambda: _connect(socket.AF_UNIX, at.unix),
        "open a UDP socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close(),
        "make a socket pair": lambda: [one.close() for one in socket.socketpair()],
        "fork": _fork,
        "start a thread": _thread,
        "trace the slot": lambda: _trace(at.slot),
        "read the slot's environment": lambda: _read(f"/proc/{at.slot}/environ"),
        "read the slot's memory": lambda: _read(f"/proc/{at.slot}/maps"),
        "read the slot's memory at once": lambda: _peek(at.slot),
        "read the slot's memory file": lambda: _read_at(f"/proc/{at.slot}/mem"),
        "signal the slot": lambda: os.kill(at.slot, signal.SIGURG),
        "signal the slot's group": lambda: os.kill(0, 0),
        "signal by a descriptor": lambda: _signal_by_descriptor(at.slot),
        "leave its namespaces": lambda: _libc("unshare", 0x10000000),
        "make a file in memory": lambda: os.close(os.memfd_create("x")),
        "make a pipe": lambda: [os.close(one) for one in os.pipe()],
        "ask for a ring of calls": lambda: _libc("syscall", 425, 0, None),
        "change limits": _more_limits,
    }


def tried(attack: Callable[[], object]) -> str:
    """What came of it: "done", or "refused" with why."""
    try:
        attack()
    except OSError as error:
        return f"refused ({errno.errorcode.get(error.errno or 0, 'OSError')})"
    except (RuntimeError, ImportError) as error:  # no thread; a module that cannot be loaded
        return f"refused ({type(error).__name__})"
    return "done"


def open_files() -> list[int]:
    """Descriptors of this process, as a process without /proc finds them."""
    found = []
    for number in range(256):
        try:
            os.lseek(number, 0, os.SEEK_CUR)
        except OSError as error:
            if error.errno == errno.EBADF:
                continue
        found.append(number)
    return found


class IntruderHandler(LeafHandler):
    """Attacks in `text`, and tells in its metadata."""

    name = "intruder"
    media_types: tuple[str, ...] = ("application/x-intruder",)

    def text(self, source: Source, limits: Limits) -> Text:
        at = Targets(**json.loads(source.head[len(WORD) :]))
        found: dict[str, Any] = {what: tried(attack) for what, attack in attacks(at).items()}
        found["secrets"] = sorted(key for key in os.environ if "EDBENCH" in key or "SECRET" in key)
        found["files"] = open_files()
        found["user"] = [os.getuid(), os.geteuid(), os.getgid(), os.getegid()]
        return Text(metadata=found)


HANDLERS = (IntruderHandler(),)
MAGIC = {WORD: "application/x-intruder"}
