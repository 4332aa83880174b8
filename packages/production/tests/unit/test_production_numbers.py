"""Numbers of a load file, and the names that their records have in a source."""

from __future__ import annotations

from pathlib import Path

import pytest

from production.importing import Names, Numbers


def test_a_number_is_had_once_it_was_asked_for() -> None:
    numbers = Numbers()
    reported = ["B1", "b1", "B/1", "B:1", "B1 ", "", "\ud800", "x" * 5_000_000]
    assert [numbers.had(number) for number in reported] == [False] * len(reported)
    assert all(numbers.had(number) for number in reported)


def test_many_of_one_name_try_no_name_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    exists = Path.exists

    def counted(path: Path) -> bool:
        tried.append(path.name)
        return exists(path)

    monkeypatch.setattr(Path, "exists", counted)
    names, given = Names(tmp_path), []
    for _ in range(100):
        given.append(names.free("item", ".txt"))
        (tmp_path / given[-1]).touch()
    assert given == ["item.txt", *(f"item-{number}.txt" for number in range(1, 100))]
    assert len(tried) < 250
