"""Which running kernel this is. Containers of one host share it, and with it every counter in this package."""

from __future__ import annotations

from pathlib import Path

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

_SHORT = 8  # characters of it in a source's name


def boot_id(path: Path = BOOT_ID) -> str:
    """The kernel's id since it was started, the same in all its containers; empty where it does not tell."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def short_boot_id(path: Path = BOOT_ID) -> str:
    """The beginning of it, as sources of observations carry it; `unknown` where the kernel does not tell."""
    return boot_id(path)[:_SHORT] or "unknown"
