"""Who may do what at the broker, in its own words (ACL): each role its few commands on its few keys.

Nobody may look at or change the server's settings, empty it, run scripts in it or list its keys, but the user that
only the broker's own keeper knows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from core.roles import CONTROLLER, PROVISIONER, QUEUE_MANAGER, WORKER, Login, login_name

# What a client library says before anything else; names no key.
_HELLO = "+ping +hello +auth +select +client|setinfo +client|setname"
# Celery's queues, one a database (core.celery_app.queue_name), each with its priorities; where Celery notes them; and
# the frames of the call record (monitoring.sender.STREAM).
_QUEUES, _BINDINGS, _FRAMES = "~edbench.*", "~_kombu.binding*", "~edbench:frames*"
_DECLARE = f"+multi +exec +discard ({_QUEUES} +llen) ({_BINDINGS} +sadd +smembers)"
_ANSWERED = "+client|id +client|unblock"  # a slot that is to stop waits for no message any more (worker.app)
# The crew (core.crew.messages): members report and take orders, only the controller gives any.
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
    """What the broker checks a password by; the password is too long to be guessed from it."""
    return hashlib.sha256(login.password.encode()).hexdigest()
