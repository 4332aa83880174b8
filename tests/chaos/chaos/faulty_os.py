"""Makes the storage layer's own system calls fail: EIO, ESTALE, ENOSPC, a close that fails, a read that is short, a call that
takes long."""

import os
import types
from collections.abc import Callable
from typing import Any

from chaos import hook
from core.storage import files as storage_files
from core.storage import layer as storage
from core.storage import sync as storage_sync
from core.storage.beneath import Anywhere, Beneath

# Calls that name a file (core.storage.beneath) → what a fault calls them …
NAMING = {
    "scan": "scan",
    "lstat": "stat",
    "identify": "stat",
    "open": "open",
    "mkdir": "mkdir",
    "rename": "rename",
    "unlink": "remove",
    "rmdir": "remove",
}
# … and those that storage makes on an open file; what is not here is the system's own.
_OPEN = {"statvfs": "stat", "preadv": "read", "pread": "read", "write": "write", "fsync": "fsync", "close": "close"}


def install(socket: str) -> None:
    """Have this process's storage layer, and that of its children, ask the campaign at `socket` before its calls, while
    the campaign wants to be asked."""
    gate = os.path.join(os.path.dirname(socket), hook.GATE)
    calls = {name: _asking(name, op, gate, getattr(os, name)) for name, op in _OPEN.items()}
    faulty = types.SimpleNamespace(**{name: getattr(os, name) for name in dir(os)} | calls)
    for module in (storage, storage_files):
        setattr(module, "os", faulty)  # noqa: B010 — a name of the module, which mypy rightly takes for the package
    setattr(storage, "syncfs", _asking("syncfs", "fsync", gate, storage_sync.syncfs))  # noqa: B010
    for name, op in NAMING.items():
        setattr(Anywhere, name, staticmethod(_asking(name, op, gate, getattr(Anywhere, name))))
        setattr(Beneath, name, _asking(name, op, gate, getattr(Beneath, name), path_at=1))


def _asking(name: str, op: str, gate: str, real: Callable[..., Any], path_at: int = 0) -> Callable[..., Any]:
    """The call, which asks first. A close that fails has closed all the same, as the kernel's has."""

    def asking(*arguments: Any, **named: Any) -> Any:
        if not os.path.exists(gate):
            return real(*arguments, **named)
        where, *rest = arguments[path_at:]
        shown = "create" if op == "open" and rest and rest[0] & os.O_CREAT else op
        detail = f"{shown} {os.fsdecode(where) if isinstance(where, bytes) else _path_of(where)}"
        if op == "close":
            real(*arguments, **named)
            hook.ask("storage", detail)
            return None
        if hook.ask("storage", detail) == "short" and op in ("read", "write"):
            return _short(name, real, arguments)
        return real(*arguments, **named)

    return asking


def _path_of(descriptor: object) -> str:
    """What is open there, or nothing."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}") if isinstance(descriptor, int) else ""
    except OSError:
        return ""


def _short(name: str, real: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Half of what was asked for, and one byte at least."""
    descriptor, wanted, *rest = arguments
    if name == "preadv":
        view = memoryview(wanted[0])
        return real(descriptor, (view[: max(1, len(view) // 2)],), *rest)
    if name == "pread":
        return real(descriptor, max(1, wanted // 2), *rest)
    return real(descriptor, memoryview(wanted)[: max(1, len(wanted) // 2)], *rest)
