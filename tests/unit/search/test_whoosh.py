"""What is Whoosh's alone: its pickles may do nothing, and its damaged files are told, not believed."""

from __future__ import annotations

import json
import os
import pickle
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import StorageFault, UsageError
from search.engine import IndexDocument
from search.language import parse
from search.query import asks_ledger, sought
from search.whoosh_engine import WhooshReader, WhooshWriter, plain_loads, whoosh_query


class _Harmful:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("harm",)


def test_a_pickle_from_the_filer_cannot_call_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may write to the storage under test must not thereby run code in the controller."""
    monkeypatch.chdir(tmp_path)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(pickle.UnpicklingError):
            plain_loads(pickle.dumps(_Harmful(), protocol))
        plain = {"a": (1, 2.5, b"\x00\xff", "ü", None, [True])}
        assert plain_loads(pickle.dumps(plain, protocol)) == plain
    assert not (tmp_path / "harm").exists()


def test_a_directory_in_a_segment_that_would_call_something_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    writer = WhooshWriter(tmp_path / "index")
    writer.add(IndexDocument(item=uuid.uuid4(), owner="1:1", body="words"))
    (name,) = writer.finish().files
    writer.close()
    file = tmp_path / "index" / name
    harm = pickle.dumps(_Harmful(), 2)
    body = file.read_bytes()
    file.unlink()
    file.write_bytes((12).to_bytes(8, "big") + body[8:12] + harm)
    with pytest.raises(StorageFault, match="cannot be opened"):
        WhooshReader(tmp_path / "index", tmp_path / "view")
    assert not (tmp_path / "harm").exists()


def test_a_meta_file_cannot_lead_out_of_its_directory(tmp_path: Path) -> None:
    meta = {"format": "edbench-whoosh/1", "segments": [{"id": "../../x", "documents": 1, "field_lengths": {}}]}
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(StorageFault, match="cannot be opened"):
        WhooshReader(tmp_path, tmp_path / "view")


@given(
    st.text(alphabet=st.sampled_from("ab()\"' *+-:/\\") | st.characters(), max_size=30)
    | st.text('abANDORT() "-*~^[]{}<>1.:')
)
def test_any_query_is_read_or_refused(query: str) -> None:
    """Whatever is typed, there is a query or one clear line; nothing else is raised."""
    refused, node = "", None
    try:
        node = parse(query)
    except UsageError as e:
        refused = str(e)
    assert "\n" not in refused
    if node is not None:
        set(sought(node))
        if not asks_ledger(node):
            whoosh_query(node)
