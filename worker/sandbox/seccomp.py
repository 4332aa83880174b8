"""The system calls that a parser may make: a fixed list, as the program that seccomp(2) runs at each call.

A call that is not on it fails with EPERM, so that a library that tries one reports an error instead of dying of it. The
list is for processes that hold their files already and get everything else over one socket."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable

_PR_SET_SECCOMP = 22
_MODE_FILTER = 2
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16
_X32 = 0x40000000  # x86_64 numbers above this are another table


# Name of the call → its number on (x86_64, aarch64); None where that machine has none.
_CALLS: dict[str, tuple[int | None, int | None]] = {
    # the socket, and files that were open before
    "read": (0, 63),
    "write": (1, 64),
    "readv": (19, 65),
    "writev": (20, 66),
    "pread64": (17, 67),
    "lseek": (8, 62),
    "close": (3, 57),
    "fstat": (5, 80),
    "poll": (7, None),
    "ppoll": (271, 73),
    # memory
    "brk": (12, 214),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "madvise": (28, 233),
    # signals of one's own, and waiting
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "pause": (34, None),
    "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115),
    "restart_syscall": (219, 128),
    "futex": (202, 98),
    "sched_yield": (24, 124),
    # time, own identity, random numbers
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "gettimeofday": (96, 169),
    "time": (201, None),
    "getpid": (39, 172),
    "gettid": (186, 178),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getrusage": (98, 165),
    "getrandom": (318, 278),
    "sched_getaffinity": (204, 123),
    "getcpu": (309, 168),
    "uname": (63, 160),
    "sysinfo": (99, 179),
    "membarrier": (324, 283),
    "rseq": (334, 293),
    "set_robust_list": (273, 99),
    # the end
    "exit": (60, 93),
    "exit_group": (231, 94),
}
# Calls that no program for pictures makes, and many exploits do: sockets, other processes, the kernel's insides.
_FORBIDDEN: tuple[tuple[int, int], ...] = (
    (41, 198),  # socket
    (53, 199),  # socketpair
    (42, 203),  # connect
    (49, 200),  # bind
    (101, 117),  # ptrace
    (310, 270),  # process_vm_readv
    (311, 271),  # process_vm_writev
    (434, 434),  # pidfd_open
    (438, 438),  # pidfd_getfd
    (424, 424),  # pidfd_send_signal
    (165, 40),  # mount
    (166, 39),  # umount2
    (155, 41),  # pivot_root
    (428, 428),  # open_tree
    (429, 429),  # move_mount
    (430, 430),  # fsopen
    (442, 442),  # mount_setattr
    (272, 97),  # unshare
    (308, 268),  # setns
    (321, 280),  # bpf
    (298, 241),  # perf_event_open
    (323, 282),  # userfaultfd
    (248, 217),  # add_key
    (249, 218),  # request_key
    (250, 219),  # keyctl
    (425, 425),  # io_uring_setup
    (426, 426),  # io_uring_enter
    (427, 427),  # io_uring_register
    (304, 265),  # open_by_handle_at
    (175, 105),  # init_module
    (313, 273),  # finit_module
    (246, 104),  # kexec_load
    (169, 142),  # reboot
)
_TGKILL, _PRLIMIT = (234, 131), (302, 261)
_KILL_CALL = (62, 129)
_OTHER_SIGNALS = ((200, 130), (129, 138), (297, 240))  # tkill, rt_sigqueueinfo, rt_tgsigqueueinfo
_SOCKET, _BIND, _CLONE, _CLONE3 = (41, 198), (49, 200), (56, 220), (435, 435)
_FORKS: tuple[tuple[int | None, int | None], ...] = ((57, None), (58, None))  # fork, vfork
_AF_UNIX, _SOCK_STREAM, _CLONE_THREAD = 1, 1, 0x10000
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def filter_for(machine: str, pid: int) -> bytes | None:
    """Return the filter for the process `pid` on such a machine; None if the numbers of its calls are not known.

    It may signal itself (abort does) and ask for its limits."""
    if machine not in _MACHINES:
        return None
    column, _ = _MACHINES[machine]
    code = _beginning(machine)
    code += _if(_TGKILL[column], (_argument(0), _jump(_EQUAL, pid, 0, 1), _statement(_RETURN, _ALLOW)))
    code += _if(_PRLIMIT[column], _all_zero(2))
    for numbers in _CALLS.values():
        if (number := numbers[column]) is not None:
            code += (_jump(_EQUAL, number, 0, 1), _statement(_RETURN, _ALLOW))
    code.append(_statement(_RETURN, _ERRNO | errno.EPERM))
    return b"".join(code)


def forbidding(machine: str, pid: int) -> bytes | None:
    """Return the filter for another program, whose calls cannot be listed: it allows everything but what no program of
    its kind needs. It may signal itself; `pid`: of the process that becomes it."""
    if machine not in _MACHINES:
        return None
    column, _ = _MACHINES[machine]
    code = _beginning(machine)
    for call in (_KILL_CALL, _TGKILL):
        code += _if(call[column], (_argument(0), _jump(_EQUAL, pid, 0, 1), _statement(_RETURN, _ALLOW)))
    for numbers in (*_FORBIDDEN, *_OTHER_SIGNALS):
        code += (_jump(_EQUAL, numbers[column], 0, 1), _statement(_RETURN, _ERRNO | errno.EPERM))
    code.append(_statement(_RETURN, _ALLOW))
    return b"".join(code)


def office(machine: str, pid: int) -> bytes | None:
    """Return the filter of `forbidding` that allows no other processes, but one kind of socket, which can be made and
    listened on and connects to nothing: LibreOffice ends if it cannot announce to other instances that it is
    running."""
    rest = forbidding(machine, pid)
    if rest is None:
        return None
    column, _ = _MACHINES[machine]
    stream = (
        _argument(0),
        _jump(_EQUAL, _AF_UNIX, 0, 3),
        _argument(1),
        _jump(_EQUAL, _SOCK_STREAM, 0, 1),
        _statement(_RETURN, _ALLOW),
    )
    thread = (_argument(0), _jump(_SET, _CLONE_THREAD, 0, 1), _statement(_RETURN, _ALLOW))
    code = _if(_SOCKET[column], stream) + _if(_CLONE[column], thread)
    code += (_jump(_EQUAL, _BIND[column], 0, 1), _statement(_RETURN, _ALLOW))
    # glibc calls clone3 first, and clone where the kernel is too old to have it.
    code += (_jump(_EQUAL, _CLONE3[column], 0, 1), _statement(_RETURN, _ERRNO | errno.ENOSYS))
    for numbers in _FORKS:
        if (number := numbers[column]) is not None:
            code += (_jump(_EQUAL, number, 0, 1), _statement(_RETURN, _ERRNO | errno.EPERM))
    beginning = b"".join(_beginning(machine))
    return beginning + b"".join(code) + rest[len(beginning) :]


def _beginning(machine: str) -> list[bytes]:
    """Return the beginning of a filter: it kills at calls by another table's numbers, and loads the call's number."""
    code = [
        _statement(_LOAD, _ARCH_AT),
        _jump(_EQUAL, _MACHINES[machine][1], 1, 0),
        _statement(_RETURN, _KILL),
        _statement(_LOAD, _NUMBER_AT),
    ]
    if machine == "x86_64":
        code += (_jump(_AT_LEAST, _X32, 0, 1), _statement(_RETURN, _KILL))
    return code


def _statement(what: int, value: int) -> bytes:
    return struct.pack("=HBBI", what, 0, 0, value)


def _jump(what: int, value: int, then: int, otherwise: int) -> bytes:
    return struct.pack("=HBBI", what, then, otherwise, value)


def _argument(number: int, *, upper: bool = False) -> bytes:
    """Load half of an argument (both machines are little-endian)."""
    return _statement(_LOAD, _ARGUMENTS_AT + 8 * number + 4 * upper)


def _all_zero(number: int) -> tuple[bytes, ...]:
    """Allow the call if all 64 bits of the argument are zero."""
    return (
        _argument(number),
        _jump(_EQUAL, 0, 0, 3),
        _argument(number, upper=True),
        _jump(_EQUAL, 0, 0, 1),
        _statement(_RETURN, _ALLOW),
    )


def _if(number: int, body: Iterable[bytes]) -> list[bytes]:
    """Run `body` for the call of that number, and EPERM after it; the number is loaded before and after."""
    inner = [*body, _statement(_RETURN, _ERRNO | errno.EPERM)]
    return [_jump(_EQUAL, number, 0, len(inner)), *inner]


def confine() -> str | None:
    """Allow only the listed calls from now on, in this thread and all it starts; no_new_privs must be set. Return None
    if that succeeded, else why not."""
    return _install(filter_for(platform.machine(), os.getpid()))


def confine_program() -> str | None:
    """Install the filter of `forbidding` for a program that this process becomes."""
    return _install(forbidding(platform.machine(), os.getpid()))


def confine_office() -> str | None:
    """Install the filter of `office` for LibreOffice, which this process becomes."""
    return _install(office(platform.machine(), os.getpid()))


def _install(code: bytes | None) -> str | None:
    if code is None:
        return f"not known for {platform.machine()}"
    held = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(held))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        return os.strerror(ctypes.get_errno())
    return None
