"""Ports for the embedded services."""

from __future__ import annotations

import errno
import secrets
import socket
from pathlib import Path

from core.errors import SystemFault, UsageError

LOOPBACK = "127.0.0.1"


def free_port(listen: str = LOOPBACK) -> int:
    """A port that is free now, on loopback and at `listen`, and that the kernel gives to no outgoing connection, so that a
    server which dies finds it free again. Raises SystemFault when there is none, UsageError for an address of others."""
    low, high = _ephemeral_range()
    choices = [port for port in range(10_000, 61_000) if not low <= port <= high] or list(range(20_000, 61_000))
    for _ in range(200):
        port = secrets.choice(choices)
        if all(_is_free(address, port) for address in dict.fromkeys((LOOPBACK, listen))):
            return port
    raise SystemFault(f"no port is free on {LOOPBACK}; is the loopback interface up?")


def refuse_taken(address: str, port: int) -> None:
    """Raises UsageError where nobody can listen at that port, here and on loopback: it is taken, or kept for root, or the
    address is another host's."""
    try:
        free = all(_is_free(one, port) for one in dict.fromkeys((LOOPBACK, address)))
    except PermissionError as error:
        raise UsageError(f"this user may not listen on port {port}; give a port above 1023") from error
    if not free:
        raise UsageError(
            f"port {port} of {address} is in use; wait until the other command has ended, or give another port"
        )


def _is_free(address: str, port: int) -> bool:
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL and address != LOOPBACK:
                raise UsageError(f"{address} is not an address of this host; `ip address` lists them") from error
            if error.errno == errno.EACCES:
                raise
            return False
    return True


def _ephemeral_range() -> tuple[int, int]:
    try:
        low, high = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    except (OSError, ValueError):
        return 32_768, 60_999
    return int(low), int(high)
