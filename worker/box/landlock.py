"""Landlock (landlock(7)): no path of the file system, no TCP port, no signal and no abstract socket beyond this process.

The kernel's numbers of the three calls are the same on every machine. Each version of the interface (ABI) knows more
rights; all that the running kernel knows are taken.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass

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
    """What a ruleset handles: takes away except where a rule gives it back."""

    files: int
    network: int
    scopes: int

    def packed(self, abi: int) -> bytes:
        """struct landlock_ruleset_attr, as long as that ABI knows it."""
        whole = struct.pack("=QQQ", self.files, self.network, self.scopes)
        return whole[: 8 if abi < _NETWORK_SINCE else 16 if abi < _SCOPES_SINCE else 24]


def rights_of(abi: int) -> Rights:
    """All that this ABI can take away."""
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
    """The kernel's version of the interface; 0 where there is none."""
    return max(0, _call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION)))


def confine(readable: Iterable[str] = (), work: str = "", sockets: str = "") -> str | None:
    """Take everything away from this thread and all it starts, but reading and running what lies in `readable` (files
    and directories; passed over where they are not there), files in the directory `work` and making sockets in `sockets`;
    no_new_privs must be set. None when that is so, else why not."""
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
