"""The roles of processes, and the login with which each role connects to the databases and to the broker.

A role's login has the same name and password at all servers of an installation. What a login may do is defined in
`sql.migrate` (databases) and in `core.services.keyring` (broker)."""

from __future__ import annotations

import re
from dataclasses import dataclass

CONTROLLER = "controller"  # commands and the web UI: owns the tables
QUEUE_MANAGER = "queue_manager"
WORKER = "worker"  # the slots of one, its supervisor and its reporter
ROLES = (CONTROLLER, QUEUE_MANAGER, WORKER)
PROVISIONER = "provisioner"  # at the broker; at our own databases it is the superuser (core.services.provisioner)

_URL = re.compile(r"(?P<scheme>[a-z0-9+]+://)(?:(?P<login>[^/?#]*)@)?(?P<rest>.*)", re.DOTALL)


def login_name(role: str) -> str:
    """The name with which a role logs in to databases and broker."""
    return f"edbench_{role}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """The login of a role. The password consists of letters and digits."""

    role: str
    password: str

    def into(self, url: str) -> str:
        """The same address with this login, which replaces any other."""
        return with_login(url, str(self))

    def __str__(self) -> str:
        return f"{login_name(self.role)}:{self.password}"


def has_login(url: str) -> bool:
    """Whether the URL has a login."""
    match = _URL.fullmatch(url)
    return bool(match and match["login"])


def has_password(url: str) -> bool:
    """Whether the URL has a password that is not empty."""
    match = _URL.fullmatch(url)
    return bool(match and match["login"] and match["login"].partition(":")[2])


def with_login(url: str, login: str) -> str:
    """The same address with this login (`user:password`, letters and digits), which replaces any other."""
    match = _URL.fullmatch(url)
    if match is None:
        raise ValueError("not the URL of a database or broker")
    return f"{match['scheme']}{login}@{match['rest']}"
