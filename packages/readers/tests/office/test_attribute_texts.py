"""What documents say beside their paragraphs: alternative text, entries that are chosen, what fields lead to; alike where a part is
read as a tree and where it is read in pieces."""

import struct
from xml.sax.saxutils import escape, quoteattr

import pytest
from office_xml import S, opendocument, package, read
from old_office import END, begin, biff, wide
from old_office import workbook as compound

from core.records import Limits
from readers.base import MemorySource, Text
from readers.errors import ExceptionCode
from readers.office.odf import text as odf_text
from readers.office.odf.handler import OdfHandler
from readers.office.xls.handler import XlsHandler

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:p="urn:p" xmlns:a="urn:a"'
PADDING = "<!--" + "x" * 3_000_000 + "-->"
PADDINGS = pytest.mark.parametrize("padding", ["", PADDING], ids=("tree", "stream"))


def lines(body: str, padding: str = "") -> list[str]:
    """Of a Word document."""
    document = f"<w:document {W}>{padding}<w:body>{body}</w:body></w:document>"
    return read(package({"word/document.xml": document}, {})).text.splitlines()


def code(*pieces: str, result: str = "") -> str:
    """A field, its code cut into runs."""
    codes = "".join(f"<w:r><w:instrText>{piece}</w:instrText></w:r>" for piece in pieces)
    mark = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
    shown = f"{mark.format('separate')}<w:r><w:t>{result}</w:t></w:r>" if result else ""
    return mark.format("begin") + codes + shown + mark.format("end")


def words(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


@PADDINGS
def test_word_reports_what_pictures_show(padding: str) -> None:
    drawn = '<a:inline><a:docPr id="1" name="n" descr="Photograph of the&#10;Quarterdeck" title="Kumquat"/><a:cNvPr name="n" descr="Kumquat"/></a:inline>'
    body = f"<w:p>{words('seen')}<w:r><w:drawing>{drawn}</w:drawing></w:r></w:p>"
    body += '<w:tbl><w:tblPr><w:tblCaption w:val="Ships"/><w:tblDescription w:val="All of them"/></w:tblPr></w:tbl>'
    assert sorted(lines(body, padding)) == ["All of them", "Kumquat", "Photograph of the Quarterdeck", "Ships", "seen"]


@PADDINGS
@pytest.mark.parametrize(
    ("choice", "wanted"),
    [
        ('<w:result w:val="1"/>', "Guilty"),
        ('<w:default w:val="1"/>', "Guilty"),
        ("", "Innocent"),
        ('<w:result w:val="2"/>', ""),
        ('<w:result w:val="99999999999999999999"/>', ""),
    ],
)
def test_word_reports_the_entry_that_is_chosen(padding: str, choice: str, wanted: str) -> None:
    entries = '<w:listEntry w:val="Innocent"/><w:listEntry w:val="Guilty"/>'
    box = f'<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:ddList>{choice}{entries}</w:ddList></w:ffData></w:fldChar></w:r>'
    assert lines(f"<w:p>{words('Verdict: ')}{box}{code(' FORMDROPDOWN ')}</w:p>", padding) == [f"Verdict: {wanted}"]


@PADDINGS
def test_word_reports_formulas_and_runs_without_a_paragraph(padding: str) -> None:
    formula = "<m:oMath xmlns:m='urn:m'><m:r><m:t>E=mc</m:t></m:r></m:oMath>"
    loose, found = ("", "") if padding else (words("lo") + words("ose"), " loose")  # not in a long part
    body = f"<w:p>{words('a')}{formula}</w:p>{loose}<w:sdt>{formula}</w:sdt>"
    assert lines(body, padding) == f"aE=mc{found} E=mc".split()


@PADDINGS
def test_word_reports_where_fields_lead(padding: str) -> None:
    body = "<w:p>" + code(' HYPERLINK "http://evi', 'dence.example/a" \\o "tip"', result="click") + "</w:p>"
    body += "<w:p>" + code(" hyperlink http://second.example/ ", result="there") + code(" PAGE ", result="7") + "</w:p>"
    body += "<w:p>" + code(' HYPERLINK \\l "inside"', result="below") + code(' REF x "http://no.example"', result="ref")
    body += code(" MACROBUTTON DoIt Press here") + code(" EQ \\o\\ad(\\s\\up 9(furi),kanji)") + "</w:p>"
    reported = lines(body, padding)
    assert [line for line in reported if line in ("click", "there7", "belowref")] == ["click", "there7", "belowref"]
    wanted = {"http://evidence.example/a", "http://second.example/", "Press here", "\\o\\ad(\\s\\up 9(furi),kanji)"}
    assert set(reported) - {"click", "there7", "belowref"} == wanted


@PADDINGS
def test_slides_report_what_shapes_show(padding: str) -> None:
    """Controls that XML does not allow are escaped, as is what looks like one that is."""
    picture = '<p:pic><p:nvPicPr><p:cNvPr id="2" name="n" descr="Two ships"/></p:nvPicPr></p:pic>'
    shown = "<p:sp><p:txBody><a:p><a:r><a:t>Slide_x000B_two _x005F_x0041_ _xD83D__xDE00_</a:t></a:r></a:p></p:txBody></p:sp>"
    slide = f"<p:sld {W}>{padding}<p:cSld><p:spTree>{picture}{shown}</p:spTree></p:cSld></p:sld>"
    found = read(package({"ppt/presentation.xml": f"<p:presentation {W}/>", "ppt/slides/slide1.xml": slide}, {}))
    assert sorted(found.text.split("\n")) == ["", "Slide", "Two ships", "two _x0041_ 😀"]


def test_a_code_without_end_takes_no_time() -> None:
    assert lines("<w:p>" + code(" EQ" + " " * 500_000, "&quot;" * 10) + words("behind") + "</w:p>")[0] == "behind"


def odt(body: str, padding: str = "") -> Text:
    return OdfHandler().text(MemorySource(b"x", opendocument(body, padding=padding)), Limits())


def link(address: str, tag: str = "text:a") -> str:
    return f'<{tag} xlink:href="{address}">x</{tag}>'


@PADDINGS
def test_opendocument_reports_links_forms_and_who_commented(padding: str) -> None:
    form = '<form:textarea form:current-value="Filled  answer" form:value="old"/><form:checkbox form:label="Agreed" form:value="on"/>'
    form += '<form:text form:value="Preset"/>'
    comment = "<office:annotation><dc:creator>Miller</dc:creator><dc:date>2020</dc:date><text:p>why</text:p></office:annotation>"
    changed = "<text:tracked-changes><office:change-info><dc:creator>Deleter</dc:creator></office:change-info></text:tracked-changes>"
    links = (
        link("http://linked.example/") + link("#there") + link("http://linked.example/") + link("other.odt", "draw:a")
    )
    cell = f"<table:table><table:table-row><table:table-cell>{comment}<text:p>cell</text:p></table:table-cell></table:table-row></table:table>"
    body = (
        f"{changed}<office:forms><form:form>{form}</form:form></office:forms><text:p>a{comment}b {links}</text:p>{cell}"
    )
    found = odt(body, padding)
    shown = ["Filled answer", "Agreed", "Preset", "Miller", "http://linked.example/", "other.odt"]
    assert found.text.splitlines() == ["why", "ab xxx", "why", "cell", *shown]
    assert found.error is None


@PADDINGS
def test_opendocument_states_that_there_are_more_links(padding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(odf_text, "MOST", 2)
    found = odt("<text:p>" + "".join(link(f"http://{n}.example/") for n in range(4)) + "</text:p>", padding)
    assert found.text.splitlines()[1:] == ["http://0.example/", "http://1.example/"]
    assert (found.error and found.error.code) is ExceptionCode.TOO_LARGE


@PADDINGS
@pytest.mark.parametrize(
    ("pieces", "address"),
    [
        ((' HYPERLINK "http://www.', "example", ".com/", "lease", '" '), "http://www.example.com/lease"),
        ((r' HYPERLINK "C:\docs\My ', 'Lease file.doc"'), r"C:\docs\My Lease file.doc"),
    ],
)
def test_an_address_is_whole_wherever_its_code_is_cut(padding: str, pieces: tuple[str, ...], address: str) -> None:
    """Also where a piece of it alone looks like the word that a field begins with."""
    body = f"<w:p>{code(*pieces, result='here')}{code(' HYPERLINK &quot;http://other&quot;', result='there')}</w:p>"
    assert sorted(lines(body, padding)) == sorted([address, "herethere", "http://other"])


URL = bytes.fromhex("e0c9ea79f9bace118c8200aa004ba90b")
FILE = bytes.fromhex("0303000000000000c000000000000046")
CODES = ("General", '"INV"0000', "#,##0.00", '"Ref-"@')
VALIDATION = (
    '<dataValidations><dataValidation type="list" promptTitle="Choose" prompt="Pick the Bribery_x000a_option" error="Stop!" '
    'errorTitle="Wrong"><formula1>"Walrus,Narwhal"</formula1></dataValidation><dataValidation promptTitle="Choose" type="whole">'
    "<formula1>12</formula1></dataValidation></dataValidations>"
)


def xlsx(rows: str, behind: str = "", book: str = "", *, tree: bool = False, **more: str) -> Text:
    """A workbook of this sheet; with a comment in front it is read as a tree."""
    forms = "".join(f"<numFmt numFmtId='{200 + at}' formatCode={quoteattr(code)}/>" for at, code in enumerate(CODES))
    used = "".join(f"<xf numFmtId='{200 + at}'/>" for at in range(len(CODES)))
    parts = {
        "xl/workbook.xml": f'<workbook xmlns="{S}">{book}</workbook>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{S}">{"<!-- -->" * tree}<sheetData>{rows}</sheetData>{behind}</worksheet>',
        "xl/styles.xml": f'<s xmlns="{S}"><numFmts>{forms}</numFmts><cellXfs>{used}</cellXfs></s>',
        "xl/sharedStrings.xml": f'<sst xmlns="{S}"><si><t>42 x</t></si></sst>',
        **{f"xl/{name}.xml": content for name, content in more.items()},
    }
    return read(package(parts))


def xls(*records: tuple[int, bytes]) -> Text:
    forms = [(0x41E, struct.pack("<H", 200 + at) + wide(code)) for at, code in enumerate(CODES)]
    used = [(0xE0, struct.pack("<HH16x", 0, 200 + at)) for at in range(len(CODES))]
    strings = (0xFC, struct.pack("<II", 1, 1) + wide("42 x"))
    stream = biff(begin(5), *forms, *used, strings, END, begin(), *records, END)
    return XlsHandler().text(MemorySource(b"x.xls", compound(stream, "Workbook")), Limits())


def at(row: int, column: int, style: int) -> bytes:
    return struct.pack("<HHH", row, column, style)


@pytest.mark.parametrize("tree", [False, True])
def test_xlsx_shows_numbers_and_texts_by_their_formats(tree: bool) -> None:
    cells = '<c><v>7</v></c><c s="1"><v>42</v></c><c s="2"><v>1234567.5</v></c><c s="2" t="s"><v>0</v></c><c s="3" t="s"><v>0</v></c>'
    reported = "7\t42 INV INV0042\t1234567.5 1,234,567.50\t42 x\tRef-42 x\n"
    assert xlsx(f"<row>{cells}</row>", tree=tree).text == reported


def test_xls_shows_the_same() -> None:
    number = struct.pack("<d", 1234567.5)
    records = [
        (0x203, at(0, 0, 0) + struct.pack("<d", 7)),
        (0x27E, at(0, 1, 1) + struct.pack("<I", 42 << 2 | 2)),
        (0x203, at(0, 2, 2) + number),
        (0x203, at(0, 3, 0) + number),
        (0xFD, at(0, 4, 2) + bytes(4)),
        (0xFD, at(0, 5, 3) + bytes(4)),
        (0x204, at(0, 6, 3) + wide("own")),
    ]
    reported = "7\t42 INV INV0042\t1234567.5 1,234,567.50\t1234567.5\t42 x\tRef-42 x\tRef-own\n"
    assert xls(*records).text == reported


@pytest.mark.parametrize("tree", [False, True])
def test_strings_of_formulas_without_a_result(tree: bool) -> None:
    link = escape('HYPERLINK("http://evil.example/xyz","Click ""here""")')

    def row(*cells: str) -> str:
        return f"<row>{''.join(cells)}</row>"

    def formula(code: str, rest: str, kind: str = "") -> str:
        return f"<c{kind}><f>{escape(code)}</f>{rest}</c>"

    nothing = formula('"Secret "&"Words"&"Secret "', "")
    zero, counted = formula('IF(A1,"Zebra",2)', "<v>0</v>"), formula('COUNTIF(A1,"Zebra")', "<v>3</v>")
    empty = formula('IF(A1,"","Gone")', "<v></v>", ' t="str"')
    links = f"<c><f>{link}</f><v>0</v></c>", f'<c t="str"><f>{link}</f><v>Shown</v></c>'
    reported = (
        'Secret  Words\t0\t3\t0 http://evil.example/xyz Click "here"\tShown http://evil.example/xyz Click "here"\n'
    )
    assert xlsx(row(nothing, zero, counted, empty, *links), tree=tree).text == reported
    out = xlsx(row(zero, counted), book='<calcPr calcId="124519" fullCalcOnLoad="1"/>', tree=tree)
    assert out.text == "0 Zebra\t3\n"


def test_strings_of_a_formula_are_bounded() -> None:
    """No more of a formula is looked at than Excel takes of one."""
    out = xlsx(f'<row><c><f>"first"&amp;{"1+" * 5_000}"last"</f></c></row>')
    assert out.text == "first\n"


def test_xlsx_comments_of_libreoffice() -> None:
    """Behind the text of a comment LibreOffice writes where its box is: no text."""
    box = '<x:AlternateContent xmlns:x="mc"><x:Choice><anchor><col>12</col><off>30024725</off></anchor></x:Choice></x:AlternateContent>'
    comments = (
        f'<comments xmlns="{S}"><authors><author>Ann</author></authors><commentList><comment ref="A1"><text><r><t>Please </t></r>'
        f"<r><t>pay Zimmermann</t></r></text>{box}</comment></commentList></comments>"
    )
    assert xlsx("", comments1=comments).text == "Ann\nPlease pay Zimmermann\n"


def test_what_cells_say_when_they_are_filled_in() -> None:
    reported = ["7", "Choose", "Pick the Bribery\noption", "Wrong", "Stop!", "Walrus,Narwhal"]
    assert xlsx("<row><c><v>7</v></c></row>", VALIDATION).text == "\n".join(reported) + "\n"


def test_xls_what_cells_say_when_they_are_filled_in() -> None:
    """Dv of [MS-XLS] 2.4.90, in which an empty text is a zero."""
    listed = b"\x17" + struct.pack("<BB", 14, 0) + b"Walrus\0Narwhal"
    shown = b"".join(map(wide, ("Choose", "Wrong", "Pick the Bribery option", "\0")))
    first = struct.pack("<I", 0x83) + shown + struct.pack("<HH", len(listed), 0) + listed + struct.pack("<HHH", 0, 0, 0)
    other = struct.pack("<I", 1) + wide("Choose") + 3 * wide("\0") + struct.pack("<HH", 3, 0) + b"\x1e\x0c\0"
    out = xls((0x203, at(0, 0, 0) + struct.pack("<d", 7)), (0x1BE, first), (0x1BE, other))
    assert out.text.splitlines() == ["7", "Choose", "Pick the Bribery option", "Wrong", "Walrus,Narwhal"]
    assert xls((0x1BE, first[:9])).text == "C\n"  # cut short: what is there


def hlink(flags: int, rest: bytes) -> tuple[int, bytes]:
    return 0x1B8, bytes(24) + struct.pack("<II", 2, flags) + rest


def counted(text: str) -> bytes:
    return struct.pack("<I", len(text) + 1) + (text + "\0").encode("utf-16-le")


def test_xls_addresses_behind_links() -> None:
    """Of the network, of files, and as a string ([MS-OSHARED] 2.3.7.1), behind all sheets, each once; places in the workbook are none."""
    url = ("http://wlink.example/ü" + "\0").encode("utf-16-le") + bytes(24)
    web = URL + struct.pack("<I", len(url)) + url
    short = FILE + struct.pack("<HI", 0, 9) + b"PLAN~1.X\0" + bytes(24)
    long = "Plän of the year.xls".encode("utf-16-le")
    records = [
        hlink(0x17, counted("shown") + web),
        hlink(0x03, web),
        hlink(0x83, counted("frame") + short + struct.pack("<I", 0)),
        hlink(0x03, short + struct.pack("<IIH", len(long) + 6, len(long), 3) + long),
        hlink(0x103, counted("\\\\server\\share")),
        hlink(0x08, counted("Sheet2!A1")),
        hlink(0x03, bytes(16)),
        (0x203, at(0, 0, 0) + struct.pack("<d", 7)),
    ]
    reported = ["7", "http://wlink.example/ü", "PLAN~1.X", "Plän of the year.xls", "\\\\server\\share"]
    assert xls(*records).text.splitlines() == reported


def test_xls_addresses_beyond_the_limit_are_reported() -> None:
    out = xls(*(hlink(0x103, counted(f"http://{n}.example")) for n in range(10_001)))
    assert out.text.count("example") == 10_000
    assert (out.error and out.error.code) is ExceptionCode.TOO_LARGE


@pytest.mark.parametrize(("function", "reported"), [(359, "Shown\t5 http://evil.example Shown\n"), (4, "Shown\t5\n")])
def test_xls_addresses_in_formulas(function: int, reported: str) -> None:
    address, shown = b"http://evil.example", b"Shown"
    tokens = b"".join(b"\x17" + bytes((len(one), 0)) + one for one in (address, shown))
    tokens = b"\x44" + bytes(4) + b"\x19\x02" + bytes(2) + tokens + b"\x42\x02" + struct.pack("<H", function)
    head = at(0, 1, 0) + struct.pack("<d", 5) + bytes(6) + struct.pack("<H", len(tokens))
    out = xls((0x204, at(0, 0, 0) + wide("Shown")), (0x06, head + tokens))
    assert out.text == reported


def test_halves_of_letters_in_what_cells_ask_for() -> None:
    """Escapes may stand for halves: two make a letter, one alone none, and what is told can be written down."""
    asked = (
        '<dataValidations><dataValidation prompt="one _xD83D__xDE00_ half _xD800_ end" sqref="A1"/></dataValidations>'
    )
    text = xlsx("", asked).text
    assert "one 😀 half \ufffd end" in text
    text.encode()


@pytest.mark.parametrize("tree", [False, True])
def test_an_empty_string_is_a_result(tree: bool) -> None:
    cell = '<row r="1"><c r="A1" t="str" s="3"><f>IF(C1="hid","yy","")</f><v></v></c><c r="B1"><v>7</v></c></row>'
    text = xlsx(cell, tree=tree).text
    assert "7" in text
    assert "hid" not in text
