"""Tries a job's password bank on encrypted data: in order, each once, and not longer than an item may take.

A handler has no clock, so the cost of a try is given in microseconds of an ordinary CPU, from the number of rounds of
the key derivation; half of an item's time is for tries. No message or metadata ever contains a password."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from readers.errors import encrypted
from readers.records import Limits

T = TypeVar("T")
_REMEMBERED = 4_096  # locks


@dataclass(frozen=True, slots=True)
class Opened(Generic[T]):
    """Result of a password that fits."""

    value: T
    password: str = field(repr=False)
    line: int | None  # of the bank; None for a generally known password, such as the empty one

    @property
    def metadata(self) -> dict[str, Any]:
        """The item's metadata about it."""
        return {"decrypted": True} | ({} if self.line is None else {"password_line": self.line})


class TryBudget:
    """Time for tries, shared by all locks of one container."""

    def __init__(self, limits: Limits) -> None:
        self.left = limits.item_seconds * 1e6 / 2

    def spend(self, cost: float) -> bool:
        """Take the cost of one try; return False if there is not enough time."""
        if cost > self.left:
            return False
        self.left -= cost
        return True


class Passwords:
    """The bank as handlers use it. It remembers which password opened a lock and which locks none did, so that reading
    an item again costs one try; that changes no result, because the remembered password is the first that fits."""

    def __init__(self, bank: Mapping[str, int] | None = None) -> None:
        """Take `bank`: each password with its line."""
        self._bank = dict(bank or {})
        self._opened: dict[bytes, tuple[str, int | None]] = {}
        self._shut: dict[bytes, str] = {}
        self._last: str | None = None  # the last one that fitted: neighbours probably have the same

    def __len__(self) -> int:
        return len(self._bank)

    @property
    def bank(self) -> Mapping[str, int]:
        """Each password with its line."""
        return self._bank

    def open(
        self,
        lock: bytes,
        attempt: Callable[[str], T | None],
        *,
        cost: float,
        budget: TryBudget,
        known: tuple[str, ...] = ("",),
    ) -> Opened[T]:
        """Return the result of `attempt` for the first password that fits. Raises DocumentError `encrypted` if none
        does.

        `lock` identifies the encrypted data; `known` are passwords that are tried without a bank."""
        if lock in self._shut:
            raise encrypted(self._shut[lock])
        tried = 0
        for password, line in self._candidates(lock, known):
            # A password that is already known, or generally known, is tried regardless of the budget.
            free = lock in self._opened or line is None or password == self._last
            if not budget.spend(cost) and not free:
                break
            value = attempt(password)
            if value is not None:
                self._last = password
                _remember(self._opened, lock, (password, line))
                return Opened(value, password, line)
            tried += line is not None
        detail = needed(tried, len(self._bank))
        _remember(self._shut, lock, detail)
        raise encrypted(detail)

    def _candidates(self, lock: bytes, known: tuple[str, ...]) -> list[tuple[str, int | None]]:
        if lock in self._opened:
            return [self._opened[lock]]
        lines: dict[str, int | None] = dict.fromkeys(known)
        if self._last is not None and self._last in self._bank:
            lines.setdefault(self._last, self._bank[self._last])
        for password, line in self._bank.items():
            lines.setdefault(password, line)
        return list(lines.items())


def needed(tried: int, bank: int) -> str:
    """Return the message for an item that no password opened."""
    detail = "a password is needed to open it"
    if not bank:
        return detail
    if tried < bank:
        return f"{detail}; {tried} of {bank} passwords tried: trying more would exceed the time limit of an item"
    return f"{detail}; {tried} password{'s' * (tried != 1)} tried"


def _remember(memory: dict[bytes, Any], lock: bytes, value: object) -> None:
    if len(memory) >= _REMEMBERED:
        del memory[next(iter(memory))]
    memory[lock] = value


NO_PASSWORDS = Passwords()
