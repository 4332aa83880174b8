"""Checks tokens and sign-in codes, and keeps sessions."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import math
import secrets
import time
from collections.abc import Callable

from core.errors import EdbenchError

SESSION_SECONDS = 12 * 3600
MOST_SESSIONS = 1_000  # the oldest is removed
CODE_SECONDS = 15 * 60
MOST_CODES = 100  # unused ones; the oldest is removed
WRONG_AT_ONCE = 10  # wrong tokens before an address has to wait
SECONDS_A_TRY = 6.0  # per further try
MOST_ADDRESSES = 10_000  # remembered with wrong tokens; the oldest is forgotten


class Throttled(EdbenchError):
    """An address sent too many wrong tokens and has to wait for `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = max(1, math.ceil(seconds))
        super().__init__(f"too many wrong tokens from this address; try again in {self.seconds} s")


class Door:
    """The token, the sign-in codes and the sessions of one server, in memory; used by one event loop."""

    def __init__(self, token: str, now: Callable[[], float] = time.monotonic) -> None:
        self._digest = _digest(token)
        self._now = now
        self._sessions: dict[bytes, float] = {}  # digest → when it ends; oldest first
        self._codes: dict[bytes, float] = {}  # the same of unused codes
        self._wrong: dict[
            str, tuple[float, float]
        ] = {}  # address → wrong tokens that still count, and the time of that count

    def knows(self, token: str, address: str) -> bool:
        """Whether it is the token, in constant time. Raises Throttled, also for the right token, so that guessing stops."""
        return self._checked(address, lambda: hmac.compare_digest(_digest(token), self._digest))

    def new_code(self) -> str:
        """Create a sign-in code, which `redeem` takes once within CODE_SECONDS."""
        return _remember(self._codes, self._now() + CODE_SECONDS, MOST_CODES)

    def redeem(self, code: str, address: str) -> bool:
        """Whether it is an unused code that has not expired; it is used now. Wrong codes count as wrong tokens: raises Throttled."""
        return self._checked(address, lambda: self._now() < self._codes.pop(_digest(code), -math.inf))

    def _checked(self, address: str, check: Callable[[], bool]) -> bool:
        who = _who(address)
        count = self._counting(who)
        if count > WRONG_AT_ONCE - 1:
            raise Throttled((count - WRONG_AT_ONCE + 1) * SECONDS_A_TRY)
        right = check()
        if not right:
            self._wrong.pop(who, None)
            self._wrong[who] = (count + 1, self._now())
            if len(self._wrong) > MOST_ADDRESSES:
                del self._wrong[next(iter(self._wrong))]
        return right

    def _counting(self, who: str) -> float:
        count, since = self._wrong.get(who, (0.0, 0.0))
        return max(0.0, count - (self._now() - since) / SECONDS_A_TRY)

    def begin(self) -> str:
        """Create a session; returns its random name."""
        return _remember(self._sessions, self._now() + SESSION_SECONDS, MOST_SESSIONS)

    def admits(self, session: str) -> bool:
        """Whether the session is valid."""
        return self._now() < self._sessions.get(_digest(session), -math.inf)

    def end(self, session: str) -> None:
        """End the session, including every copy of its cookie."""
        self._sessions.pop(_digest(session), None)


def _remember(names: dict[bytes, float], until: float, most: int) -> str:
    """A new random name, whose digest is kept with the time that it ends at; the oldest is removed when there are too many."""
    name = secrets.token_urlsafe(32)
    names[_digest(name)] = until
    if len(names) > most:
        del names[next(iter(names))]
    return name


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def _who(address: str) -> str:
    """The address for counting; of IPv6 the network, because a host can use all of its addresses."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ip) if ip.version == 4 else str(ipaddress.ip_network((int(ip), 64), strict=False))
