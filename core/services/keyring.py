"""`python -m core.services.keyring DIRECTORY [STORAGE]`: makes up the secrets of a system in containers, once.

Below DIRECTORY each part has a directory (a volume that is mounted into this part and no other), and in it a file or
two that only the part's user can read. What is there stays, so that it can be run at every start; a volume that was
removed gets new secrets, but for the superuser's password, which the databases' files know. Needs root, to give the
files away. STORAGE, a volume of the engine's that was just made and so is root's, is given to the user of controller
and workers.

controller, queue_manager, worker   `login`: user and password, at the databases and the broker
    provisioner                         `login`: at the broker
    controller                          `token` of the web UI, `grafana`: a copy of the password, for `edbench token`
    database                            `password`: of the superuser, for the server and for `core.services.admit`
    broker                              `users.acl`: who may do what there, and what their passwords are checked by
    grafana                             `password`: of its user admin"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.errors import EdbenchError, StorageFault, UsageError, reading_errors, system_errors
from core.program import without_logins
from core.roles import CONTROLLER, PROVISIONER, QUEUE_MANAGER, ROLES, WORKER, Login, login_name
from core.services.address import write_private
from core.settings import read_login

# Commands that a client library sends before anything else; they name no key.
_HELLO = "+ping +hello +auth +select +client|setinfo +client|setname"
# Celery's queues, one for each database (core.celery_app.queue_name), each with its priorities; Celery's list of them; and
# the frames of the call record (monitoring.broker.STREAM).
_QUEUES, _BINDINGS, _FRAMES = "~edbench.*", "~_kombu.binding*", "~edbench:frames*"
_DECLARE = f"+multi +exec +discard ({_QUEUES} +llen) ({_BINDINGS} +sadd +smembers)"
_ANSWERED = "+client|id +client|unblock"  # a slot that is stopping waits for no message (worker.app)
# The crew (core.crew): members report and take orders, only the controller gives any.
_CREW = "edbench:crew"
_ANSWER = f"(~{_CREW}:answers:* +rpush +expire)"
_MEMBER = f"(~{_CREW}:members +sadd) (~{_CREW}:member:* +set +del) (~{_CREW}:leased:* +exists) (~{_CREW}:orders:member:* +blpop) {_ANSWER}"
_COMMANDER = (
    f"(~{_CREW}:members +smembers +srem) (~{_CREW}:member:* +mget) (~{_CREW}:leased:* +set +del)"
    f" (~{_CREW}:orders:* +rpush +lrem +del) (~{_CREW}:answers:* +blpop)"
)
# When a run is over, in one command: all of its keys must be in one pair of brackets.
_OF_RUNS = "(~edbench.run.* ~_kombu.binding.edbench.run.* ~edbench:frames:* +del)"
_MAY = {
    PROVISIONER: f"(~{_CREW}:orders:provisioner +blpop) {_ANSWER}",
    WORKER: f"{_DECLARE} {_ANSWERED} ({_QUEUES} +brpop) ({_FRAMES} +xadd) {_MEMBER}",
    QUEUE_MANAGER: f"{_DECLARE} +info ({_QUEUES} +lpush) ({_FRAMES} +xread +xdel) {_OF_RUNS}",
    CONTROLLER: f"+info +time ({_QUEUES} +llen) ({_FRAMES} +xlen +xrange) {_COMMANDER}",
}


def user_lines(logins: Iterable[Login]) -> list[str]:
    """Lines for the broker's settings or its file of users; they hold no password, only what it is checked by."""
    lines = ["user default off resetpass resetchannels resetkeys -@all"]
    for login in logins:
        may = f"resetchannels resetkeys -@all {_HELLO} {_MAY[login.role]}"
        lines.append(f"user {login_name(login.role)} on #{digest(login)} {may}")
    return lines


def digest(login: Login) -> str:
    """The hash with which the broker checks a password, which is too long to be guessed from it."""
    return hashlib.sha256(login.password.encode()).hexdigest()


LOGIN, PASSWORD, TOKEN, USERS = "login", "password", "token", "users.acl"
DATABASE, BROKER, GRAFANA = "database", "broker", "grafana"
# The users of the public images.
SERVER_USERS = {DATABASE: 999, BROKER: 999, GRAFANA: 472}
_LOGINS = (*ROLES, PROVISIONER)
_GIVEN = {"EDBENCH_DB_PASSWORD": "the superuser's password", "EDBENCH_TOKEN": "the web UI token"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """Values of the environment, used instead of generated ones."""

    superuser: str | None = None  # EDBENCH_DB_PASSWORD
    token: str | None = None  # EDBENCH_TOKEN
    user: int = 1000  # EDBENCH_UID
    group: int = 1000  # EDBENCH_GID


def read_given(env: Mapping[str, str]) -> Given:
    """Read the values from the environment. Raises UsageError for an invalid value."""
    for key in ("EDBENCH_UID", "EDBENCH_GID"):
        if not re.fullmatch(r"[0-9]{1,10}", env.get(key) or "1000"):
            raise UsageError(f"{key} is {env[key]!r}; it must be a number")
    for key, what in _GIVEN.items():
        if env.get(key) and not re.fullmatch(r"[A-Za-z0-9._~-]{16,}", env[key]):
            raise UsageError(f"{key}: {what} must have at least 16 characters; use letters, digits and . _ ~ -")
    return Given(
        superuser=env.get("EDBENCH_DB_PASSWORD") or None,
        token=env.get("EDBENCH_TOKEN") or None,
        user=int(env.get("EDBENCH_UID") or 1000),
        group=int(env.get("EDBENCH_GID") or 1000),
    )


def make_secrets(directory: Path, given: Given) -> None:
    """Generate the missing secrets below `directory`. Raises StorageFault, UsageError for a file that holds no
    secret."""
    with system_errors(StorageFault, f"cannot write the secrets to {directory}"):
        for part in (*_LOGINS, *SERVER_USERS):
            (directory / part).mkdir(exist_ok=True)
        logins = [_login(directory, role) for role in _LOGINS]
        _keep(directory / CONTROLLER / TOKEN, given.token or secrets.token_hex(24), replace=given.token is not None)
        _keep(directory / DATABASE / PASSWORD, given.superuser or secrets.token_hex(24))
        _keep(directory / GRAFANA / PASSWORD, secrets.token_hex(24))
        shown = (directory / GRAFANA / PASSWORD).read_text(encoding="ascii").strip()
        _keep(directory / CONTROLLER / GRAFANA, shown, replace=True)
        _keep(directory / BROKER / USERS, "\n".join(user_lines(logins)), replace=True)


def give_away(directory: Path, given: Given) -> None:
    """Give each part's directory and files to the user that the part runs as; only that user can read them. Needs root.

    Raises StorageFault."""
    with system_errors(StorageFault, f"run this as root: cannot change the owner of the secrets in {directory}"):
        for part in (*_LOGINS, *SERVER_USERS):
            owner = SERVER_USERS.get(part)
            user, group = (given.user, given.group) if owner is None else (owner, owner)
            for path in (*(directory / part).iterdir(), directory / part):
                path.chmod(0o500 if path.is_dir() else 0o400)
                os.chown(path, user, group)


def read_logins(directory: Path, roles: Sequence[str] = ROLES) -> list[Login]:
    """The roles' logins as they were generated. Raises UsageError if they were not."""
    out = []
    for role in roles:
        path = directory / role / LOGIN
        out.append(Login(role=role, password=read_login(_read(path), str(path)).partition(":")[2]))
    return out


def superuser_password(directory: Path) -> str:
    """The superuser's password as it was generated. Raises UsageError if it was not."""
    return _read(directory / DATABASE / PASSWORD).strip()


def _read(path: Path) -> str:
    with reading_errors(path):
        return path.read_text(encoding="ascii")


def own_storage(directory: Path, given: Given) -> None:
    """Give a storage root that still belongs to root to the user of controller and workers. Raises StorageFault."""
    with system_errors(StorageFault, f"cannot change the owner of {directory} to user {given.user}"):
        if directory.stat().st_uid == 0:
            os.chown(directory, given.user, given.group)


def _login(directory: Path, role: str) -> Login:
    path = directory / role / LOGIN
    if not path.exists():
        write_private(path, f"{Login(role=role, password=secrets.token_hex(24))}\n")
    return Login(role=role, password=read_login(path.read_text(encoding="ascii"), str(path)).partition(":")[2])


def _keep(path: Path, text: str, *, replace: bool = False) -> None:
    if replace or not path.exists():
        write_private(path, f"{text}\n")


def main(arguments: list[str], env: Mapping[str, str]) -> int:
    """Run the command; return 0 when all secrets exist."""
    try:
        given = read_given(env)
        make_secrets(Path(arguments[0]), given)
        give_away(Path(arguments[0]), given)
        for storage in arguments[1:]:
            own_storage(Path(storage), given)
    except EdbenchError as error:
        sys.stderr.write(f"secrets: {without_logins(str(error))}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
