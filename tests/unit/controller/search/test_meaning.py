"""Searches that are kept, put into a query."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from controller.search import meaning as module
from controller.search.meaning import meaning
from core.errors import UsageError
from search.language import parse


def _kept(monkeypatch: pytest.MonkeyPatch, searches: dict[str, str]) -> Any:
    """A job that has these."""
    rows = [SimpleNamespace(name=name, query=query) for name, query in searches.items()]
    monkeypatch.setattr(module, "SEARCH", SimpleNamespace(list_searches=lambda conn, job: rows))
    return SimpleNamespace(id="job", database=SimpleNamespace(transaction=nullcontext))


def test_each_stands_for_its_query(monkeypatch: pytest.MonkeyPatch) -> None:
    job = _kept(monkeypatch, {"a": "one OR two", "b": "saved:a NOT saved:c", "c": "three"})
    assert meaning(job, "saved:b saved:a") == parse("((one OR two) NOT three) (one OR two)")


def test_searches_that_name_each_other_again_and_again_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five deep and each with eight more are 32,768 of the last: refused, and not written out first."""
    searches = {f"s{n}": " ".join([f"saved:s{n + 1}"] * 8) for n in range(5)} | {"s5": "word"}
    with pytest.raises(UsageError, match="more than 1,000"):
        meaning(_kept(monkeypatch, searches), "saved:s0")
