"""Giving up everything that reading bytes does not need: user, capabilities, files, network, system calls, limits.

What one step cannot have (an ordinary user stays who he is; a container may forbid seccomp; an old kernel has no
Landlock) the others still take; `Powers` reports what was taken. An ordinary user's sandbox is complete with seccomp
and Landlock: either of them alone keeps it from files and from other processes, so that no error in one opens these. A
user namespace is not used: containers' seccomp profiles forbid it, and it would add nothing that the two leave open."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import socket
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace

from worker.processes import die_with_parent
from worker.sandbox import seccomp

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION = 1  # a flag of _CREATE
_BENEATH = 1  # a kind of rule
_EXECUTE, _READ_FILE, _READ_DIRECTORY = 1, 1 << 2, 1 << 3
_MAKE_SOCKET = 1 << 9
# Write, read, list, remove, make directories and files, move, truncate: all but devices, pipes, links and running what is there.
_WORK = 1 << 1 | _READ_FILE | _READ_DIRECTORY | 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 13 | 1 << 14
# Rights over files by the ABI that brought the last of them (bits from 0 up), over TCP from 4, scopes from 6.
_FILES = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_NETWORK_SINCE, _NETWORK = 4, 0b11
_SCOPES_SINCE, _SCOPES = 6, 0b11


@dataclass(frozen=True, slots=True)
class Rights:
    """Rights that a ruleset handles: it takes them away except where a rule gives them back."""

    files: int
    network: int
    scopes: int

    def packed(self, abi: int) -> bytes:
        """Return struct landlock_ruleset_attr, as long as that ABI knows it."""
        whole = struct.pack("=QQQ", self.files, self.network, self.scopes)
        return whole[: 8 if abi < _NETWORK_SINCE else 16 if abi < _SCOPES_SINCE else 24]


def rights_of(abi: int) -> Rights:
    """Return all rights that this ABI can take away."""
    return Rights(
        files=(1 << _FILES.get(abi, max(_FILES.values()))) - 1,
        network=_NETWORK if abi >= _NETWORK_SINCE else 0,
        scopes=_SCOPES if abi >= _SCOPES_SINCE else 0,
    )


def _call(*arguments: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    return int(libc.syscall(*arguments))


def abi() -> int:
    """Return the kernel's version of the interface; 0 if it has none."""
    return max(0, _call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION)))


def confine(readable: Iterable[str] = (), work: str = "", sockets: str = "") -> str | None:
    """Remove every right of this thread and all it starts, except reading and running what is in `readable` (files and
    directories; missing ones are passed over), files in the directory `work` and making sockets in `sockets`.
    no_new_privs must be set. None when this has succeeded, else the reason."""
    version = abi()
    if not version:
        return "the kernel has none"
    rights = rights_of(version)
    attributes = rights.packed(version)
    ruleset = _call(_CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint(0))
    if ruleset < 0:
        return os.strerror(ctypes.get_errno())
    try:
        for path in readable:
            _allow(ruleset, path, _EXECUTE | _READ_FILE | _READ_DIRECTORY)
        if work:
            _allow(ruleset, work, _WORK & rights.files)
        if sockets:
            _allow(ruleset, sockets, _MAKE_SOCKET)
        if _call(_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint(0)) != 0:
            return os.strerror(ctypes.get_errno())
    finally:
        os.close(ruleset)
    return None


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rule = struct.pack("=Qi", rights if os.path.isdir(path) else rights & ~_READ_DIRECTORY, place)
        if _call(_ADD, ctypes.c_int(ruleset), ctypes.c_int(_BENEATH), rule, ctypes.c_uint(0)) != 0:
            raise OSError(ctypes.get_errno(), "landlock_add_rule")
    finally:
        os.close(place)


_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 4, 38
_CAPABILITY_VERSION = 0x20080522
OWN_UIDS = 1_610_612_736  # a process gets this and its own number: no other process has it
_NOBODY = 65_534  # where the namespace has no such number
_OPEN_FILES = 64
OFFICE_SOCKETS = "/tmp"  # where LibreOffice makes its socket, whatever TMPDIR is


@dataclass(frozen=True, slots=True, kw_only=True)
class Powers:
    """Result of each step of a process's lockdown: "" if it was done, else why not."""

    user: str  # a user of its own without capabilities
    landlock: str  # no files, no TCP, no signals to others
    seccomp: str  # a fixed list of system calls
    reached: tuple[str, ...] = ()  # forbidden accesses that were possible nevertheless

    @property
    def lacking(self) -> list[str]:
        """Reasons why the sandbox is incomplete; empty if it is complete."""
        out = [f"it could {what}" for what in self.reached]
        if self.seccomp:
            out.append(f"no seccomp ({self.seccomp})")
        if self.landlock and self.user:
            out.append(f"no Landlock ({self.landlock}) and no separate user ({self.user})")
        return out


def lock_down(*, parent: int | None = None) -> Powers:
    """Lock down this process, which must have one thread, and open and loaded what it will need. It dies with
    `parent`."""
    libc = ctypes.CDLL(None, use_errno=True)
    user = _change_user()
    _drop_capabilities(libc)
    for number, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_NPROC, 0), (resource.RLIMIT_FSIZE, 0)):
        resource.setrlimit(number, (most, most))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    if parent is not None:  # now: the kernel forgets it with a change of user
        die_with_parent(parent)
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)  # no process of the same user can inspect it
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_NO_NEW_PRIVS)")
    land = confine()
    calls = seccomp.confine()
    return Powers(user=user, landlock=land or "", seccomp=calls or "")


def lock_down_program(parent: int, readable: Sequence[str], work: str = "") -> None:
    """Lock down the program that this process is about to become: it may read and run what is in `readable`, whose
    first entry it needs. With `work`, a directory of its own, the program is an office suite: it may do anything with
    files there, and make the one socket that it requires."""
    libc = ctypes.CDLL(None, use_errno=True)
    _change_user(needs=readable[0])
    _drop_capabilities(libc)
    die_with_parent(parent)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_NO_NEW_PRIVS)")
    confine(readable, work, OFFICE_SOCKETS if work else "")
    if work:
        seccomp.confine_office()
    else:
        seccomp.confine_program()


def _change_user(needs: str = "") -> str:
    """Become a user that owns nothing; return "", or why that was not done. The process keeps its user if the other one
    could not run the program `needs`."""
    if os.geteuid() != 0:
        return "only root can assign one"
    why = ""
    for ident in (OWN_UIDS + os.getpid(), _NOBODY):
        try:
            os.setgroups([])
            os.setresgid(ident, ident, 0)
            os.setresuid(ident, ident, 0)
            if needs and not os.access(needs, os.R_OK | os.X_OK, effective_ids=True):
                os.setresuid(0, 0, 0)
                os.setresgid(0, 0, 0)
                return "that user cannot run the program"
            os.setresgid(ident, ident, ident)
            os.setresuid(ident, ident, ident)
        except OSError as error:
            why = os.strerror(error.errno or 0)
        else:
            return ""
    return why


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Empty all sets of capabilities; a user that is not root has none anyway."""
    header, none = struct.pack("=Ii", _CAPABILITY_VERSION, 0), bytes(24)
    if libc.capset(header, none) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def try_out() -> Powers:
    """Return how far a child of this process can lock itself down. Raises OSError if that cannot be tried."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        status = 1
        try:
            parent = os.getppid()
            os.closerange(3, write)  # an attempt that fails because too many files are open here has proved nothing
            os.closerange(write + 1, os.sysconf("SC_OPEN_MAX"))
            powers = lock_down()
            os.write(write, json.dumps(asdict(replace(powers, reached=_reached(parent)))).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with open(read, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    if not answer:
        raise OSError("a process could not restrict itself")
    found = json.loads(answer)
    return Powers(**found | {"reached": tuple(found["reached"])})


def _reached(parent: int) -> tuple[str, ...]:
    """Return what a process that was locked down can still do to its parent, and to the network."""
    attempts: dict[str, Callable[[], object]] = {
        "read its parent's environment": lambda: os.open(f"/proc/{parent}/environ", os.O_RDONLY),
        "read its parent's memory": lambda: os.open(f"/proc/{parent}/mem", os.O_RDONLY),
        "read files": lambda: os.open("/proc/self/status", os.O_RDONLY),
        "signal its parent": lambda: os.kill(parent, 0),
        "open a socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).detach(),
    }
    return tuple(what for what, attempt in attempts.items() if _works(attempt))


def _works(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def lacking() -> str:
    """Return why sandboxes are incomplete on this host; empty if they are complete."""
    return "; ".join(try_out().lacking)
