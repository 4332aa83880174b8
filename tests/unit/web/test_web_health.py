"""Health costs the databases little, however often it is asked, because it needs no token."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from core.errors import DatabaseFault
from sql.session import Database
from web.context import DatabaseHealth


def test_databases_are_asked_at_most_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    now = 100.0

    @contextmanager
    def transaction(self: Database) -> Iterator[Any]:
        asked.append(self.name)
        raise DatabaseFault(f"database {self.name}: it cannot be reached", transient=True)
        yield

    monkeypatch.setattr(Database, "transaction", transaction)
    health = DatabaseHealth([Database("db1", "postgresql+psycopg2://u@127.0.0.1:1/db")], now=lambda: now)
    assert health.states() == {"db1": "database db1: it cannot be reached"}
    now += 0.9
    health.states()
    assert asked == ["db1"]
    now += 0.2
    health.states()
    assert asked == ["db1", "db1"]
