"""readers.passwords: which passwords are tried, how long, and what is told of them."""

from __future__ import annotations

import pytest

from core.records import Limits
from readers.errors import DocumentError, ExceptionCode
from readers.passwords import Passwords, TryBudget

LIMITS = Limits()
BANK = {"one": 1, "two": 2, "three": 5}


class Door:
    """Something locked, that counts what was tried on it."""

    def __init__(self, *fitting: str) -> None:
        self.fitting, self.tried = fitting, list[str]()

    def attempt(self, password: str) -> str | None:
        self.tried.append(password)
        return "inside" if password in self.fitting else None


def test_passwords_are_tried_in_order_until_one_fits() -> None:
    """The empty one first; the metadata has the line and not the password."""
    door = Door("two")
    opened = Passwords(BANK).open(b"lock", door.attempt, cost=1, budget=TryBudget(LIMITS))
    assert door.tried == ["", "one", "two"]
    assert opened.metadata == {"decrypted": True, "password_line": 2}
    assert "two" not in repr(opened)


def test_the_empty_password_needs_no_bank() -> None:
    opened = Passwords().open(b"lock", Door("").attempt, cost=1, budget=TryBudget(LIMITS))
    assert opened.metadata == {"decrypted": True}


def test_what_does_not_open_says_how_many_were_tried_and_is_not_tried_again() -> None:
    """The second time it is known."""
    passwords, door = Passwords(BANK), Door()
    for _ in range(2):
        with pytest.raises(DocumentError, match="3 passwords tried") as caught:
            passwords.open(b"lock", door.attempt, cost=1, budget=TryBudget(LIMITS))
        assert caught.value.code is ExceptionCode.ENCRYPTED
    assert len(door.tried) == 4


def test_what_opened_once_is_tried_first_on_the_neighbours_and_alone_on_the_same_lock() -> None:
    passwords = Passwords(BANK)
    passwords.open(b"lock", Door("three").attempt, cost=1, budget=TryBudget(LIMITS))
    again, neighbour = Door("three"), Door("three")
    passwords.open(b"lock", again.attempt, cost=1, budget=TryBudget(LIMITS))
    passwords.open(b"other", neighbour.attempt, cost=1, budget=TryBudget(LIMITS))
    assert (again.tried, neighbour.tried) == (["three"], ["", "three"])


def test_no_more_is_tried_than_half_of_an_items_time_allows() -> None:
    """Thirty tries of a second each, and the message says that there were more."""
    passwords, door = Passwords({str(n): n for n in range(1, 101)}), Door("100")
    with pytest.raises(DocumentError, match="29 of 100 passwords tried"):
        passwords.open(b"lock", door.attempt, cost=1e6, budget=TryBudget(LIMITS))


def test_locks_of_one_container_share_their_time() -> None:
    passwords, budget = Passwords({str(n): n for n in range(1, 101)}), TryBudget(LIMITS)
    passwords.open(b"a", Door("7").attempt, cost=1e6, budget=budget)
    with pytest.raises(DocumentError):
        passwords.open(b"b", Door().attempt, cost=1e6, budget=budget)
    last = Door("7")
    assert passwords.open(b"c", last.attempt, cost=1e6, budget=budget).line == 7
    assert last.tried == ["", "7"]
