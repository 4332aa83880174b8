"""The names that records of a load file have in a source."""

from __future__ import annotations

from pathlib import Path

import pytest

from production.importing import Names


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
