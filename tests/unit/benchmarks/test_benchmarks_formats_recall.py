"""What the table of `make bench-formats BENCH_ARGS="--table DIR"` counts."""

from __future__ import annotations

import pytest

from benchmarks.formats.recall import format_of, rows
from benchmarks.formats.score import Extract, our_extracts


@pytest.mark.parametrize(
    ("name", "told"),
    [("a/b.DOC", "doc"), ("x.htm", "html"), ("pdf", "other"), ("a.pdf/b", "other"), ("b.docm", "other")],
)
def test_a_files_format_is_its_names_ending(name: str, told: str) -> None:
    """In any case of letters; all others are one row."""
    assert format_of(name) == told


def test_a_shortfall_says_so_or_is_silent() -> None:
    """Items count the file itself; a file that we have nothing of counts in full, and one that Tika did not answer not."""
    ours = {
        "a.doc": Extract(terms={"one", "more"}, children=1),
        "b.doc": Extract(terms={"one"}, codes={"corrupt"}),
        "unasked.doc": Extract(terms={"zzz"}),
    }
    peers = {name: Extract(terms={"one", "two"}, children=1) for name in ("a.doc", "b.doc", "c.doc")}
    peers["d.pdf"] = Extract()
    found = rows(ours, peers)
    assert list(found) == ["doc", "pdf"]
    doc = found["doc"]
    assert (doc.files, doc.terms, doc.found, doc.items, doc.peer_items) == (3, 6, 2, 4, 6)
    assert (doc.less, doc.silent) == (["a.doc", "b.doc", "c.doc"], ["a.doc", "c.doc"])
    assert (found["pdf"].share, found["pdf"].less) == (1.0, [])


def test_exceptions_of_all_items_are_the_files() -> None:
    """Of an attachment too."""
    line = {"text": "", "metadata": {}, "media_type": "message/rfc822"}
    found = our_extracts(
        [line | {"container_path": ["a", "b"], "exceptions": ["corrupt"]}, line | {"container_path": ["a"]}]
    )
    assert found["a"].codes == {"corrupt"}
