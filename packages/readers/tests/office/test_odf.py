"""readers.office.odf.handler: text in reading order, what is hidden or apart, children, encryption, damage."""

from functools import partial
from pathlib import Path

import pytest
from as_found import text_of
from hypothesis import given
from hypothesis import strategies as st
from office_xml import ODF, ODF_NAMES, opendocument
from unpacking import PNG

from core.records import Limits
from dataset_gen.formats import ole_package
from readers.base import MemorySource
from readers.clean import Collector
from readers.errors import ExceptionCode
from readers.office.counting import LONGEST
from readers.office.odf.handler import OdfHandler
from readers.office.odf.text import read_text
from readers.office.ooxml import xml as ooxml_xml
from readers.records import Kind, TextState

HANDLER = OdfHandler()
TAGS = (
    *("text:p", "text:h", "text:span", "text:s text:c='3'", "text:tab", "text:note", "office:annotation"),
    *("draw:frame", "svg:desc", "draw:page", "table:table table:name='T'", "table:table-row", "table:table-row"),
    *("table:table-cell", "table:table-cell", "table:covered-table-cell", "style:header", "style:footer-left"),
    "presentation:footer",
)
WORDS = ("one", " two ", "a  b", "\n  x", " ")


read = partial(text_of, kind=ODF)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<text:h>Head</text:h><text:p>one<text:s text:c='2'/>two<text:tab/>x<text:line-break/>y</text:p>", "Head\none  two\tx\ny\n"),
        ("<text:p>  pretty\n   printed </text:p>", "pretty printed\n"),
        ("<text:p>wo<text:span>rd<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>note</text:p></text:note-body></text:note>s</text:span></text:p>", "note\nwords\n"),
        ("<text:p>a<office:annotation><dc:creator>Ann</dc:creator><dc:date>2020</dc:date><text:p>remark</text:p></office:annotation>b</text:p>", "remark\nab\nAnn\n"),
        ("<text:tracked-changes><text:changed-region><text:deletion><office:change-info><dc:creator>x</dc:creator></office:change-info><text:p>gone</text:p></text:deletion></text:changed-region></text:tracked-changes><text:p>here</text:p>", "gone\nhere\n"),
        ("<table:table table:name='T'><table:table-row><table:table-cell><text:p>a</text:p><text:p>b</text:p></table:table-cell><table:table-cell/><table:table-cell><text:p>c</text:p></table:table-cell></table:table-row></table:table>", "a\nb\tc\n"),
        ("<text:p>con<l:content-control xmlns:l='urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0' l:alias='who'><text:span>tract</text:span></l:content-control>s</text:p>", "contracts\nwho\n"),
        ("<presentation:footer-decl presentation:name='f'>below</presentation:footer-decl><text:p>a</text:p>", "below\na\n"),
        ("<table:table><table:title>Pay</table:title><table:desc>of all</table:desc></table:table>", "Pay\nof all\n"),
        ("<text:p>a<m:math xmlns:m='http://www.w3.org/1998/Math/MathML'><m:mtext>net</m:mtext> <m:mo>=</m:mo><m:mi>x</m:mi></m:math></text:p>", "net =x\na\n"),
        ("<m:math xmlns:m='http://www.w3.org/1998/Math/MathML'><m:semantics><m:mi>x</m:mi><m:annotation>x over y</m:annotation></m:semantics></m:math><text:p>a</text:p>", "x over y\na\n"),
        ("<text:p><draw:frame><draw:text-box><text:p>boxed</text:p></draw:text-box><svg:desc>a cat</svg:desc></draw:frame>line</text:p>", "boxed\na cat\nline\n"),
    ],
)  # fmt: skip
def test_text_of_documents(body: str, text: str) -> None:
    assert read(opendocument(f"<office:text>{body}</office:text>")).text == text


def numbered(level: int, form: str, more: str = "", tag: str = "list-level-style-number") -> str:
    """A level of a list's style."""
    return f'<text:{tag} text:level="{level}" style:num-format="{form}" {more}/>'


def test_numbers_that_lists_make() -> None:
    """`2.1)` stands in no paragraph. Items of inner lists alone have no number; a list begins anew unless it continues one."""
    levels = numbered(1, "1", 'style:num-suffix="."') + numbered(2, "a", 'text:display-levels="2" style:num-suffix=")"')
    style = f'<text:list-style style:name="L">{levels}{numbered(3, "")}</text:list-style>'
    inner = "<text:list><text:list-item><text:p>x</text:p><text:p>more</text:p></text:list-item></text:list>"
    first = "<text:list-item><text:p>a</text:p></text:list-item><text:list-item><text:p>b</text:p>" + inner * 2
    body = (
        f'{style}<text:list text:style-name="L" xml:id="one">{first}</text:list-item></text:list><text:p>free</text:p>'
    )
    body += f'<text:list text:style-name="L" text:continue-numbering="true"><text:list-item>{inner}</text:list-item>'
    body += "<text:list-item><text:p>c</text:p></text:list-item></text:list>"
    body += '<text:list text:style-name="L"><text:list-item text:start-value="9"><text:p>d</text:p></text:list-item>'
    body += "<text:list-header><text:p>e</text:p></text:list-header></text:list>"
    body += (
        '<text:list text:continue-list="one" text:style-name="L"><text:list-item><text:p/></text:list-item></text:list>'
    )
    found = read(opendocument(body)).text.splitlines()
    assert found[:6] == ["1. a", "2. b", "2.a) x", "more", "2.b) x", "more"]
    assert found[6:] == ["free", "2.c) x", "more", "3. c", "9. d", "e", "4."]


def test_numbers_of_headings() -> None:
    outline = numbered(1, "I", 'style:num-prefix="Part "', "outline-level-style")
    outline += numbered(2, "1", 'text:display-levels="2"', "outline-level-style")
    letters = numbered(1, "A", 'style:num-letter-sync="true" text:start-value="28"')
    named = f'<text:list-style style:name="N">{letters}</text:list-style>'
    styles = f"<office:document-styles {ODF_NAMES}><text:outline-style>{outline}</text:outline-style>{named}</office:document-styles>"
    head = '<text:h text:outline-level="{}">{}</text:h>'
    body = "".join(head.format(*pair) for pair in ((1, "a"), (2, "b"), (2, "c"), (1, "d"), (2, "e"), (3, "f")))
    body += '<text:list text:style-name="N"><text:list-item><text:p>g</text:p></text:list-item></text:list>'
    found = read(opendocument(body, **{"styles.xml": styles.encode()})).text.splitlines()
    assert found == ["Part I a", "I.1 b", "I.2 c", "Part II d", "II.1 e", "f", "BB g"]


@pytest.mark.parametrize("most", [1 << 20, 0])
def test_deleted_headings_do_not_count(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ooxml_xml, "_TREE_BYTES", most)
    outline = f"<text:outline-style>{numbered(1, '1', tag='outline-level-style')}</text:outline-style>"
    style = f'<text:list-style style:name="L">{numbered(1, "a")}</text:list-style>'
    item = "<text:list-item><text:p>{}</text:p></text:list-item>"
    item = f'<text:list text:style-name="L" text:continue-numbering="true">{item}</text:list>'
    gone = f"<text:deletion><text:h>Old</text:h>{item.format('lost')}</text:deletion>"
    changes = f"<text:tracked-changes><text:changed-region>{gone}</text:changed-region></text:tracked-changes>"
    body = f"{outline}{style}{changes}"
    body += f"<text:h>First</text:h>{item.format('kept')}<text:h>Second</text:h>"
    found = read(opendocument(body)).text.splitlines()
    assert found == ["Old", "lost", "1 First", "a kept", "2 Second"]


def test_levels_of_headings_are_ten() -> None:
    """Deeper ones count as the deepest: counts are held for ten levels, and not for as many as a document names."""
    style = f"<text:outline-style>{numbered(10, '1', tag='outline-level-style')}</text:outline-style>"
    body = "".join(f'<text:h text:outline-level="{level}">x</text:h>' for level in (10, 11, 999))
    assert read(opendocument(style + body)).text.splitlines() == ["1 x", "2 x", "3 x"]


def test_text_around_a_number_is_short() -> None:
    around = f'style:num-prefix="{"<" * 1000}" style:num-suffix="{">" * 1000}"'.replace("<", "&lt;")
    style = f"<text:outline-style>{numbered(1, '1', around, 'outline-level-style')}</text:outline-style>"
    found = read(opendocument(f"{style}<text:h>x</text:h>")).text
    assert found == f"{'<' * LONGEST}1{'>' * LONGEST} x\n"


def test_cells_without_text_show_their_values() -> None:
    cells = (
        '<table:table-cell office:value-type="time" office:time-value="PT36H15M00S"/>'
        '<table:table-cell office:value-type="time" office:time-value="-P1DT5.5S"/>'
        '<table:table-cell office:value-type="date" office:date-value="1899-12-30"/>'
        '<table:table-cell office:value-type="float" office:value="7.5"/>'
        '<table:table-cell office:value-type="string" office:string-value="word"/>'
        '<table:table-cell office:value-type="float" office:value="8"><text:p>8,00</text:p></table:table-cell>'
        "<table:table-cell/>"
    )
    body = f'<table:table table:name="T"><table:table-row>{cells}</table:table-row></table:table>'
    shown = read(opendocument(f"<office:spreadsheet>{body}</office:spreadsheet>", "spreadsheet")).text
    assert shown == "T\n36:15:00\t-24:00:05.5\t1899-12-30\t7.5\tword\t8,00\n"


def test_sheets() -> None:
    sheet = (
        "<table:table table:name='{}' table:style-name='hidden'><table:table-row table:number-rows-repeated='1000000'>"
        "<table:table-cell table:number-columns-repeated='16000'><office:annotation><text:p>why</text:p></office:annotation>"
        "<text:p>{}</text:p></table:table-cell></table:table-row></table:table>"
    )
    body = sheet.format("First", 1) + sheet.format("Secret", 2)
    assert read(opendocument(f"<office:spreadsheet>{body}</office:spreadsheet>", "spreadsheet")).text == (
        "First\nwhy\n1\nSecret\nwhy\n2\n"
    )


def test_slides_are_pages() -> None:
    page = "<draw:page><draw:frame><draw:text-box><text:p>{0}</text:p></draw:text-box></draw:frame><presentation:notes><text:p>say {0}</text:p></presentation:notes></draw:page>"
    out = read(
        opendocument(f"<office:presentation>{page.format('a')}{page.format('b')}</office:presentation>", "presentation")
    )
    assert (out.text, out.pages) == ("a\nsay a\nb\nsay b\n", 2)


def test_headers_metadata_and_objects() -> None:
    styles = (
        f"<office:document-styles {ODF_NAMES}><office:master-styles><style:master-page><text:p>not this</text:p><style:header>"
        "<text:p>top</text:p></style:header><style:footer-left><text:p>bottom</text:p></style:footer-left>"
        "</style:master-page></office:master-styles></office:document-styles>"
    )
    meta = (
        f"<office:document-meta {ODF_NAMES}><office:meta><dc:title>T</dc:title><meta:initial-creator>A</meta:initial-creator>"
        "<dc:creator>B</dc:creator><dc:date>2020-01-02T03:04:05</dc:date></office:meta></office:document-meta>"
    )
    chart = f"<office:document-content {ODF_NAMES}><text:p>axis</text:p></office:document-content>"
    parts = {"styles.xml": styles.encode(), "meta.xml": meta.encode(), "Object 1/content.xml": chart.encode()}
    parts["Obj2/content.xml"] = chart.replace("axis", "title").encode()  # as other programs call the folder
    out = read(opendocument("<office:text><text:p>x</text:p></office:text>", **parts))
    assert out.text == "x\ntop\nbottom\naxis\ntitle\n"
    assert out.metadata == {"title": "T", "author": "A", "last_author": "B", "modified": "2020-01-02T03:04:05"}


def test_children() -> None:
    parts = {
        "Pictures/1.png": PNG,
        "Thumbnails/thumbnail.png": PNG,
        "Object 1": b"OLE",
        "ObjectReplacements/Object 1": b"x",
    }
    parts["Object 2/Pictures/2.png"] = PNG
    data = opendocument("<office:text/>", **parts)
    found = list(HANDLER.children(MemorySource(b"", data), Limits()))
    assert [(c.name, c.ordinal, c.data) for c in found] == [
        (b"1.png", 0, PNG),
        (b"thumbnail.png", 1, PNG),
        (b"Object 1", 2, b"OLE"),
        (b"2.png", 3, PNG),
    ]
    assert [c.notes for c in found] == [{}, {"thumbnail": True}, {}, {}]
    assert {c.kind for c in found} == {Kind.EMBEDDED_OBJECT}


def test_packaged_file() -> None:
    data = opendocument("<office:text/>", **{"Object 1": ole_package.compound_file("größe.txt", b"inside")})
    assert [(c.name, c.data) for c in HANDLER.children(MemorySource(b"", data), Limits())] == [
        ("größe.txt".encode(), b"inside")
    ]


def body_of(steps: list[int]) -> str:
    """Elements in one another, allowed or not, with words between: begin one, end one, or a word."""
    out, inside = [], list[str]()
    for step in steps:
        if step < len(TAGS):
            inside.append(TAGS[step])
            out.append(f"<{TAGS[step]}>")
        elif step < len(TAGS) + len(WORDS):
            out.append(WORDS[step - len(TAGS)])
        elif inside:
            out.append(f"</{inside.pop().split()[0]}>")
    return "".join([*out, *(f"</{tag.split()[0]}>" for tag in reversed(inside))])


@given(st.lists(st.integers(0, len(TAGS) + 3 * len(WORDS)), max_size=50), st.booleans())
def test_large_parts_read_as_small_ones(steps: list[int], headers_only: bool) -> None:
    body = f"<style:header>{body_of(steps)}</style:header><text:p>body</text:p>" if headers_only else body_of(steps)
    data = f"<x {ODF_NAMES}>{body}</x>".encode()
    seen = []
    for most in (1 << 20, 0):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(ooxml_xml, "_TREE_BYTES", most)
            collector = Collector(1 << 20)
            pages = read_text(iter([data]), collector, sheets=True, headers_only=headers_only)
        seen.append((collector.text(), pages))
    assert seen[0] == seen[1]


def test_damaged() -> None:
    broken = opendocument("<office:text><text:p>before</text:p><text:p>cut</office:text>")
    out = read(broken)
    assert out.text.startswith("before\n")
    assert (out.error and out.error.code) is ExceptionCode.CORRUPT
    bomb = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x xmlns="u">&b;</x>'
    data = opendocument("", **{"content.xml": bomb})
    assert "aaaa" not in HANDLER.text(MemorySource(b"", data), Limits()).text


def test_lines_without_end_are_bounded() -> None:
    spaces = "<text:s text:c='1000'/>" * 40_000
    out = read(opendocument(f"<office:text><text:p>before</text:p><text:p>x{spaces}</text:p></office:text>"))
    assert out.state is TextState.TRUNCATED_BY_LIMIT
    assert out.text.startswith("before\nx ")
    assert len(out.text) < 21_000_000


@pytest.mark.parametrize(
    ("name", "fragment", "pictures"),
    [
        ("Plan.odt", "This will constitute good act of vandalism.", 2),
        ("rom.ods", "COP fără publicare\tcontract de achiziţie\t245", 1),
        ("rand-1670433101.440986000.odt", "graphomaniac Talpa Deuteronomical", 1),
    ],
)
def test_real_files(name: str, fragment: str, pictures: int, real_files: Path) -> None:
    """Of LibreOffice and pandoc; each has a thumbnail."""
    source = MemorySource(name.encode(), (real_files / "ingest-file" / name).read_bytes())
    out = HANDLER.text(source, Limits())
    assert fragment in out.text
    assert out.error is None
    assert len(list(HANDLER.children(source, Limits()))) == pictures
