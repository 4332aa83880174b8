"""Filters of items, and the views of an index."""

import os
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest

from controller.browse.item_filter import ItemFilter
from controller.search.opened import reader_views


def test_no_filter_asks_for_nothing() -> None:
    assert set(astuple(ItemFilter().parameters())) == {None}


def test_links_are_removed_also_when_a_lock_file_comes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove, late = os.rmdir, []

    def rmdir(path: Any, **options: Any) -> None:
        if not late:
            late.append(next(tmp_path.glob("search-*")) / ".tantivy-meta.lock")
            late[0].touch()
        remove(path, **options)

    monkeypatch.setattr(os, "rmdir", rmdir)
    with reader_views(tmp_path) as views:
        (views / "meta.json").touch()
    assert late
    assert not list(tmp_path.iterdir())
