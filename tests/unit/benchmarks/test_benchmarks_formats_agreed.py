"""benchmarks.formats.agreed: words that two other readers have and we lack."""

from __future__ import annotations

from benchmarks.formats.agreed import TIKA, agreements
from benchmarks.formats.score import Extract


def extract(*terms: str, text: str = "") -> Extract:
    return Extract(terms=set(terms), texts=[text])


def test_what_two_of_three_have_counts() -> None:
    """A word of one alone does not; a file that one alone reads does not either."""
    ours = {"a.doc": extract("both"), "b.pdf": extract()}
    others = {
        TIKA: {"a.doc": extract("both", "lost", "tikas"), "b.pdf": extract("word")},
        "antiword": {"a.doc": extract("both", "lost")},
        "catdoc": {"a.doc": extract("catdocs", "lost")},
        "pdftotext": {"b.pdf": extract()},
    }
    found = agreements(ours, others)
    assert list(found) == ["doc"]
    row = found["doc"]
    assert (row.files, row.terms, row.found, row.missing) == (1, 2, 1, {"a.doc": ["lost"]})
    assert row.readers == {TIKA: 1, "antiword": 1, "catdoc": 1}


def test_what_is_no_loss_is_left_out() -> None:
    """By the rules that hold beside Tika: two words of ours that both have as one."""
    ours = {"a.rtf": extract("joined", "words", text="joined\nwords")}
    others = {"unrtf": {"a.rtf": extract("joinedwords")}, TIKA: {"a.rtf": extract("joinedwords")}}
    row = agreements(ours, others)["rtf"]
    assert (row.terms, row.found, row.missing, row.share) == (1, 1, {}, 1.0)


def test_a_file_that_we_did_not_read() -> None:
    """All of it is missing."""
    others = {"unrtf": {"a.rtf": extract("some")}, TIKA: {"a.rtf": extract("some")}}
    assert agreements({}, others)["rtf"].missing == {"a.rtf": ["some"]}
