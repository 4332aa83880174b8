"""Who gives the command, as it is written down beside what was done."""

from __future__ import annotations

import getpass
import os
import socket


def operator() -> str:
    """The login's name and the host's; the login's number where it has no name."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):
        name = f"uid {os.geteuid()}"
    return f"{name}@{socket.gethostname()}"
