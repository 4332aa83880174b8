"""The text of one document, by its item and owner."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from search.engine import IndexDocument, new_writer, open_reader

ITEM, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)


@pytest.mark.parametrize("engine", ["tantivy", "whoosh"])
def test_the_text_is_the_owners_and_nobody_elses(engine: str, tmp_path: Path) -> None:
    writer = new_writer(engine, tmp_path / "shard")
    writer.add(IndexDocument(item=ITEM, owner="1:1", body="a ghost"))
    writer.add(IndexDocument(item=ITEM, owner="1:2", body="first line\nsecond <b>line</b> é"))
    writer.add(IndexDocument(item=OTHER, owner="1:2", body="", name="empty"))
    writer.finish()
    writer.close()
    reader = open_reader(engine, tmp_path / "shard", tmp_path / "view")
    assert reader.body(ITEM, "1:2") == "first line\nsecond <b>line</b> é"
    assert reader.body(ITEM, "1:1") == "a ghost"
    assert reader.body(OTHER, "1:2") == ""
    assert reader.body(ITEM, "9:9") is None
    assert reader.body(uuid.UUID(int=3), "1:2") is None
