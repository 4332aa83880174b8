"""The report's HTML builder lets nothing through that is not markup of ours."""

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from experiments.report.parts import Html, clean, escaped, table, tag


@given(st.text(), st.text())
def test_any_text_comes_back_as_text(content: str, attribute: str) -> None:
    element = etree.fromstring(str(tag("p", content, title=attribute)))
    assert element.tag == "p"
    assert len(element) == 0
    # XML folds line ends and, in attributes, white space.
    assert (element.text or "").split() == clean(content).split()
    assert element.get("title", "").split() == clean(attribute).split()


def test_markup_is_kept_and_text_is_escaped() -> None:
    assert escaped(Html("<b>x</b>")) == "<b>x</b>"
    assert escaped("<b>x</b>") == "&lt;b&gt;x&lt;/b&gt;"
    assert tag("p", "a", tag("i", "&"), class_="note", title=None) == '<p class="note">a<i>&amp;</i></p>'


def test_controls_that_xml_cannot_hold_are_replaced() -> None:
    """A file name of control bytes must not make the page unreadable."""
    assert clean("a\x00\x1b\x85\ud800\uffffb\t") == "a" + 5 * "\ufffd" + "b\t"


def test_table_has_every_cell_and_marks_rows() -> None:
    parsed = etree.fromstring(str(table(("what", "n"), [("a", 1), ("b", 2)], caption="c", marked=frozenset({1}))))
    assert parsed.findtext(".//caption") == "c"
    assert [[cell.text for cell in row] for row in parsed.iter("tr")] == [["what", "n"], ["a", "1"], ["b", "2"]]
    assert [row.get("class") for row in parsed.find(".//tbody")] == [None, "marked"]
    assert {cell.get("class") for cell in parsed.iterfind(".//td[2]")} == {"number"}
