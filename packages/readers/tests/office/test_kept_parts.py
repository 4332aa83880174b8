"""What office files hold beside their text: parts of a package that are no text, what links and pivot tables keep, documents packed in
another way than usual."""

import base64
import io
import struct
import zipfile
from contextlib import suppress
from datetime import datetime

import pytest
from office_xml import LIMITS, OFFICE, R, S, W, docx, package, para, word, xlsb
from office_xml import binary as rec
from office_xml import binary_text as wide_b
from old_office import END, begin, biff, wide
from unpacking import PNG, make_zip

from readers.base import Child, MemorySource, Text
from readers.cfb import Storage, write
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.office.cell_formats import date_text, number_text, style_of
from readers.office.odf.handler import OdfHandler
from readers.office.ooxml import kinds, xml
from readers.office.ooxml.handler import OoxmlHandler
from readers.registry import handler_for

XLSB = "application/vnd.ms-excel.sheet.binary.macroenabled.12"
ODF = "application/vnd.oasis.opendocument."
CONTENT = (
    '<office:document-content xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"><office:body><office:text><text:p>odt<text:span>word</text:span>'
    "</text:p></office:text></office:body></office:document-content>"
)
MANIFEST = (
    '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><m:file-entry m:full-path="/" m:media-type="%s"/>'
    '<m:file-entry m:full-path="content.xml" m:media-type="text/xml"/></m:manifest>'
)


def read(data: bytes, name: bytes = b"x") -> tuple[str, Text, list[Child]]:
    """Media type, text and children, as the whole system reads these bytes."""
    source = MemorySource(name, data)
    media_type = identify(source)
    handler = handler_for(media_type)
    children: list[Child] = []
    with suppress(DocumentError):  # of a damaged one; its text says so too
        children.extend(handler.children(source, LIMITS))
    return media_type, handler.text(source, LIMITS), children


def xlsx(types: dict[str, str], **more: str) -> bytes:
    """A workbook of one sheet with these parts beside it."""
    parts: dict[str, str | bytes] = {
        "xl/workbook.xml": f'<workbook xmlns="{S}" xmlns:r="{R}"><sheets><sheet name="Sheet1" r:id="r1"/></sheets></workbook>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{S}"><sheetData/></worksheet>',
        **more,
    }
    return package(
        parts,
        {"xl/workbook.xml": "spreadsheetml.sheet.main", "xl/worksheets/sheet1.xml": "spreadsheetml.worksheet", **types},
    )


# Kinds of parts -------------------------------------------------------------------------------------------------------

# ECMA-376 part 1: 11.3, 12.3, 13.3, 14.2, 15.2; part 4: 8.1; [MS-DOCX] 2.1, [MS-XLSX] 2.1, [MS-PPTX] 2.1, [MS-OFFMACRO2] 2.2.1, [MS-VSDX] 2.2.3, [MS-XLSB] 2.1.7
STANDARD = """
main comments settings endnotes fontTable footer footnotes glossary header numbering styles webSettings afchunk mailMergeRecipientData
calcChain chartsheet connections customProperty xmlMaps dialogsheet drawing externalLink sheetMetadata pivotTable pivotCacheDefinition
pivotCacheRecords queryTable sharedStrings revisionHeaders revisionLog userNames tableSingleCells table volatileDependencies worksheet
commentAuthors handoutMaster notesMaster notesSlide presProps slide slideLayout slideMaster slideUpdateInfo tags viewProps
chart chartshapes diagramColors diagramData diagramLayout diagramStyle tableStyles theme themeOverride
additionalCharacteristics audio bibliography customXmlProperties digital-signature-origin digital-signature-xmlsignature
core-properties extended-properties custom-properties obfuscatedFont image printerSettings thumbnail video vmlDrawing oleObject package
relationships
commentsExtended commentsIds commentsExtensible people stylesWithEffects documenttasks
slicer slicerCache timeline timelineCache threadedComments person controlproperties activeX customDataProperties model+data rdrichvalue
rdrichvaluestructure rdRichValueTypes rdarray rdsupportingpropertybag rdsupportingpropertybagstructure richStyles richValueRel
namedSheetViews macrosheet intlmacrosheet featurepropertybag
authors changesInfo revisionInfo diagramDrawing chartstyle chartcolorstyle chartex inkml webextension webextensiontaskpanes
vbaProject vbaData keyMapCustomizations attachedToolbars customUI
masters master pages page windows recordsets recordset validation solutions solution extensions
binIndexWs binIndexMs
""".lower().split()


def test_every_kind_of_part_is_read_a_child_or_listed() -> None:
    """The page of formats says what is left out, so a kind that no table has would be lost without a word."""
    assert [kind for kind in STANDARD if kind not in kinds.KNOWN] == []
    reported = " ".join(text for one in OoxmlHandler.declared for text in one.leaves_out)
    assert [left for left in set(kinds.LEFT_OUT.values()) if left not in reported] == []
    assert not set(kinds.LEFT_OUT) & {*kinds.READ, *kinds.CHILDREN, *kinds.WORDS}


@pytest.mark.parametrize(
    ("kind", "part", "words"),
    [
        ("connections", '<connection name="cn" description="cd"><dbPr connection="DSN=pay" command="SELECT salary"/></connection>', "cn cd DSN=pay SELECT salary"),
        ("queryTable", '<queryTable name="qn"><queryTableFields><queryTableField name="qf"/></queryTableFields></queryTable>', "qn qf"),
        ("table", '<table displayName="tn" comment="tc"><tableColumns><tableColumn name="col" totalsRowLabel="sum"/></tableColumns></table>', "tn tc col sum"),
        ("pivotTable", '<pivotTableDefinition name="pn" dataCaption="dc"><dataField name="df"/><filter stringValue1="sv"/></pivotTableDefinition>', "pn dc df sv"),
        ("table", '<table displayName="tn"><filters><filter val="fv"/></filters></table>', "tn fv"),
        ("slicerCache", '<slicerCacheDefinition sourceName="src"><i n="item"/></slicerCacheDefinition>', "src item"),
        ("revisionHeaders", '<headers><header userName="Rev User"/></headers>', "Rev User"),
        ("revisionLog", '<revisions><rcc><oc t="inlineStr"><is><t>oldw</t></is></oc><nc><v>7</v></nc></rcc><rsnm oldName="on" newName="nn"/></revisions>', "oldw 7 on nn"),
        ("userNames", '<users><userInfo name="Shared User"/></users>', "Shared User"),
        ("externalLink", '<externalLink><externalBook><sheetNames><sheetName val="Bonus"/></sheetNames><sheetDataSet><sheetData><row><cell t="str"><v>kept</v></cell><cell><v>8</v></cell></row></sheetData></sheetDataSet></externalBook></externalLink>', "Bonus kept 8"),
        ("externalLink", '<externalLink><ddeLink ddeService="svc" ddeTopic="topic"><ddeItems><ddeItem name="it"><values><value><val>val</val></value></values></ddeItem></ddeItems></ddeLink></externalLink>', "svc topic it val"),
        ("volatileDependencies", '<volTypes><volType><main first="rtd.srv"><tp><v>quote</v><stp>ticker</stp></tp></main></volType></volTypes>', "rtd.srv quote ticker"),
        ("somethingNew", '<a><b>unknownword</b><c d="a sentence in it"/></a>', "unknownword a sentence in it"),
        ("somethingNew", "<a><p>in <b>pie</b>ces</p></a>", "in pieces"),
        ("revisionLog", '<revisions><rcc><oc t="inlineStr"><is><r><t>old</t></r><r><t>word</t></r></is></oc></rcc></revisions>', "oldword"),
        ("pivotCacheDefinition", '<pivotCacheDefinition refreshedBy="Ann"><cacheField name="F"><sharedItems><s v="key" c="shown"/></sharedItems></cacheField></pivotCacheDefinition>', "Ann F key shown"),
    ],
)  # fmt: skip
def test_words_of_a_workbooks_other_parts(kind: str, part: str, words: str) -> None:
    root = part.replace(">", f' xmlns="{S}">', 1) if not part.split(">", 1)[0].endswith("/") else part
    out = read(xlsx({"xl/other/part.xml": f"spreadsheetml.{kind}"}, **{"xl/other/part.xml": root}))[1]
    assert out.text.split() == words.split()
    assert out.error is None


def test_pivot_tables_keep_their_source() -> None:
    """The rows too, though they name their items by numbers; rows of which no definition tells are read as they are."""
    definition = (
        f'<pivotCacheDefinition xmlns="{S}"><cacheSource><worksheetSource sheet="Gone"/></cacheSource><cacheFields>'
        '<cacheField name="Name"><sharedItems><s v="ann"/><s v="bob"/></sharedItems></cacheField><cacheField name="Pay"><sharedItems/>'
        '<fieldGroup><groupItems><s v="high"/></groupItems></fieldGroup></cacheField></cacheFields></pivotCacheDefinition>'
    )
    records = f'<pivotCacheRecords xmlns="{S}"><r><x v="1"/><n v="900"/></r><r><x v="7"/><s v="none"/></r></pivotCacheRecords>'
    folder = "xl/pivotCache/"
    parts = {
        folder + "d.xml": definition,
        folder + "r.xml": records,
        folder + "lone.xml": records,
        folder
        + "_rels/d.xml.rels": '<Relationships xmlns="r"><Relationship Id="a" Type="x" Target="r.xml"/></Relationships>',
    }
    types = {
        folder + "d.xml": "spreadsheetml.pivotCacheDefinition",
        folder + "r.xml": "spreadsheetml.pivotCacheRecords",
    }
    types[folder + "lone.xml"] = "spreadsheetml.pivotCacheRecords"
    lines = read(xlsx(types, **parts))[1].text.splitlines()
    assert lines == ["Gone", "Name\tann\tbob", "Pay\thigh", "bob\t900", "none", "900", "none"]


def test_what_sheets_and_workbooks_say_in_attributes() -> None:
    """Scenarios, what pops up at links; names with their comments and the texts that they stand for, not those of Excel itself."""
    sheet = (
        f'<worksheet xmlns="{S}"><sheetData/><scenarios><scenario name="best" comment="hope" user="Ann"><inputCells r="A1" val="99"/>'
        '</scenario></scenarios><hyperlinks><hyperlink ref="A1" tooltip="popsup"/></hyperlinks>'
        '<filter val="looked"/><cfRule text="for"/><dataRef sheet="Far"/></worksheet>'
    )
    book = (
        f'<workbook xmlns="{S}"><sheets/><definedNames><definedName name="_xlnm.Print_Area">Sheet1!$A$1</definedName>'
        '<definedName name="rate" comment="agreed">"per ""hour"""</definedName></definedNames></workbook>'
    )
    lines = read(xlsx({}, **{"xl/worksheets/sheet1.xml": sheet, "xl/workbook.xml": book}))[1].text.splitlines()
    assert lines == ["best", "hope", "Ann", "99", "popsup", "looked", "for", "Far", 'rate\tagreed\tper "hour"']


def test_the_data_model_is_a_child() -> None:
    children = read(xlsx({}, **{"xl/model/item.data": "packed"}))[2]
    assert [(child.name, child.data) for child in children] == [(b"item.data", b"packed")]


@pytest.mark.parametrize("most", [10, 2_000_000], ids=("stream", "tree"))
def test_settings_building_blocks_and_forms_of_a_document(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml, "_TREE_BYTES", most)
    body = (
        '<w:p><w:hyperlink w:tooltip="popsup"><w:r><w:t>link</w:t></w:r></w:hyperlink><w:r><w:fldChar><w:ffData><w:helpText w:val="help"/>'
        '<w:textInput><w:default w:val="given"/></w:textInput></w:ffData></w:fldChar></w:r>'
        "<w:fldSimple w:instr=' HYPERLINK \"http://simple.example\" '><w:r><w:t>simple</w:t></w:r></w:fldSimple></w:p>"
    )
    settings = f'<w:settings xmlns:w="{W}"><w:mailMerge><w:query w:val="SELECT pay"/></w:mailMerge><w:docVars><w:docVar w:name="n" w:val="v"/></w:docVars></w:settings>'
    glossary = f'<w:glossaryDocument xmlns:w="{W}"><w:docParts><w:docPart><w:docPartPr><w:name w:val="block"/></w:docPartPr><w:docPartBody>{para("built")}</w:docPartBody></w:docPart></w:docParts></w:glossaryDocument>'
    rels = f'<Relationships xmlns="r"><Relationship Id="t" Type="{R}/attachedTemplate" Target="file:///C:/t.dotx" TargetMode="External"/></Relationships>'
    parts = {
        "word/document.xml": word(body),
        "word/settings.xml": settings,
        "word/glossary/document.xml": glossary,
        "word/_rels/settings.xml.rels": rels,
    }
    types = {
        "word/document.xml": "wordprocessingml.document.main",
        "word/settings.xml": "wordprocessingml.settings",
        "word/glossary/document.xml": "wordprocessingml.document.glossary",
    }
    found = set(read(package(dict(parts), types))[1].text.splitlines())
    assert found >= {
        "linksimple",
        "popsup",
        "help",
        "given",
        "http://simple.example",
        "SELECT pay",
        "n\tv",
        "block",
        "built",
        "file:///C:/t.dotx",
    }


@pytest.mark.parametrize(
    ("choice", "shown"),
    [
        ('<mc:Choice Requires="wps"><w:t>chosen</w:t></mc:Choice>', ["chosen"]),
        ('<mc:Choice Requires="wps"><w:drawing/></mc:Choice>', ["fallen"]),
        ('<mc:Choice Requires="undeclared"><w:drawing/></mc:Choice>', ["fallen"]),
        ('<mc:Choice Requires="odd"><w:t>chosen</w:t></mc:Choice>', ["chosenfallen"]),
        ('<mc:Choice Requires="wps"><a:chart r:id="r1"/></mc:Choice>', []),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_fallback_is_read_where_no_choice_serves(
    choice: str, shown: list[str], streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A choice serves that is of a known namespace, and says or shows something (ISO/IEC 29500-3, 7.6)."""
    alternatives = f"<mc:AlternateContent>{choice}<mc:Fallback><w:t>fallen</w:t></mc:Fallback></mc:AlternateContent>"
    spaces = f'xmlns:r="{R}" xmlns:odd="http://odd.example" xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
    if streamed:
        if "r:id" in choice or shown == ["chosenfallen"]:
            pytest.skip("a paragraph is a tree as a whole")
        alternatives = alternatives.replace("<w:t>", "<w:p><w:r><w:t>").replace("</w:t>", "</w:t></w:r></w:p>")
        monkeypatch.setattr(xml, "_TREE_BYTES", 10)
    body = alternatives if streamed else f"<w:p><w:r>{alternatives}</w:r></w:p>"
    data = package(
        {"word/document.xml": word(body).replace("<w:body>", f"<w:body {spaces}>")},
        {"word/document.xml": "wordprocessingml.document.main"},
    )
    assert read(data)[1].text.split() == shown


@pytest.mark.parametrize("padding", ["", "<!--" + "x" * 3_000_000 + "-->"], ids=("tree", "stream"))
@pytest.mark.parametrize(
    ("text", "shown"),
    [("wo<?a b?>rd", "word"), ("wo<!-- c -->rd", "word"), ("wo<![CDATA[rd]]>", "word"), ("wo&e;rd", None)],
)
def test_what_xml_allows_within_a_text_does_not_end_it(text: str, shown: str | None, padding: str) -> None:
    """An entity of the document's own is not replaced, and that is reported."""
    kinds_of = '<!DOCTYPE d [<!ENTITY e "">]>' if shown is None else ""
    data = package(
        {"word/document.xml": kinds_of + word(padding + para(text))},
        {"word/document.xml": "wordprocessingml.document.main"},
    )
    out = read(data)[1]
    assert (out.error is None) == (shown is not None)
    assert shown is None or out.text == f"{shown}\n"


@pytest.mark.parametrize("main", ["content/body.bin", "document.xml", "word\\document.xml"])
@pytest.mark.parametrize("typed", [True, False])
def test_content_types_and_relationships_say_what_a_part_is(main: str, typed: bool) -> None:
    """Whatever folder it is in, and however its name ends (ECMA-376 part 2, 6.2.3); without one, the package's relationship does."""
    if not typed and main.startswith("word"):
        pytest.skip("its name says it")
    rels = f'<Relationships xmlns="r"><Relationship Id="m" Type="{R}/officeDocument" Target="{main}"/></Relationships>'
    types = {main: "wordprocessingml.document.main"} if typed else {}
    data = package({"_rels/.rels": rels, main: word(para("plainword"))}, types)
    media_type, out, _ = read(data, b"x.docx")
    assert (media_type, out.text, out.error) == (f"{OFFICE}wordprocessingml.document", "plainword\n", None)


@pytest.mark.parametrize("name", ["[content_types].XML", ""])
def test_a_document_without_its_content_types_is_damaged_and_one(name: str) -> None:
    types = f'<Types xmlns="t"><Override PartName="/word/document.xml" ContentType="{OFFICE}wordprocessingml.document.main+xml"/></Types>'
    parts = {"word/document.xml": word("<w:p><w:r><w:t>plain</w:t></w:r><w:r><w:t>word</w:t></w:r></w:p>").encode()}
    media_type, out, _ = read(make_zip({name: types.encode(), **parts} if name else parts))
    assert (media_type, out.text) == (f"{OFFICE}wordprocessingml.document", "plainword\n")
    assert (out.error is None) == bool(name)


def test_binary_workbooks_keep_the_same() -> None:
    cache = (
        rec(183, b"\0" * 8 + wide_b("Field"))
        + rec(24, wide_b("cached"))
        + rec(21, struct.pack("<d", 12.5))
        + rec(33, bytes(8) + wide_b("row"))
    )
    link = rec(360, bytes(4) + wide_b("Bonus")) + rec(367, bytes(4) + wide_b("kept"))
    more = {"xl/pivotCache/pivotCacheDefinition1.bin": cache, "xl/externalLinks/externalLink1.bin": link}
    named = rec(39, bytes(9) + wide_b("rate") + wide_b("agreed"))
    data = xlsb(
        rec(167, wide_b("filter")) + rec(500) + rec(502, bytes(6) + wide_b("scenario") + wide_b("said")),
        behind=named,
        **more,
    )
    media_type, out, _ = read(data)
    assert media_type == XLSB
    assert out.text.split() == [
        "Sums",
        "filter",
        "scenario",
        "said",
        "rate",
        "agreed",
        "Field",
        "cached",
        "12.5",
        "row",
        "Bonus",
        "kept",
    ]


def test_old_workbooks_keep_the_same() -> None:
    def bare(text: str) -> bytes:
        return b"\1" + text.encode("utf-16-le")

    before = (
        (0x1AE, struct.pack("<HH", 1, 6) + bare("\1a.xls") + wide("Bonus")),
        (0x1AE, struct.pack("<HH", 1, 0x0401)),
        (0x5A, struct.pack("<BBH", 2, 0, 0) + b"\2" + wide("kept") + b"\1" + struct.pack("<d", 8.5) + b"\0" + bytes(8)),
        (0x23, bytes(6) + b"\5\1" + "outer".encode("utf-16-le")),
        (0x18, struct.pack("<HBBHHHI", 0, 0, 4, 9, 0, 0, 0) + bare("rate") + b"\x17\3\1" + "per".encode("utf-16-le")),
        (0x18, struct.pack("<HBBHHHI", 0x20, 0, 1, 0, 0, 0, 0) + b"\0\6"),
        (0x894, bytes(12) + struct.pack("<HH", 4, 6) + bare("rate") + bare("agreed")),
    )
    rows = (
        (
            0xAF,
            struct.pack("<HBBBBB", 1, 0, 0, 4, 4, 3)
            + bare("best")
            + wide("Ann")
            + wide("hope")
            + bytes(4)
            + wide("99"),
        ),
        (0xCD, wide("SELECT pay")),
        (0x9E, bytes(4) + b"\6\2\0\0\0\0\4\0\0\0" + bytes(10) + b"\0look"),
    )
    stream = biff(begin(5), *before, END, begin(), *rows, END)
    cache = biff(
        (0xC7, bytes(14) + wide("Field")),
        (0xCD, wide("cached")),
        (0xC9, struct.pack("<d", 2.5)),
        (0xCC, b"\xff\xff"),
        (0xCE, struct.pack("<HHBBBB", 2024, 3, 9, 0, 0, 0)),
        END,
    )
    data = write(Storage(streams={"Workbook": stream}, storages=[Storage(name="_SX_DB_CUR", streams={"0001": cache})]))
    out = read(data)[1]
    assert out.error is None
    reported = "a.xls Bonus kept 8.5 outer rate per rate agreed best Ann hope 99 SELECT pay look Field cached 2.5 -1 2024-03-09"
    assert out.text.split() == reported.split()


# Dates ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("serial", "form", "year", "shown"),
    [
        ("1", "yyyy-mm-dd", 1900, "1900-01-01"),
        ("31.5", "yyyy-mm-dd", 1900, "1900-01-31 12:00:00"),
        ("59", "yyyy-mm-dd", 1900, "1900-02-28"),
        ("60", "yyyy-mm-dd", 1900, "1900-02-29"),
        ("61", "yyyy-mm-dd", 1900, "1900-03-01"),
        ("1", "dddd d mmmm yyyy", 1900, "1900-01-01 January Sunday"),
        ("60", "d mmm yyyy", 1900, "1900-02-29 Feb"),
        ("0.5", "hh:mm", 1900, "12:00:00"),
        ("0", "yyyy-mm-dd", 1904, "1904-01-01"),
        ("0.5", "yyyy-mm-dd", 1904, "1904-01-01 12:00:00"),
        ("0.5", "hh:mm AM/PM", 1904, "12:00:00"),
        ("1.25", "mm:ss", 1904, "1904-01-02 06:00:00"),
        ("2957003", "yyyy", 1904, "9999-12-31"),
        ("2957004", "yyyy", 1904, "2957004"),
        ("2958465.9999999", "yyyy", 1900, "2958465.9999999"),
        ("-1", "yyyy-mm-dd", 1900, "-1"),
    ],
)
def test_the_first_and_last_dates_of_a_workbook(serial: str, form: str, year: int, shown: str) -> None:
    """As cells show them (ECMA-376 part 1, 18.17.4.1): 29 February 1900 too, which there was not; a number that is no date is one."""
    start = datetime(1904, 1, 1) if year == 1904 else datetime(1899, 12, 30)
    assert number_text(serial, style_of("170", form), start) == shown
    assert date_text(61.0, datetime(1899, 12, 30), "date") == "1900-03-01"


# OpenDocument that was packed in another way --------------------------------------------------------------------------


def packed(*members: tuple[str, str, int]) -> bytes:
    """A zip archive of these members, in order, stored or deflated."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content, method in members:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return out.getvalue()


STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED


@pytest.mark.parametrize("kind", ["text", "spreadsheet-template", "presentation"])
@pytest.mark.parametrize("how", ["deflated", "last", "manifest", "backslashes", "line end", "here"])
def test_opendocument_packed_again(kind: str, how: str) -> None:
    """By other programs than those that made it: what the first member should say is elsewhere (part 2, 3.2, 3.3)."""
    content, manifest = ("content.xml", CONTENT, DEFLATED), ("META-INF/manifest.xml", MANIFEST % (ODF + kind), DEFLATED)
    members = {
        "deflated": (("mimetype", ODF + kind, DEFLATED), content),
        "last": (("Pictures/a.png", "x" * 5000, STORED), content, ("mimetype", ODF + kind, STORED)),
        "manifest": (content, manifest),
        "backslashes": (content, ("META-INF\\manifest.xml", manifest[1], DEFLATED)),
        "here": (("./content.xml", CONTENT, DEFLATED), ("./mimetype", ODF + kind, DEFLATED)),
        "line end": (content, ("mimetype", ODF + kind + "\r\n", DEFLATED)),
    }
    media_type, out, _ = read(packed(*members[how]))
    assert (media_type, out.text, out.error) == (ODF + kind, "odtword\n", None)


def test_opendocument_that_nothing_names() -> None:
    assert read(packed(("content.xml", CONTENT, DEFLATED)), b"a.ott")[0] == ODF + "text-template"
    assert read(packed(("content.xml", "<a/>", DEFLATED), ("mimetype", "text/plain", DEFLATED)))[0] == "application/zip"
    assert read(packed(("saved/content.xml", CONTENT, DEFLATED)))[0] == "application/zip"
    former = CONTENT.replace("urn:oasis:names:tc:opendocument:xmlns:", "http://openoffice.org/2000/").replace(
        ":1.0", ""
    )
    assert read(packed(("content.xml", former, DEFLATED)))[0] == "application/zip"


def test_flat_opendocument() -> None:
    names = 'xmlns:meta="urn:oasis:names:tc:opendocument:xmlns:meta:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'
    about = "<office:meta><dc:title>Titled</dc:title></office:meta>"
    picture = f"<draw:frame><draw:image><office:binary-data>{base64.b64encode(PNG).decode()}</office:binary-data></draw:image></draw:frame>"
    flat = CONTENT.replace("document-content", "document").replace("<office:body>", about + "<office:body>")
    flat = flat.replace("xmlns:text", f'{names} office:mimetype="{ODF}text" xmlns:text', 1).replace(
        "</text:p>", picture + "</text:p>"
    )
    media_type, out, children = read(flat.encode())
    assert (media_type, out.text, out.metadata, out.error) == (
        ODF + "text-flat-xml",
        "odtword\n",
        {"title": "Titled"},
        None,
    )
    assert [child.data for child in children] == [PNG]
    media_type, out, children = read(flat.replace("iVBOR", "!!!", 1).encode("utf-16"), b"x.fodt")
    assert (media_type, out.text) == (ODF + "text-flat-xml", "odtword\n")
    assert children[0].error is not None
    media_type, out, _ = read(flat[: flat.index("</office:text>")].encode())
    assert out.error is not None


ODF_PARTS = {
    **dict.fromkeys(("content.xml", "styles.xml", "meta.xml", "mimetype", "META-INF/manifest.xml", "Object 1/content.xml"), "read"),
    **dict.fromkeys(("Pictures/a.png", "Object 2", "media/a.mp4", "Thumbnails/thumbnail.png", "Versions/Version1"), "child"),
    "settings.xml": "settings", "META-INF/documentsignatures.xml": "signatures", "VersionList.xml": "earlier versions",
    "Basic/Standard/Module1.xml": "macros", "ObjectReplacements/Object 1": "renderings",
}  # fmt: skip


def test_every_part_of_opendocument_is_read_a_child_or_listed() -> None:
    """Those that the standard names (part 2, 3) and LibreOffice writes; earlier versions are whole documents."""
    data = make_zip({name: (ODF + "text").encode() if name == "mimetype" else b"<a/>" for name in ODF_PARTS})
    children = {child.name for child in read(data)[2]}
    expected = {name.rsplit("/", 1)[-1].encode() for name, kind in ODF_PARTS.items() if kind == "child"}
    assert children == expected
    left = " ".join(OdfHandler.declared[0].leaves_out)
    assert [kind for kind in ODF_PARTS.values() if kind not in ("read", "child") and kind not in left] == []


def test_what_opendocument_states_in_attributes() -> None:
    body = (
        '<text:user-field-decls><text:user-field-decl text:name="n" office:string-value="val"/></text:user-field-decls>'
        '<text:p>a<text:hidden-text text:string-value="hidden"/><draw:frame><draw:image xlink:href="../far.png"/>'
        '<draw:image xlink:href="Pictures/near.png"/></draw:frame></text:p><table:table><table:table-source xlink:href="file:///other.ods"/>'
        '<table:scenario table:comment="hope"/><table:help-message table:title="help"/></table:table>'
        '<table:content-validation table:condition="of:cell-content-is-in-list(&quot;yes&quot;;&quot;no&quot;)"/>'
        '<table:named-expression table:name="rate" table:expression="of:=&quot;per hour&quot;"/><table:named-range table:name="area"/>'
        '<table:filter-condition table:value="chosen"/><table:data-pilot-field table:source-field-name="Pay">'
        '<table:data-pilot-member table:name="Ann"/></table:data-pilot-field><form:text form:title="tip"/>'
        '<table:change-track-table-cell office:string-value="before"/><text:variable-set office:string-value="shown"/>'
        '<text:variable-set office:string-value="unseen" text:display="none"/><text:toc-mark text:string-value="entry"/>'
        '<text:bibliography-mark text:title="title"/><c:condition xmlns:c="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0" '
        'c:value="contains-text(&quot;looked for&quot;)"/>'
    )
    names = 'xmlns:form="urn:oasis:names:tc:opendocument:xmlns:form:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"'
    content = CONTENT.replace("<office:text>", "<office:text>" + body).replace(
        "<office:body>", f"<office:body {names}>"
    )
    out = read(packed(("mimetype", ODF + "text", STORED), ("content.xml", content, DEFLATED)))[1]
    reported = "a odtword n val hidden ../far.png file:///other.ods hope help yes no rate per hour area chosen Pay Ann tip before unseen"
    assert out.text.split() == f"{reported} entry title looked for".split()


def test_how_characters_are_read_does_not_cut_words() -> None:
    """Of Word behind the paragraph, of OpenDocument in front; both sides of a word that is in another paragraph's box stay."""
    ruby = "<w:ruby><w:rt><w:r><w:t>tou</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>base</w:t></w:r></w:rubyBase></w:ruby>"
    body = f"<w:p><w:r><w:t>in</w:t></w:r><w:r>{ruby}</w:r><w:r><w:t>line</w:t></w:r></w:p>"
    assert read(docx(body))[1].text == "inbaseline tou\n"
    text = CONTENT.replace(
        "odt", "<text:ruby><text:ruby-base>o</text:ruby-base><text:ruby-text>tou</text:ruby-text></text:ruby>dt"
    )
    out = read(packed(("mimetype", ODF + "text", STORED), ("content.xml", text, DEFLATED)))[1]
    assert out.text.splitlines() == ["tou", "odtword"]


def test_signs_of_the_font_symbol_are_letters() -> None:
    places = ("Symbol", "F06D"), ("Symbol", "0057"), ("Wingdings", "F0FC"), ("Arial", "00E4"), ("Arial", "x")
    signs = "".join(f'<w:sym w:font="{font}" w:char="{place}"/>' for font, place in places)
    body = f"<w:p><w:r>{signs}<w:t>end</w:t></w:r></w:p>"
    assert read(docx(body))[1].text == "μΩ ä end\n"


# Documents that are one file of XML -----------------------------------------------------------------------------------


def test_a_package_written_out() -> None:
    head = '<?xml version="1.0"?><?mso-application progid="Word.Document"?><pkg:package xmlns:pkg="http://schemas.microsoft.com/office/2006/xmlPackage">'
    part = '<pkg:part pkg:name="/%s" pkg:contentType="%s">%s</pkg:part>'
    text = f"<pkg:xmlData>{word('<w:p><w:r><w:t>flat</w:t></w:r><w:r><w:t>word</w:t></w:r></w:p>')}</pkg:xmlData>"
    core = "<pkg:xmlData><c xmlns:dc='http://purl.org/dc/elements/1.1/'><dc:title>Titled</dc:title></c></pkg:xmlData>"
    binary = f"<pkg:binaryData>{base64.encodebytes(PNG).decode()}</pkg:binaryData>"
    data = head + part % ("word/document.xml", OFFICE + "wordprocessingml.document.main+xml", text)
    data += part % ("docProps/core.xml", "application/vnd.openxmlformats-package.core-properties+xml", core)
    data += part % ("word/media/a.png", "image/png", binary) + "</pkg:package>"
    media_type, out, children = read(data.encode())
    assert (media_type, out.text, out.metadata, out.error) == (
        "application/vnd.ms-word2006ml",
        "flatword\n",
        {"title": "Titled"},
        None,
    )
    assert [(child.name, child.data) for child in children] == [(b"a.png", PNG)]
    assert read(data.replace(binary, "<pkg:binaryData>!</pkg:binaryData>").encode())[1].error is not None
    cut = read(data[:-30].encode())[1]
    assert cut.text == "flatword\n"
    assert cut.error is not None


def test_word_2003() -> None:
    data = (
        '<w:wordDocument xmlns:w="http://schemas.microsoft.com/office/word/2003/wordml" xmlns:o="urn:schemas-microsoft-com:office:office" '
        'xmlns:aml="http://schemas.microsoft.com/aml/2001/core"><o:DocumentProperties><o:Title>Titled</o:Title></o:DocumentProperties>'
        '<w:docPr><w:docVars><w:docVar w:name="n" w:val="v"/></w:docVars></w:docPr><w:body><w:p><w:r><w:t>wordmlw</w:t></w:r>'
        "<w:proofErr/><w:r><w:t>ord</w:t></w:r><w:r><w:footnote><w:p><w:r><w:t>foot</w:t></w:r></w:p></w:footnote></w:r></w:p>"
        '<w:p><w:hlink w:dest="http://a.example"><w:r><w:t>there</w:t></w:r></w:hlink><aml:annotation aml:author="Ann"/>'
        f'<w:r><w:pict><w:binData w:name="wordml://01.png">{base64.b64encode(PNG).decode()}</w:binData></w:pict></w:r></w:p>'
        "</w:body></w:wordDocument>"
    )
    media_type, out, children = read(data.encode())
    assert (media_type, out.metadata) == ("application/vnd.ms-wordml", {"title": "Titled"})
    assert out.text.splitlines() == ["wordmlword", "foot", "there", "http://a.example", "Ann", "n\tv"]
    assert [(child.name, child.data) for child in children] == [(b"01.png", PNG)]


def test_excel_2003() -> None:
    space = "urn:schemas-microsoft-com:office:spreadsheet"
    data = (
        f'<?xml version="1.0"?><Workbook xmlns="{space}" xmlns:ss="{space}"><DocumentProperties xmlns="urn:schemas-microsoft-com:office:office">'
        '<Author>Ann</Author></DocumentProperties><Worksheet ss:Name="Sums"><Table><Row><Cell><Data ss:Type="Number">5</Data></Cell>'
        '<Cell ss:HRef="http://a.example"><Data xmlns="http://www.w3.org/TR/REC-html40"><B>ri</B>ch</Data><Comment ss:Author="Bob"><Data>why</Data>'
        '</Comment></Cell></Row></Table><DataValidation><Type>List</Type><Value>"yes,no"</Value></DataValidation><PivotField><Name>Pay</Name>'
        '<PivotItem><Name>high</Name></PivotItem></PivotField></Worksheet><PivotCache><z:row xmlns:z="#RowsetSchema" Col1="ann" Col2="9"/></PivotCache></Workbook>'
    )
    media_type, out, _ = read(data.encode())
    assert (media_type, out.metadata) == ("application/vnd.ms-spreadsheetml", {"author": "Ann"})
    assert out.text.splitlines() == ["Sums", "5\trich Bob why http://a.example", "yes,no", "Pay", "high", "ann\t9"]
    cut = read(data[: data.index("</Table>")].encode())[1]
    assert "5\trich" in cut.text
    assert (cut.error and cut.error.code) is ExceptionCode.CORRUPT


def test_other_xml_of_these_namespaces_is_none_of_them() -> None:
    sheet = '<xsl:stylesheet xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"/>'
    assert identify(MemorySource(b"a.xml", sheet.encode())) == "application/xml"
    assert identify(MemorySource(b"a.zip", make_zip({"a": b"b"}))) == "application/zip"
