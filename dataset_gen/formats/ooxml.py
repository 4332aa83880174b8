"""Office Open XML documents: the package (ECMA-376 part 2), docx, xlsx (part 1, §12 and §18) and pptx (part 1, §13 and §19)."""

from __future__ import annotations

from dataclasses import dataclass, field

from dataset_gen.formats import ole_package
from dataset_gen.made import Made, Order, branch, placed
from dataset_gen.material.text import prose
from dataset_gen.packing import ZipWriter
from dataset_gen.rng import Dice
from readers.records import Kind

XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
MAIN = "application/vnd.openxmlformats-officedocument"
_DEFAULTS = {
    "rels": "application/vnd.openxmlformats-package.relationships+xml",
    "xml": "application/xml",
    "jpg": "image/jpeg",
    "png": "image/png",
    "gif": "image/gif",
    "docx": f"{MAIN}.wordprocessingml.document",
    "xlsx": f"{MAIN}.spreadsheetml.sheet",
    "pdf": "application/pdf",
    "bin": f"{MAIN}.oleObject",
}
_EMBEDDED = (("xlsx", "Microsoft_Excel_Sheet1.xlsx"), ("docx", "Microsoft_Word_Document1.docx"))
_PACKED = ("pdf", "txt", "jpg", "csv", "docx", "xlsx")
_PACKAGE_SHARE = 0.4  # of the embedded objects


@dataclass(frozen=True, slots=True)
class Carried:
    """A part that is a child: its bytes in the archive, and what is found in it."""

    part: str
    data: bytes
    name: str
    made: Made


@dataclass(slots=True)
class Package:
    """Parts in order; pictures, embedded documents and the files in OLE packages become children."""

    media_type: str  # of the whole file
    folder: str  # word, xl, ppt
    parts: list[tuple[str, bytes, str | None]] = field(default_factory=list)  # name, bytes, content type
    objects: list[Carried] = field(default_factory=list)

    def part(self, name: str, text: str, content_type: str | None = None) -> None:
        """Add an XML part; `name` is from the package's root, `content_type` where it is not plain XML."""
        self.parts.append((name, (XML + text).encode("utf-8"), content_type))

    def relations(self, of: str, targets: list[tuple[str, str, str]]) -> None:
        """Add the relationships of a part: (id, type, target)."""
        folder, _, base = of.rpartition("/")
        lines = "".join(
            f'<Relationship Id="{i}" Type="{kind if ":" in kind else f"{OFFICE}/{kind}"}" Target="{target}"/>'
            for i, kind, target in targets
        )
        where = f"{folder}/_rels/{base}.rels" if folder else f"_rels/{base}.rels"
        self.part(where, f'<Relationships xmlns="{PACKAGE}/relationships">{lines}</Relationships>')

    def embed(self, name: str, made: Made) -> str:
        """Add a picture (`media/…`) or document (`embeddings/…`); return its name relative to `folder`."""
        self.objects.append(Carried(f"{self.folder}/{name}", made.data, name.rpartition("/")[2], made))
        return name

    def embed_package(self, name: str, file_name: str, made: Made) -> str:
        """Add a file of any kind with its name in an OLE package (`embeddings/oleObject1.bin`); return `name`."""
        data = ole_package.compound_file(file_name, made.data)
        self.objects.append(Carried(f"{self.folder}/{name}", data, file_name, made))
        return name

    def finish(self, order: Order, *, main: str, title: str, pages: int | None = None) -> Made:
        """Build the file."""
        self.part("docProps/core.xml", _core_properties(order, title))
        kinds = {
            "docProps/core.xml": f"{PACKAGE}/relationships/metadata/core-properties",
            main: f"{OFFICE}/officeDocument",
        }
        self.relations("", [(f"rId{i}", kind, name) for i, (name, kind) in enumerate(kinds.items(), start=1)])
        self.parts.insert(0, ("[Content_Types].xml", (XML + self._content_types()).encode(), None))
        out = ZipWriter()
        for name, data, _ in self.parts:
            out.add(name.encode(), data)
        for one in self.objects:
            out.add(one.part.encode(), one.data, store=True)
        return branch(
            out.finish(),
            self.media_type,
            own=[data for _, data, _ in self.parts],
            children=placed(Kind.EMBEDDED_OBJECT, ((one.name, one.made) for one in self.objects)),
            pages=pages,
            terms=order.terms,
        )

    def _content_types(self) -> str:
        overrides = [(name, kind) for name, _, kind in self.parts if kind]
        overrides.append(("docProps/core.xml", "application/vnd.openxmlformats-package.core-properties+xml"))
        return (
            f'<Types xmlns="{PACKAGE}/content-types">'
            + "".join(f'<Default Extension="{ext}" ContentType="{kind}"/>' for ext, kind in _DEFAULTS.items())
            + "".join(f'<Override PartName="/{name}" ContentType="{kind}"/>' for name, kind in overrides)
            + "</Types>"
        )


def _core_properties(order: Order, title: str) -> str:
    dice = order.dice
    when = f"20{dice.between(15, 23)}-{dice.between(1, 12):02d}-{dice.between(1, 28):02d}T09:{dice.below(60):02d}:00Z"
    return (
        f'<cp:coreProperties xmlns:cp="{PACKAGE}/metadata/core-properties" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" '
        'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
        f"<dc:title>{title}</dc:title><dc:creator>Author {dice.below(400)}</dc:creator>"
        f'<dcterms:created xsi:type="dcterms:W3CDTF">{when}</dcterms:created></cp:coreProperties>'
    )


def split_size(order: Order, *, text_most: int, picture: int) -> tuple[int, list[int]]:
    """Packed bytes for text, and the sizes of pictures for the rest: a big document is one with pictures."""
    dice = order.dice
    text = min(order.size, int(text_most * (0.3 + dice.random())))
    rest = order.size - text
    if rest < 4000:
        return order.size, []
    count = min(1 + rest // (picture * 3), 1 + dice.below(1 + rest // picture), 60)
    return text, [rest // count] * count


def add_object(order: Order, package: Package, size: int) -> tuple[str, str]:
    """Embed a document, or any file in an OLE package, of about so many bytes: (relationship type, part name relative
    to the package's folder)."""
    dice = order.dice
    if dice.chance(_PACKAGE_SHARE):
        fmt = dice.pick(_PACKED)
        name = f"{prose().title(dice, 2)}.{fmt}"
        return "oleObject", package.embed_package("embeddings/oleObject1.bin", name, order.child(fmt, 900, size))
    fmt, name = dice.pick(_EMBEDDED)
    return "package", package.embed(f"embeddings/{name}", order.child(fmt, 900, size))


DOCX = f"{MAIN}.wordprocessingml.document"
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_TEXT_RATIO = 2.4  # characters for each packed byte
_STYLES = (
    f'<w:styles xmlns:w="{_W}"><w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/>'
    '</w:style><w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/><w:rPr><w:b/></w:rPr>'
    "</w:style></w:styles>"
)
_DRAWING = (
    '<w:p><w:r><w:drawing><wp:inline xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing">'
    '<wp:extent cx="4000000" cy="3000000"/><wp:docPr id="{id}" name="Picture {id}"/>'
    '<a:graphic xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">'
    '<a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/picture">'
    '<pic:pic xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture">'
    '<pic:nvPicPr><pic:cNvPr id="{id}" name="Picture {id}"/><pic:cNvPicPr/></pic:nvPicPr>'
    '<pic:blipFill><a:blip r:embed="rIdP{id}"/><a:stretch><a:fillRect/></a:stretch></pic:blipFill>'
    '<pic:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="4000000" cy="3000000"/></a:xfrm>'
    '<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></pic:spPr></pic:pic></a:graphicData></a:graphic>'
    "</wp:inline></w:drawing></w:r></w:p>"
)
_DOCX_OBJECT = (
    '<w:p><w:r><w:object><o:OLEObject xmlns:o="urn:schemas-microsoft-com:office:office" Type="Embed" '
    'ProgID="Package" ShapeID="object1" DrawAspect="Icon" ObjectID="_1" r:id="rIdO1"/></w:object></w:r></w:p>'
)
_DOCX_EMBEDDING_SHARE = 0.08  # of the documents that are big enough


def _paragraph(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{properties}<w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def build_docx(order: Order) -> Made:
    """Headings and paragraphs; big ones have pictures, a few an embedded document or file."""
    dice = order.dice
    package = Package(DOCX, "word")
    packed, pictures = split_size(order, text_most=30_000, picture=80_000)
    relations = [("rId1", "styles", "styles.xml")]
    if packed > 9000 and dice.chance(_DOCX_EMBEDDING_SHARE):
        packed -= 5000
        relations.append(("rIdO1", *add_object(order, package, 5000)))
    title = prose().title(dice)
    body = [_paragraph(title, "Heading1")]
    body += [_paragraph(f"{term}.") for term in order.terms]
    characters = max(200, int((packed - 1700) * _TEXT_RATIO))
    body += [_paragraph(text) for text in prose().paragraphs(dice, characters, accented=True)]
    if package.objects:
        body.append(_DOCX_OBJECT)
    for number, size in enumerate(pictures, start=1):
        ext = "png" if dice.chance(0.2) else "jpg"
        name = package.embed(f"media/image{number}.{ext}", order.child(ext, number, size))
        relations.append((f"rIdP{number}", "image", name))
        body.insert(1 + dice.below(len(body)), _DRAWING.format(id=number))
    package.part(
        "word/document.xml",
        f'<w:document xmlns:w="{_W}" xmlns:r="{OFFICE}"><w:body>{"".join(body)}<w:sectPr/></w:body></w:document>',
        f"{DOCX}.main+xml",
    )
    package.part("word/styles.xml", _STYLES, f"{MAIN}.wordprocessingml.styles+xml")
    package.relations("word/document.xml", relations)
    return package.finish(order, main="word/document.xml", title=title)


XLSX = f"{MAIN}.spreadsheetml.sheet"
_S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_ROW_BYTES = 70  # packed bytes of one row, about
_ROWS_A_SHEET = 3000
_XLSX_EMBEDDING_SHARE = 0.04  # of the workbooks that are big enough
_XLSX_OBJECT = '<oleObjects><oleObject progId="Package" dvAspect="DVASPECT_ICON" shapeId="1" r:id="rId2"/></oleObjects>'


def _string(cell: str, text: str) -> str:
    return f'<c r="{cell}" t="inlineStr"><is><t>{text}</t></is></c>'


def _rows(dice: Dice, count: int, terms: tuple[str, ...]) -> str:
    words = prose().plain
    head = "".join(_string(f"{c}1", t) for c, t in zip("ABCD", ("Number", "Amount", "Share", "Remark"), strict=True))
    out = [f'<row r="1">{head}</row>']
    planted = dict(enumerate(terms, start=2))
    for r in range(2, count + 2):
        n = dice.below(1_000_000_000)
        remark = planted.get(r) or dice.pick(words)
        out.append(
            f'<row r="{r}"><c r="A{r}"><v>{n}</v></c><c r="B{r}"><v>{n % 9_999_991 / 100}</v></c>'
            f'<c r="C{r}"><v>{n % 997 / 1000}</v></c>{_string(f"D{r}", remark)}</row>'
        )
        dice.characters += len(remark) + 25  # with the numbers
    return "".join(out)


def build_xlsx(order: Order) -> Made:
    """Build as many rows as the requested size needs, over several sheets; big workbooks have a picture."""
    dice = order.dice
    package = Package(XLSX, "xl")
    packed = order.size - 2600
    picture = packed // 2 if packed > 60_000 and dice.chance(0.25) else 0
    embedded = 6_000 if packed > 20_000 and dice.chance(_XLSX_EMBEDDING_SHARE) else 0
    rows = max(3, (packed - picture - embedded) // _ROW_BYTES)
    sheets = [min(_ROWS_A_SHEET, rows - start) for start in range(0, rows, _ROWS_A_SHEET)]
    names = "".join(f'<sheet name="Sheet{i}" sheetId="{i}" r:id="rId{i}"/>' for i in range(1, len(sheets) + 1))
    package.part(
        "xl/workbook.xml",
        f'<workbook xmlns="{_S}" xmlns:r="{OFFICE}"><sheets>{names}</sheets></workbook>',
        f"{XLSX}.main+xml",
    )
    package.relations(
        "xl/workbook.xml",
        [(f"rId{i}", "worksheet", f"worksheets/sheet{i}.xml") for i in range(1, len(sheets) + 1)],
    )
    for number, count in enumerate(sheets, start=1):
        last = number == len(sheets)
        data = _rows(dice, count, order.terms if last else ())
        drawing = '<drawing r:id="rId1"/>' if picture and last else ""
        if embedded and last:
            drawing += _XLSX_OBJECT
        package.part(
            f"xl/worksheets/sheet{number}.xml",
            f'<worksheet xmlns="{_S}" xmlns:r="{OFFICE}"><sheetData>{data}</sheetData>{drawing}</worksheet>',
            f"{MAIN}.spreadsheetml.worksheet+xml",
        )
    relations = []
    if picture:
        relations.append(_add_picture(order, package, picture))
    if embedded:
        kind, name = add_object(order, package, embedded)
        relations.append(("rId2", kind, f"../{name}"))
    if relations:
        package.relations(f"xl/worksheets/sheet{len(sheets)}.xml", relations)
    return package.finish(order, main="xl/workbook.xml", title=prose().title(dice))


def _add_picture(order: Order, package: Package, size: int) -> tuple[str, str, str]:
    """Add a drawing with one picture; returns the sheet's relationship to it."""
    anchor = (
        "<xdr:from><xdr:col>6</xdr:col><xdr:colOff>0</xdr:colOff><xdr:row>1</xdr:row><xdr:rowOff>0</xdr:rowOff>"
        "</xdr:from>"
    )
    package.part(
        "xl/drawings/drawing1.xml",
        '<xdr:wsDr xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" '
        f'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><xdr:oneCellAnchor>{anchor}'
        '<xdr:ext cx="4000000" cy="3000000"/><xdr:pic><xdr:nvPicPr><xdr:cNvPr id="1" name="Picture 1"/>'
        "<xdr:cNvPicPr/></xdr:nvPicPr><xdr:blipFill>"
        f'<a:blip xmlns:r="{OFFICE}" r:embed="rId1"/><a:stretch><a:fillRect/></a:stretch></xdr:blipFill>'
        '<xdr:spPr><a:prstGeom prst="rect"><a:avLst/></a:prstGeom></xdr:spPr></xdr:pic><xdr:clientData/>'
        "</xdr:oneCellAnchor></xdr:wsDr>",
        f"{MAIN}.drawing+xml",
    )
    package.relations("xl/drawings/drawing1.xml", [("rId1", "image", "../media/image1.jpg")])
    package.embed("media/image1.jpg", order.child("jpg", 1, size))
    return "rId1", "drawing", "../drawings/drawing1.xml"


PPTX = f"{MAIN}.presentationml.presentation"
_P = "http://schemas.openxmlformats.org/presentationml/2006/main"
_A = "http://schemas.openxmlformats.org/drawingml/2006/main"
_NAMES = f'xmlns:a="{_A}" xmlns:r="{OFFICE}" xmlns:p="{_P}"'
_TREE = '<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>'
_COLOUR_NAMES = "dk1 lt1 dk2 lt2 accent1 accent2 accent3 accent4 accent5 accent6 hlink folHlink"
_COLOUR_VALUES = "000000 FFFFFF 44546A E7E6E6 4472C4 ED7D31 A5A5A5 FFC000 5B9BD5 70AD47 0563C1 954F72"
_COLOURS = "".join(
    f'<a:{n}><a:srgbClr val="{v}"/></a:{n}>'
    for n, v in zip(
        _COLOUR_NAMES.split(),
        _COLOUR_VALUES.split(),
        strict=True,
    )
)
_FONT = '<a:latin typeface="Calibri"/><a:ea typeface=""/><a:cs typeface=""/>'
_FILL = '<a:solidFill><a:schemeClr val="phClr"/></a:solidFill>'
_THEME = (
    f'<a:theme xmlns:a="{_A}" name="Office"><a:themeElements><a:clrScheme name="Office">{_COLOURS}</a:clrScheme>'
    f'<a:fontScheme name="Office"><a:majorFont>{_FONT}</a:majorFont><a:minorFont>{_FONT}</a:minorFont></a:fontScheme>'
    f'<a:fmtScheme name="Office"><a:fillStyleLst>{_FILL * 3}</a:fillStyleLst><a:lnStyleLst>'
    + f"<a:ln>{_FILL}</a:ln>" * 3
    + "</a:lnStyleLst><a:effectStyleLst>"
    + "<a:effectStyle><a:effectLst/></a:effectStyle>" * 3
    + f"</a:effectStyleLst><a:bgFillStyleLst>{_FILL * 3}</a:bgFillStyleLst></a:fmtScheme></a:themeElements></a:theme>"
)
_MASTER = (
    f'<p:sldMaster {_NAMES}><p:cSld><p:spTree>{_TREE}</p:spTree></p:cSld><p:clrMap bg1="lt1" tx1="dk1" bg2="lt2" '
    'tx2="dk2" accent1="accent1" accent2="accent2" accent3="accent3" accent4="accent4" accent5="accent5" '
    'accent6="accent6" hlink="hlink" folHlink="folHlink"/><p:sldLayoutIdLst><p:sldLayoutId id="2147483649" '
    'r:id="rId1"/></p:sldLayoutIdLst></p:sldMaster>'
)
_LAYOUT = f"<p:sldLayout {_NAMES}><p:cSld><p:spTree>{_TREE}</p:spTree></p:cSld></p:sldLayout>"


def _shape(number: int, paragraphs: list[str]) -> str:
    text = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in paragraphs)
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="{number}" name="Text {number}"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr>'
        f'<p:spPr><a:xfrm><a:off x="500000" y="{number * 700000}"/><a:ext cx="8000000" cy="900000"/></a:xfrm>'
        '<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr>'
        f"<p:txBody><a:bodyPr/>{text}</p:txBody></p:sp>"
    )


_PICTURE = (
    '<p:pic><p:nvPicPr><p:cNvPr id="9" name="Picture 9"/><p:cNvPicPr/><p:nvPr/></p:nvPicPr><p:blipFill>'
    '<a:blip r:embed="rId2"/><a:stretch><a:fillRect/></a:stretch></p:blipFill><p:spPr><a:xfrm>'
    '<a:off x="3000000" y="2500000"/><a:ext cx="4000000" cy="3000000"/></a:xfrm><a:prstGeom prst="rect">'
    "<a:avLst/></a:prstGeom></p:spPr></p:pic>"
)
_PPTX_OBJECT = (
    '<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="10" name="Object 10"/><p:cNvGraphicFramePr/><p:nvPr/>'
    '</p:nvGraphicFramePr><p:xfrm><a:off x="6000000" y="5500000"/><a:ext cx="900000" cy="700000"/></p:xfrm><a:graphic>'
    '<a:graphicData uri="http://schemas.openxmlformats.org/presentationml/2006/ole"><p:oleObj showAsIcon="1" '
    'r:id="rId3" imgW="900000" imgH="700000" progId="Package"><p:embed/></p:oleObj></a:graphicData></a:graphic>'
    "</p:graphicFrame>"
)
_PPTX_EMBEDDING_SHARE = 0.12  # of the presentations that are big enough


def build_pptx(order: Order) -> Made:
    """Build a slide for each 60 kB or so, most with a picture, now and then an embedded document or file."""
    dice = order.dice
    package = Package(PPTX, "ppt")
    slides = max(2, min(60, order.size // dice.between(30_000, 90_000)))
    room = max(0, order.size - 5000 - slides * 1300)
    pictured = [n for n in range(slides) if dice.chance(0.6)] or [0]
    title = prose().title(dice)
    embedded = None
    if room > 30_000 and dice.chance(_PPTX_EMBEDDING_SHARE):
        embedded = add_object(order, package, 8000)
        room -= 8000
    for number in range(slides):
        lines = prose().paragraphs(dice, 500)
        if number == 0:
            lines = [f"{term}." for term in order.terms] + lines
        relations = [("rId1", "slideLayout", "../slideLayouts/slideLayout1.xml")]
        picture = ""
        if number in pictured and room > 3000:
            made = order.child("jpg", number, room // len(pictured))
            relations.append(("rId2", "image", "../" + package.embed(f"media/image{number + 1}.jpg", made)))
            picture = _PICTURE
        if number == 0 and embedded is not None:
            relations.append(("rId3", embedded[0], f"../{embedded[1]}"))
            picture += _PPTX_OBJECT
        shapes = _shape(2, [title if number == 0 else prose().title(dice)]) + _shape(3, lines) + picture
        name = f"ppt/slides/slide{number + 1}.xml"
        package.part(
            name,
            f"<p:sld {_NAMES}><p:cSld><p:spTree>{_TREE}{shapes}</p:spTree></p:cSld></p:sld>",
            f"{MAIN}.presentationml.slide+xml",
        )
        package.relations(name, relations)
    _frame(package, slides)
    return package.finish(order, main="ppt/presentation.xml", title=title, pages=slides)


def _frame(package: Package, slides: int) -> None:
    ids = "".join(f'<p:sldId id="{256 + n}" r:id="rIdS{n + 1}"/>' for n in range(slides))
    package.part(
        "ppt/presentation.xml",
        f'<p:presentation {_NAMES}><p:sldMasterIdLst><p:sldMasterId id="2147483648" r:id="rId1"/></p:sldMasterIdLst>'
        f'<p:sldIdLst>{ids}</p:sldIdLst><p:sldSz cx="9144000" cy="6858000"/><p:notesSz cx="6858000" cy="9144000"/>'
        "</p:presentation>",
        f"{PPTX}.main+xml",
    )
    relations = [("rId1", "slideMaster", "slideMasters/slideMaster1.xml")]
    relations += [(f"rIdS{n + 1}", "slide", f"slides/slide{n + 1}.xml") for n in range(slides)]
    package.relations("ppt/presentation.xml", relations)
    package.part("ppt/slideMasters/slideMaster1.xml", _MASTER, f"{MAIN}.presentationml.slideMaster+xml")
    package.relations(
        "ppt/slideMasters/slideMaster1.xml",
        [("rId1", "slideLayout", "../slideLayouts/slideLayout1.xml"), ("rId2", "theme", "../theme/theme1.xml")],
    )
    package.part("ppt/slideLayouts/slideLayout1.xml", _LAYOUT, f"{MAIN}.presentationml.slideLayout+xml")
    package.relations(
        "ppt/slideLayouts/slideLayout1.xml", [("rId1", "slideMaster", "../slideMasters/slideMaster1.xml")]
    )
    package.part("ppt/theme/theme1.xml", _THEME, f"{MAIN}.theme+xml")
