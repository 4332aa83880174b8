"""Checks tokens and keeps sessions."""

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
WRONG_AT_ONCE = 10  # wrong tokens before an address has to wait
SECONDS_A_TRY = 6.0  # per further try
MOST_ADDRESSES = 10_000  # remembered with wrong tokens; the oldest is forgotten


class Throttled(EdbenchError):
    """An address sent too many wrong tokens and has to wait for `seconds`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = max(1, math.ceil(seconds))
        super().__init__(f"too many wrong tokens from this address; try again in {self.seconds} s")


class Door:
    """The token and the sessions of one server, in memory; used by one event loop."""

    def __init__(self, token: str, now: Callable[[], float] = time.monotonic) -> None:
        self._digest = _digest(token)
        self._now = now
        self._sessions: dict[bytes, float] = {}  # digest → when it ends; oldest first
        self._wrong: dict[
            str, tuple[float, float]
        ] = {}  # address → wrong tokens that still count, and the time of that count

    def knows(self, token: str, address: str) -> bool:
        """Whether it is the token, in constant time. Raises Throttled, also for the right token, so that guessing stops."""
        who = _who(address)
        count = self._counting(who)
        if count > WRONG_AT_ONCE - 1:
            raise Throttled((count - WRONG_AT_ONCE + 1) * SECONDS_A_TRY)
        right = hmac.compare_digest(_digest(token), self._digest)
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
        session = secrets.token_urlsafe(32)
        self._sessions[_digest(session)] = self._now() + SESSION_SECONDS
        if len(self._sessions) > MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return session

    def admits(self, session: str) -> bool:
        """Whether the session is valid."""
        return self._now() < self._sessions.get(_digest(session), -math.inf)

    def end(self, session: str) -> None:
        """End the session, including every copy of its cookie."""
        self._sessions.pop(_digest(session), None)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "replace")).digest()


def _who(address: str) -> str:
    """The address for counting; of IPv6 the network, because a host can use all of its addresses."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ip) if ip.version == 4 else str(ipaddress.ip_network((int(ip), 64), strict=False))
