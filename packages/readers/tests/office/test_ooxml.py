"""Office Open XML: every place that holds text is read, damaged packages give what they still hold."""

import contextlib
import io
import random
import re
import struct
import tracemalloc
import zipfile
from collections import Counter
from datetime import datetime

import pytest
from office_xml import HANDLER, LIMITS, A, R, S, W, docx, package, para, read, word

from core.records import Limits
from readers.base import MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.office import counting as numerals
from readers.office.cell_formats import SEPARATOR, date_text, style_of
from readers.office.ooxml.sheet import Around, plain_rows
from readers.records import Kind, TextState


def test_docx_reads_every_place_with_text() -> None:
    box = f"<w:r><mc:AlternateContent><mc:Choice><w:txbxContent>{para('boxed')}</w:txbxContent></mc:Choice>"
    box += f"<mc:Fallback><w:txbxContent>{para('boxed')}</w:txbxContent></mc:Fallback></mc:AlternateContent></w:r>"
    body = (
        '<w:p><w:pPr><w:tabs><w:tab w:pos="1"/></w:tabs></w:pPr><w:r><w:t>wo</w:t></w:r><w:r><w:t>rd</w:t><w:tab/>'
        f"<w:t>after</w:t><w:br/><w:t>broken</w:t></w:r></w:p><w:p>{box}<w:r><w:t>anchor</w:t></w:r></w:p>"
        "<w:p><w:ins><w:r><w:t>inserted</w:t></w:r></w:ins><w:del><w:r><w:delText>deleted</w:delText></w:r></w:del></w:p>"
    )
    kinds = ("header", "footer", "footnotes", "endnotes", "comments")
    parts = {f"word/{kind}1.xml": word(para(f"in {kind}")) for kind in kinds}
    lines = read(package({**parts, "word/document2.xml": word(body)})).text.splitlines()
    assert lines[:2] == ["word\tafter", "broken"]
    assert lines.count("boxed") == 1
    assert "anchor" in lines
    assert "inserteddeleted" in lines
    assert [line for line in lines if line.startswith("in ")] == [f"in {kind}" for kind in kinds]


def nested(depth: int) -> str:
    """Paragraphs in one another, each with a line before the next and one behind it."""
    before = "".join(f"<w:p><w:r><w:t>before {n},</w:t></w:r>" for n in range(depth))
    return before + "".join(f"<w:r><w:t>behind {n}</w:t></w:r></w:p>" for n in reversed(range(depth)))


@pytest.mark.parametrize("padding", [0, 2_100_000], ids=["tree", "streamed"])
def test_text_of_nested_paragraphs_comes_once(padding: int) -> None:
    out = read(docx(nested(100) + para("x" * padding)))
    lines = [line for line in out.text.splitlines() if not line.startswith("x")]
    assert sorted(lines) == sorted(f"before {n},behind {n}" for n in range(100))
    assert out.error is None


def test_paragraphs_nested_too_deeply() -> None:
    out = read(docx(para("first") + nested(1000)))
    assert (out.error and out.error.code) is ExceptionCode.CORRUPT
    counted = Counter(re.findall(r"first|before \d+,", out.text))
    assert counted["first"] == counted["before 100,"] == 1
    assert set(counted.values()) == {1}


def test_properties_become_metadata() -> None:
    core = '<c:p xmlns:c="c" xmlns:d="d"><d:title>T\x20\n1</d:title><d:creator>A</d:creator><d:subject>S</d:subject>'
    core += "<d:created>2020-01-02T03:04:05Z</d:created></c:p>"
    app = "<P><Application>App</Application><Pages>99</Pages></P>"
    out = read(docx(para("x"), **{"docProps/core.xml": core, "docProps/app.xml": app}))
    assert out.metadata == {
        "title": "T 1",
        "author": "A",
        "doc_subject": "S",
        "created": "2020-01-02T03:04:05Z",
        "application": "App",
    }
    assert out.pages is None


def workbook(rows: str, **more: str) -> bytes:
    """A workbook with a hidden sheet of these rows."""
    book = f'<workbook xmlns="{S}" xmlns:r="{R}"><sheets><sheet name="Secret" state="hidden" r:id="r1"/></sheets></workbook>'
    rels = '<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/></Relationships>'
    styles = (
        f'<styleSheet xmlns="{S}"><numFmts><numFmt numFmtId="164" formatCode="[Red]dd/mm/yyyy"/></numFmts><cellXfs>'
    )
    styles += '<xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="10"/></cellXfs></styleSheet>'
    strings = (
        f'<sst xmlns="{S}"><si><t>plain</t></si><si><r><t>ri</t></r><r><t>ch</t></r><rPh><t>no</t></rPh></si></sst>'
    )
    comments = f'<comments xmlns="{S}"><commentList><comment ref="A1"><text><r><t>remark</t></r></text></comment>'
    parts: dict[str, str | bytes] = {
        "xl/workbook.xml": book,
        "xl/_rels/workbook.xml.rels": rels,
        "xl/styles.xml": styles,
        "xl/sharedStrings.xml": strings,
        "xl/comments1.xml": comments + "</commentList></comments>",
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{S}"><sheetData>{rows}</sheetData></worksheet>',
        **more,
    }
    return package(parts)


def test_xlsx_shows_cells_as_people_see_them() -> None:
    cells = (
        '<c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="inlineStr"><is><t>inline</t></is></c><c><v>11.99</v></c>'
        '<c s="1"><v>43831</v></c><c s="2"><v>43831.5</v></c><c s="3"><v>0.125</v></c><c t="b"><v>1</v></c><c/>'
        '<c t="str"><f>A1</f><v>formula</v></c><c t="s"><v>99</v></c><c t="inlineStr"><v><is><t>in a value</t></is></v></c>'
    )
    out = read(workbook(f"<row>{cells}</row><row/>"))
    shown = "plain\trich no\tinline\t11.99\t2020-01-01\t2020-01-01 12:00:00\t12.5%\tTRUE\tformula\tin a value"
    assert out.text.splitlines() == ["Secret", shown, "remark"]


def test_a_long_string_that_a_row_repeats_with_words_is_not_in_memory_as_often() -> None:
    """A format with words makes each cell's text a new one; a row of them comes in lines of about a million characters."""
    styles = f'<styleSheet xmlns="{S}"><numFmts><numFmt numFmtId="164" formatCode="@&quot; words&quot;"/></numFmts>'
    more = {
        "xl/styles.xml": f'{styles}<cellXfs><xf numFmtId="164"/></cellXfs></styleSheet>',
        "xl/sharedStrings.xml": f'<sst xmlns="{S}"><si><t>{"long " * 20_000}</t></si></sst>',
    }
    data = workbook("<row>" + '<c s="0" t="s"><v>0</v></c>' * 1_000 + "</row>", **more)
    tracemalloc.start()
    try:
        found = read(data, Limits(text_characters=3_000_000))
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()
    assert found.state is TextState.TRUNCATED_BY_LIMIT
    assert "long words" in " ".join(found.text[-2_000_000:].split())


def test_xlsx_names_who_commented() -> None:
    shown = "<comment><text><r><t>remark</t></r></text></comment>"
    comments = f'<comments xmlns="{S}"><authors><author>Ann Clerk</author></authors><commentList>{shown * 2}</commentList></comments>'
    out = read(workbook("", **{"xl/comments1.xml": comments}))
    assert out.text.splitlines()[-3:] == ["Ann Clerk", "remark", "remark"]


@pytest.mark.parametrize("kind", ["chartsheet", "dialogsheet", "macrosheet"])
def test_xlsx_sheets_without_cells_have_headers(kind: str) -> None:
    target = f"xl/{kind}s/sheet1.xml"
    sheet = f'<{kind} xmlns="{S}"><headerFooter><oddHeader>&amp;LR&amp;&amp;D</oddHeader></headerFooter></{kind}>'
    rels = f'<Relationships><Relationship Id="r1" Target="{kind}s/sheet1.xml"/></Relationships>'
    book = f'<workbook xmlns="{S}" xmlns:r="{R}"><sheets><sheet name="Sales" r:id="r1"/></sheets></workbook>'
    parts = {"xl/workbook.xml": book, "xl/_rels/workbook.xml.rels": rels, target: sheet}
    assert read(package(parts)).text.splitlines() == ["Sales", "R&D"]


def test_xlsx_large_sheet_is_streamed() -> None:
    rows = "".join(f'<row><c t="inlineStr"><is><t>row number {i}</t></is></c></row>' for i in range(50_000))
    lines = read(workbook(rows)).text.splitlines()
    assert lines[1:-1] == [f"row number {i}" for i in range(50_000)]


def slide(text: str) -> str:
    """A slide or notes part."""
    return f'<p:sld xmlns:p="p" xmlns:a="{A}"><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sld>'


def test_pptx_follows_the_order_of_slides() -> None:
    show = f'<p:presentation xmlns:p="p" xmlns:r="{R}"><p:sldIdLst><p:sldId r:id="b"/><p:sldId r:id="a"/></p:sldIdLst>'
    rels = "".join(f'<Relationship Id="{i}" Target="slides/slide{n}.xml"/>' for i, n in (("a", 1), ("b", 2)))
    notes = '<Relationships><Relationship Id="n" Target="../notesSlides/notesSlide1.xml"/></Relationships>'
    comment = '<p:cmLst xmlns:p="p"><p:cm><p:text>a comment</p:text></p:cm></p:cmLst>'
    parts: dict[str, str | bytes] = {
        "ppt/presentation.xml": show + "</p:presentation>",
        "ppt/_rels/presentation.xml.rels": f"<Relationships>{rels}</Relationships>",
        "ppt/slides/slide1.xml": slide("first file"),
        "ppt/slides/slide2.xml": slide("second file"),
        "ppt/slides/_rels/slide2.xml.rels": notes,
        "ppt/notesSlides/notesSlide1.xml": slide("notes"),
        "ppt/comments/comment1.xml": comment,
    }
    out = read(package(parts))
    assert out.text.splitlines() == ["second file", "notes", "first file", "a comment"]
    assert out.pages == 2


def test_text_on_the_left_and_on_the_right_is_apart() -> None:
    """Headers of Word 2007 and later have their columns by w:ptab: without it the words on both sides were one."""
    runs = '<w:r><w:t>Left</w:t></w:r><w:r><w:ptab w:alignment="right"/></w:r><w:r><w:t>Right</w:t></w:r>'
    assert read(docx(f"<w:p>{runs}</w:p>")).text == "Left\tRight\n"


@pytest.mark.parametrize("folder", ["ppt", "word", "xl"])
def test_charts_say_what_their_series_are(folder: str) -> None:
    """Titles, names of series and categories, once each, of both forms of charts: the sheet that they are from may be in
    another file. Numbers are no words."""
    names = "<c:cat><c:strRef><c:strCache><c:pt><c:v>January</c:v></c:pt> <c:pt><c:v>May</c:v></c:pt></c:strCache></c:strRef></c:cat>"
    numbers = "<c:val><c:numCache><c:pt><c:v>1.5</c:v></c:pt></c:numCache></c:val>"
    title = "<c:title><a:p><a:r><a:t>Sales</a:t></a:r></a:p></c:title><c:ser><c:tx><c:v>Typed</c:v></c:tx></c:ser>"
    chart = f'<c:chartSpace xmlns:c="c" xmlns:a="{A}">{title}{(names + numbers) * 2}</c:chartSpace>'
    newer = '<cx:chartSpace xmlns:cx="cx"><cx:strDim><cx:lvl><cx:pt>Region</cx:pt></cx:lvl></cx:strDim></cx:chartSpace>'
    main = {"ppt": "presentation", "word": "document", "xl": "workbook"}[folder]
    parts: dict[str, str | bytes] = {
        f"{folder}/{main}.xml": word(""),
        f"{folder}/charts/chart1.xml": chart,
        f"{folder}/charts/chartEx1.xml": newer,
    }
    assert read(package(parts)).text.splitlines() == ["Sales", "Typed", "January", "May", "Region"]


def test_pptx_has_the_text_of_its_masters() -> None:
    """A text that a master, a layout or the master of handouts puts on every slide is text of the presentation, once;
    the prompts of placeholders are not, a table among them included."""

    def shape(text: str, placeholder: str = "", tag: str = "sp") -> str:
        inside = f"<p:nv><p:cNvPr/><p:nvPr>{placeholder}</p:nvPr></p:nv>"
        return f"<p:{tag}>{inside}<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:{tag}>"

    def sheet(tag: str, *shapes: str) -> str:
        tree = f"<p:spTree><p:nvGrpSpPr/>{''.join(shapes)}</p:spTree>"
        return f'<p:{tag} xmlns:p="p" xmlns:a="{A}"><p:cSld>{tree}</p:cSld></p:{tag}>'

    prompt = shape("Click to edit", '<p:ph type="title"/>') + shape("Click the table", "<p:ph/>", "graphicFrame")
    parts: dict[str, str | bytes] = {
        "ppt/presentation.xml": '<p:presentation xmlns:p="p"/>',
        "ppt/slides/slide1.xml": slide("a slide"),
        "ppt/slideMasters/slideMaster1.xml": sheet("sldMaster", prompt, shape("Confidential")),
        "ppt/slideLayouts/slideLayout1.xml": sheet(
            "sldLayout", prompt, f"<p:grpSp><p:a/>{shape('Division')}</p:grpSp>"
        ),
        "ppt/handoutMasters/handoutMaster1.xml": sheet("handoutMaster", prompt, shape("Printed", tag="graphicFrame")),
    }
    assert read(package(parts)).text.splitlines() == ["a slide", "Confidential", "Division", "Printed"]


def test_children_are_embeddings_and_media_only() -> None:
    data = docx(
        para("x"), **{"word/media/image1.png": b"picture", "word/theme.xml": "<t/>", "word/embeddings/o.bin": b"obj"}
    )
    found = [(c.name, c.data, c.ordinal, c.kind) for c in HANDLER.children(MemorySource(b"", data), LIMITS)]
    assert found == [
        (b"image1.png", b"picture", 0, Kind.EMBEDDED_OBJECT),
        (b"o.bin", b"obj", 1, Kind.EMBEDDED_OBJECT),
    ]


@pytest.mark.parametrize(
    "name", ["word/afchunk1.htm", "word/afchunk2.dat", "word/chunk.rtf", "page.html", "word/odd/a.pdf"]
)
def test_what_word_takes_in_is_a_child(name: str) -> None:
    (child,) = HANDLER.children(MemorySource(b"", docx(para("x"), **{name: b"more"})), LIMITS)
    assert (child.name.decode(), child.data) == (name.rpartition("/")[2], b"more")


def test_the_thumbnail_is_marked() -> None:
    data = docx(para("x"), **{"docProps/thumbnail.jpeg": b"small", "word/media/thumbnail.jpeg": b"large"})
    found = [(c.data, c.notes) for c in HANDLER.children(MemorySource(b"", data), LIMITS)]
    assert found == [(b"small", {"thumbnail": True}), (b"large", {})]


def test_a_damaged_child_fails_and_the_others_come_out() -> None:
    parts: dict[str, str | bytes] = {"word/document.xml": word(""), "word/media/a": b"AAAAAAAA", "word/media/b": b"B"}
    data = package(parts, {}, zipfile.ZIP_STORED).replace(b"AAAAAAAA", b"AAAAAAAX", 1)
    bad, good = HANDLER.children(MemorySource(b"", data), LIMITS)
    assert bad.error is not None
    assert (bad.error.code, bad.emit) == (ExceptionCode.CORRUPT, False)
    assert (good.data, good.ordinal) == (b"B", 1)


def test_truncated_package_keeps_its_text() -> None:
    data = docx(para("kept"), **{"word/media/image1.png": bytes(range(256)) * 50})
    out = read(data[: data.index(b"PK\x01\x02")])
    assert out.text == "kept\n"
    assert (out.error and out.error.code) is ExceptionCode.TRUNCATED


def test_corrupt_part_keeps_what_came_before() -> None:
    whole = word(para("one") + para("two"))
    out = read(package({"word/document.xml": whole[: whole.index("two") + 3]}, {}))
    assert out.text.splitlines()[0] == "one"
    assert (out.error and out.error.code) is ExceptionCode.CORRUPT


@pytest.mark.parametrize("data", [b"PK\x03\x04 not a zip", b"", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(4000)])
def test_no_package_is_an_error_with_a_code(data: bytes) -> None:
    with pytest.raises(DocumentError):
        read(data)
    found = []
    with contextlib.suppress(DocumentError):
        found += list(HANDLER.children(MemorySource(b"", data), LIMITS))
    assert found == []


def test_bomb_part_hits_the_expansion_limit() -> None:
    data = docx(para("before") + " " * 5_000_000 + para("never"))
    out = read(data, Limits(parse_bytes=1_000_000))
    assert out.text == "before\n"
    assert (out.error and out.error.code) is ExceptionCode.EXPANSION_LIMIT


def test_entities_are_neither_expanded_nor_fetched(tmp_path: object) -> None:
    lols = "".join(f'<!ENTITY l{i + 1} "{f"&l{i};" * 10}">' for i in range(9))
    head = f'<!DOCTYPE d [<!ENTITY l0 "lol">{lols}<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    out = read(package({"word/document.xml": head + word(para("a&l9;b&x;c"))}, {}))
    assert len(out.text) < 100
    assert "root:" not in out.text
    assert read(package({"word/document.xml": word(f"&none;{para('kept')}")}, {})).text == "kept\n"


def test_wrong_announced_size_is_an_error_not_memory() -> None:
    """A directory that lies about a part's size does not make the reader believe it."""
    data = bytearray(docx(para("x" * 1000)))
    at = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 4)
    struct.pack_into("<L", data, at + 24, 10)
    with pytest.raises(DocumentError, match=r"^corrupt:"):
        read(bytes(data))


class NoSeek:
    """A file that can only be written to, so that lengths come behind the data."""

    def __init__(self, file: io.BytesIO) -> None:
        self._file = file
        self.write, self.flush = file.write, file.flush


def test_a_package_that_ends_inside_its_text_keeps_what_there_is() -> None:
    rng = random.Random(4)
    lines = ["".join(rng.choices("abcdefgh ", k=400)) for _ in range(400)]
    whole = docx("".join(map(para, lines)))
    cut = read(whole[: len(whole) * 2 // 3])
    kept = cut.text.splitlines()
    assert len(kept) > 100
    assert kept[:-1] == [line.strip("\n") for line in lines[: len(kept) - 1]]
    assert (cut.error and cut.error.code) is ExceptionCode.TRUNCATED
    streamed = io.BytesIO()
    with zipfile.ZipFile(NoSeek(streamed), "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", word("".join(map(para, lines))))
    assert len(read(streamed.getvalue()[: len(whole) * 2 // 3]).text.splitlines()) > 100


def test_a_large_part_of_a_package_without_a_directory() -> None:
    """It was left out without a word when it was larger than what salvage takes into memory."""
    data = docx(para("begin") + 3 * para("x" * 3_000_000) + para("end"))
    out = read(data[: data.index(b"PK\x01\x02")])
    assert (out.text.splitlines()[0], out.text.splitlines()[-1]) == ("begin", "end")


def test_parts_behind_a_directory_that_breaks_off_are_read() -> None:
    more = {"word/footnotes.xml": word(para("below"), "footnotes")}
    data = docx(para("above"), **more)
    second = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 1) + 1)
    out = read(data[:second] + b"XX" + data[second + 2 :])
    assert set(out.text.split()) == {"above", "below"}
    assert out.error is not None


def test_addresses_behind_links_and_who_commented() -> None:
    link = f'<Relationship Id="%s" Type="{R}/%s" Target="%s" TargetMode="%s"/>'
    related = "".join(
        link % one
        for one in (
            ("a", "hyperlink", "mailto:ann@example.org?subject=a&amp;b", "External"),
            ("b", "hyperlink", "mailto:ann@example.org?subject=a&amp;b", "External"),
            ("c", "image", "http://example.org/seen.png", "External"),
            ("d", "hyperlink", "sheet.xml", "Internal"),
        )
    )
    comments = word("", "comments").replace(
        "<w:body>", '<w:comment w:author="Ann Clerk" w:initials="AC">' + para("why?")
    )
    more = {"word/_rels/document.xml.rels": f'<Relationships xmlns="r">{related}</Relationships>'}
    out = read(docx(para("body"), **more, **{"word/comments.xml": comments.replace("</w:body>", "</w:comment>")}))
    assert out.text.splitlines() == [
        "body",
        "why?",
        "Ann Clerk",
        "AC",
        "mailto:ann@example.org?subject=a&b",
        "http://example.org/seen.png",
    ]
    assert out.error is None
    named = f'<cmAuthorLst xmlns="{S}"><cmAuthor id="0" name="Ben Roe" initials="BR"/></cmAuthorLst>'
    parts = {"ppt/slides/slide1.xml": slide("shown"), "ppt/commentAuthors.xml": named}
    assert read(package(parts)).text.split() == ["shown", "Ben", "Roe", "BR"]


@pytest.mark.parametrize(
    ("number", "code", "text"),
    [
        ("14", "", "2006-04-12"),
        ("15", "", "2006-04-12 Apr"),
        ("164", "yyyy-mm-dd", "2006-04-12"),
        ("164", "[$-409]d\\-mmm\\-yy;@", "2006-04-12 Apr"),
        ("164", '"mmm" d/m/yyyy', "2006-04-12"),
        ("164", "MMMM yyyy", "2006-04-12 April"),
        ("164", "dddd, d mmm yyyy", "2006-04-12 Apr Wednesday"),
        ("164", "ddd", "2006-04-12 Wed"),
    ],
)
def test_what_a_cell_shows_of_a_date_by_name_is_found_by_it(number: str, code: str, text: str) -> None:
    style = style_of(number, code).partition(SEPARATOR)[0]
    assert date_text(38819.0, datetime(1899, 12, 30), style) == text


def test_how_a_cell_is_read_is_found() -> None:
    item = '<si><t>東京タワー</t><rPh sb="0" eb="1"><t>トウ</t></rPh><rPh sb="1" eb="2"><t>キョウ</t></rPh></si>'
    rows = '<row><c t="s"><v>0</v></c></row>'
    parts: dict[str, str | bytes] = {
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{S}"><sheetData>{rows}</sheetData></worksheet>',
        "xl/sharedStrings.xml": f'<sst xmlns="{S}">{item}</sst>',
    }
    assert read(package(parts)).text == "東京タワー トウキョウ\n"


def test_an_optional_hyphen_stays_where_a_word_may_be_cut() -> None:
    """The index has such a word whole and in its parts."""
    assert read(docx("<w:p><w:r><w:t>con</w:t><w:softHyphen/><w:t>tract</w:t></w:r></w:p>")).text == "con\xadtract\n"


def level(at: int, text: str, form: str = "decimal", start: int = 1, more: str = "") -> str:
    """A level of a list."""
    return f'<w:lvl w:ilvl="{at}"><w:start w:val="{start}"/><w:numFmt w:val="{form}"/>{more}<w:lvlText w:val="{text}"/></w:lvl>'


def numbering(inside: str) -> str:
    """The part that says what lists there are."""
    return f'<w:numbering xmlns:w="{W}" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">{inside}</w:numbering>'


def definition(identity: int, *levels: str) -> str:
    """What a list looks like."""
    return f'<w:abstractNum w:abstractNumId="{identity}">{"".join(levels)}</w:abstractNum>'


def instance(identity: int, of: int, overrides: str = "") -> str:
    """A list."""
    return f'<w:num w:numId="{identity}"><w:abstractNumId w:val="{of}"/>{overrides}</w:num>'


def item(text: str, number: int | None = 1, at: int | None = 0, style: str = "") -> str:
    """A paragraph of a list."""
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    level_of = f'<w:ilvl w:val="{at}"/>' if at is not None else ""
    listed = f'<w:numPr>{level_of}<w:numId w:val="{number}"/></w:numPr>' if number is not None else ""
    return f"<w:p><w:pPr>{named}{listed}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def lines(body: str, lists: str, styles: str = "") -> list[str]:
    """The paragraphs of a document with these lists."""
    more = {"word/numbering.xml": numbering(lists)}
    if styles:
        more["word/styles.xml"] = f'<w:styles xmlns:w="{W}">{styles}</w:styles>'
    return read(docx(body, **more)).text.splitlines()


OUTLINE = definition(
    0,
    level(0, "%1."),
    level(1, "%1.%2"),
    level(2, "%1.%2(%3)", "lowerLetter"),
    level(3, "(%4)", "lowerRoman"),
)


@pytest.mark.parametrize("padding", [0, 2_100_000], ids=["tree", "streamed"])
def test_what_people_cite_is_found(padding: int) -> None:
    """`4.2(b)` stands in no paragraph; deeper levels begin anew, and levels that no paragraph was on begin where they start."""
    body = "".join(item(f"s{n}") for n in range(4)) + item("x", at=1) + item("y", at=1) + item("a", at=2)
    body += item("b", at=2) + item("deep", at=3) + item("z", at=1) + item("c", at=2) + para("free") + item("last")
    found = lines(body + para("p" * padding), OUTLINE + instance(1, 0))
    assert found[:13] == [
        *("1.\ts0", "2.\ts1", "3.\ts2", "4.\ts3", "4.1\tx", "4.2\ty", "4.2(a)\ta", "4.2(b)\tb", "(i)\tdeep"),
        *("4.3\tz", "4.3(a)\tc", "free", "5.\tlast"),
    ]


def test_instances_count_on_unless_they_say_where_they_start() -> None:
    begins = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride>'
    other = f'<w:lvlOverride w:ilvl="0">{level(0, "Art. %1", "upperRoman")}</w:lvlOverride>'
    lists = OUTLINE + instance(1, 0) + instance(2, 0) + instance(3, 0, begins) + definition(5) + instance(4, 0, other)
    body = item("a") + item("b", 2) + item("c", 3) + item("d", 3) + item("e", 1) + item("f", 4)
    assert lines(body, lists) == ["1.\ta", "2.\tb", "7.\tc", "8.\td", "9.\te", "Art. X\tf"]


def test_levels_restart_as_declared() -> None:
    never = level(1, "%2", more='<w:lvlRestart w:val="0"/>')
    first = level(2, "%3", more='<w:lvlRestart w:val="1"/>')
    lists = definition(0, level(0, "%1"), never, first) + instance(1, 0)
    body = "".join(item("x", at=at) for at in (0, 1, 2, 1, 2, 0, 1, 2))
    assert [line.partition("\t")[0] for line in lines(body, lists)] == ["1", "1", "1", "2", "2", "2", "3", "1"]


def test_a_level_that_was_passed_over_was_there() -> None:
    """As Word has it: `1.1(a)` is followed by `1.2`, and this by `2`."""
    lists = definition(0, level(0, "%1"), level(1, "%1.%2"), level(2, "%1.%2(%3)", "lowerLetter")) + instance(1, 0)
    body = "".join(item("x", at=at) for at in (2, 1, 0))
    assert [line.partition("\t")[0] for line in lines(body, lists)] == ["1.1(a)", "1.2", "2"]


def test_a_style_has_its_list() -> None:
    named = '<w:pStyle w:val="Sub"/>'
    lists = definition(0, level(0, "Chapter %1"), level(1, "%1-%2", more=named)) + instance(1, 0)
    numbered = "<w:pPr><w:numPr>{}<w:numId w:val='1'/></w:numPr></w:pPr>"
    styles = f'<w:style w:type="paragraph" w:styleId="Head">{numbered.format("")}</w:style>'
    styles += '<w:style w:type="paragraph" w:styleId="Loop"><w:basedOn w:val="Loop"/></w:style>'
    styles += '<w:style w:type="paragraph" w:styleId="Child"><w:basedOn w:val="Head"/></w:style>'
    styles += f'<w:style w:type="paragraph" w:styleId="Sub">{numbered.format("")}</w:style>'
    body = item("a", None, None, "Head") + item("b", None, None, "Sub") + item("c", None, None, "Child")
    body += item("d", 0, None, "Head") + item("e", None, None, "Loop") + item("f", None, None, "Head")
    assert lines(body, lists, styles) == ["Chapter 1\ta", "1-1\tb", "Chapter 2\tc", "d", "e", "Chapter 3\tf"]


def test_a_list_may_look_as_a_style_declares() -> None:
    link = '<w:abstractNum w:abstractNumId="1"><w:numStyleLink w:val="Mine"/></w:abstractNum>'
    style = (
        '<w:style w:type="numbering" w:styleId="Mine"><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
    )
    lists = definition(0, level(0, "No. %1")) + link + instance(1, 0) + instance(2, 1)
    assert lines(item("a") + item("b", 2), lists, style) == ["No. 1\ta", "No. 2\tb"]


def test_what_has_no_number() -> None:
    lists = definition(0, level(0, "\u2022", "bullet"), level(1, "Note:", "none"), level(2, "%3)")) + instance(1, 0)
    body = item("a") + item("b", at=1) + item("", at=2) + item("d", 9) + item("e", at=8) + item("f", at=77)
    assert lines(body, lists) == ["a", "Note:\tb", "1)", "d", "e", "f"]


@pytest.mark.parametrize(
    ("lang", "expected"), [("en-US", ["One", "Second", "003", "4th"]), ("de-DE", ["1", "2", "003", "4"])]
)
def test_forms(lang: str, expected: list[str]) -> None:
    """Words are English, so that other languages have digits; a form of Word 2010 is written with its zeros."""
    custom = '<mc:AlternateContent><mc:Choice Requires="w14"><w:numFmt w:val="custom" w:format="001, 002, 003, ..."/>'
    custom += '</mc:Choice><mc:Fallback><w:numFmt w:val="decimal"/></mc:Fallback></mc:AlternateContent>'
    padded = f'<w:lvl w:ilvl="2"><w:start w:val="3"/>{custom}<w:lvlText w:val="%3"/></w:lvl>'
    words = (level(0, "%1", "cardinalText"), level(1, "%2", "ordinalText", 2))
    lists = definition(0, *words, padded, level(3, "%4", "ordinal", 4)) + instance(1, 0)
    styles = f'<w:docDefaults><w:rPrDefault><w:rPr><w:lang w:val="{lang}"/></w:rPr></w:rPrDefault></w:docDefaults>'
    found = lines("".join(item("", at=at) for at in range(4)), lists, styles)
    assert found == expected


def test_legal_numbers_are_digits() -> None:
    """w:isLgl: `II` above is `2` in `2.1`."""
    lists = definition(0, level(0, "%1", "upperRoman", 2), level(1, "%1.%2", more="<w:isLgl/>")) + instance(1, 0)
    assert lines(item("a") + item("b", at=1), lists) == ["II\ta", "2.1\tb"]


def test_damaged_lists_say_so() -> None:
    out = read(docx(item("kept"), **{"word/numbering.xml": "<w:numbering"}))
    assert out.text == "kept\n"
    assert (out.error and out.error.code) is ExceptionCode.CORRUPT


def test_counts_are_bounded() -> None:
    """A start as large as it may be written, and far more of one letter than anyone would read."""
    lists = definition(0, level(0, "%1", "decimal", 4_294_967_295), level(1, "%2", "lowerLetter", 2_000_000_000))
    found = lines(item("") + item("") + item("", at=1), lists + instance(1, 0))
    assert found[:2] == ["2147483647"] * 2
    assert len(found[2]) <= 30


@pytest.mark.parametrize(
    ("number", "letters", "columns", "roman", "ordinal", "cardinal", "place"),
    [
        (1, "a", "a", "i", "1st", "One", "First"),
        (12, "l", "l", "xii", "12th", "Twelve", "Twelfth"),
        (28, "bb", "ab", "xxviii", "28th", "Twenty-eight", "Twenty-eighth"),
        (40, "nn", "an", "xl", "40th", "Forty", "Fortieth"),
        (53, "aaa", "ba", "liii", "53rd", "Fifty-three", "Fifty-third"),
        (111, "g" * 5, "dg", "cxi", "111th", "One hundred eleven", "One hundred eleventh"),
        (1999, "w" * 17, "bxw", "mcmxcix", "1999th", "One thousand nine hundred ninety-nine", None),
    ],
)
def test_numerals(
    number: int, letters: str, columns: str, roman: str, ordinal: str, cardinal: str, place: str | None
) -> None:
    assert numerals.letters(number) == letters
    assert numerals.alphabetic(number) == columns
    assert numerals.roman(number) == roman
    assert numerals.ordinal(number) == ordinal
    assert numerals.cardinal_words(number) == cardinal
    assert place is None or numerals.ordinal_words(number) == place


HEAD = f'<?xml version="1.0" encoding="UTF-8"?>\r\n<worksheet xmlns="{S}" xmlns:x14ac="y"><cols/>'
# Sheets as Excel, LibreOffice and others write them.
EXCEL = '<row r="1" spans="1:3" x14ac:dyDescent="0.25"><c r="A1" t="s"><v>0</v></c><c r="B1" s="2"><v>40000</v></c><c r="C1"/></row>'
OFFICE_ROW = (
    '<row r="2" customFormat="false" ht="12.8"><c r="A2" s="0" t="n"><f aca="false">1&lt;2</f><v>1.5</v></c></row>\n'
)
OTHERS = '<row><c t="inlineStr" r="A3"><is><t xml:space="preserve"> a &amp; b </t></is></c><c t="b"><v>1</v></c><c><v/></c></row><row/>'
RICH = '<row r="4"><c r="A4" t="inlineStr"><is><r><t>rich</t></r></is></c><c r="B4"><v>8</v><extLst/></c></row>'


def text_of(sheet: str | bytes, strings: str | bytes = "") -> tuple[str, str]:
    """The text of a workbook of this sheet, and what is wrong with it."""
    parts = {
        "xl/workbook.xml": f'<workbook xmlns="{S}"/>',
        "xl/worksheets/sheet1.xml": sheet,
        "xl/sharedStrings.xml": strings or f'<sst xmlns="{S}" count="1"><si><t>shared &#233; é</t></si></sst>',
        "xl/styles.xml": f'<s xmlns="{S}"><cellXfs><xf numFmtId="0"/><xf numFmtId="10"/><xf numFmtId="14"/></cellXfs></s>',
    }
    try:
        out = read(package(parts))
    except DocumentError as error:
        return "", error.code
    return out.text, "" if out.error is None else out.error.code


def sheet_of(rows: str, *, declared: bool = True) -> str:
    """A sheet of these rows; with a comment nothing of it is told without a tree."""
    return f"{HEAD if declared else HEAD + '<!-- -->'}<sheetData>{rows}</sheetData><headerFooter><oddFooter>foot</oddFooter></headerFooter></worksheet>"


def declared_in(sheet: str) -> int:
    """How many rows are told without a tree."""
    return len(list(plain_rows(Around(iter([sheet.encode()])))))


@pytest.mark.parametrize(
    "rows",
    [
        "",
        EXCEL,
        EXCEL + OFFICE_ROW + OTHERS,
        EXCEL + RICH + OFFICE_ROW,
        RICH + EXCEL,
        EXCEL
        + '<row r="5"><c r="A5"><f>"a &amp;"&amp;"b"</f></c><c r="B5" t="str"><f>HYPERLINK("x")</f><v>y</v></c></row>',
        3_000 * (EXCEL + OFFICE_ROW) + RICH + OTHERS,
        f"<!-- {EXCEL} -->{OFFICE_ROW}",
        f"{OFFICE_ROW}<![CDATA[{EXCEL}]]>",
        EXCEL.replace("40000", "4\x0b0"),
        EXCEL.replace("40000", "&unknown;"),
        EXCEL.replace("40000", "&#0;"),
        EXCEL.replace("40000", "&#0x41;"),
        EXCEL.replace("40000", "&#000;") + OFFICE_ROW,
        EXCEL.replace("40000", "&#039;&#0065;&#00233;"),
        EXCEL.replace("40000", "]]>"),
        EXCEL.replace("x14ac", "nobodys"),
        EXCEL.replace("<v>0</v>", "<v>99999999999</v>"),
        EXCEL.replace("</row>", ""),
        EXCEL + "</sheetData><sheetData>" + OFFICE_ROW,
        EXCEL.replace("</c>", "</d>", 1) + OFFICE_ROW,
        EXCEL.replace("40000", "4\ufffe"),
        EXCEL.replace("<c ", "<x14ac:c "),
        (EXCEL + OFFICE_ROW + OTHERS)
        .replace("<c ", "\r<c ")
        .replace("a &amp; b", "a\r\nb\rc\r\r\nd&#13;")
        .replace("</row>", "</row>\r\n"),
        3_000 * (EXCEL + "\r\n") + RICH,
    ],
)
def test_it_is_as_a_tree_gives_it(rows: str) -> None:
    assert text_of(sheet_of(rows)) == text_of(sheet_of(rows, declared=False))


@pytest.mark.parametrize("cut", [700, 900, 1_100, 60_000])
def test_a_part_that_breaks_off(cut: int) -> None:
    rows = 2_000 * (EXCEL + OFFICE_ROW)
    comment = "<!-- -->"
    text, code = text_of(sheet_of(rows)[:cut])
    assert code
    assert (text, code) == text_of(sheet_of(rows, declared=False)[: cut + len(comment)])


def test_what_programs_write_needs_no_tree() -> None:
    assert declared_in(sheet_of(EXCEL + OFFICE_ROW + OTHERS)) == 3
    assert declared_in(sheet_of(EXCEL + OFFICE_ROW + RICH + OTHERS)) == 2
    assert (
        declared_in(sheet_of((EXCEL + OFFICE_ROW + OTHERS).replace("</row>", "</row>\r\n").replace(" a ", "\r\na\r")))
        == 3
    )
    assert declared_in(sheet_of(EXCEL + OFFICE_ROW.replace("1&lt;2", "&#039;a&#039;&amp;1"))) == 2  # of PHP
    assert declared_in(sheet_of(EXCEL).replace("UTF-8", "windows-1251")) == 0
    assert declared_in(sheet_of(EXCEL).replace(' xmlns:x14ac="y"', "")) == 0


@pytest.mark.parametrize("rich", ["", "<si><t>漢字</t><rPh sb='0' eb='2'><t>かんじ</t></rPh></si>"])
def test_strings_keep_their_numbers(rich: str) -> None:
    """Empty ones, rich ones and those that are read otherwise are counted like all others."""
    runs = '<si><r><rPr><b/><sz val="9"/></rPr><t>ri</t></r><r><t xml:space="preserve">ch </t></r></si>'
    items = f"<si><t>zero</t></si><si/><si><t/></si>{runs}<si><t>four</t><phoneticPr fontId='1'/></si>{rich}<si><t>last &amp; least</t></si>"
    strings = f'<sst xmlns="{S}" uniqueCount="9">{items}</sst>'
    number = 6 if rich else 5
    rows = "".join(f'<row><c t="s"><v>{n}</v></c></row>' for n in (0, 3, 4, number))
    lines = text_of(sheet_of(rows), strings)[0].splitlines()
    assert lines == ["zero", "rich ", "four", "last & least", "foot"]
    assert text_of(sheet_of(rows), strings.replace("<si>", "<!-- --><si>", 1))[0].splitlines() == lines


def test_bytes_that_are_no_utf_8() -> None:
    raw = sheet_of(EXCEL + OFFICE_ROW.replace("1.5", "1.é5")).encode("latin-1")
    comment = sheet_of(EXCEL + OFFICE_ROW.replace("1.5", "1.é5"), declared=False).encode("latin-1")
    assert text_of(raw) == text_of(comment)
