"""What docx, xlsx and pptx have in common: the package (ECMA-376 part 2) around their parts."""

from __future__ import annotations

from dataclasses import dataclass, field

from dataset_gen.formats.office import ole_package
from dataset_gen.made import Made, Order, Placed, branch
from dataset_gen.material.text import prose
from dataset_gen.packing.zip import ZipWriter
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
        """An XML part; `name` is from the package's root, `content_type` where it is not plain XML."""
        self.parts.append((name, (XML + text).encode("utf-8"), content_type))

    def relations(self, of: str, targets: list[tuple[str, str, str]]) -> None:
        """The relationships of a part: (id, type, target)."""
        folder, _, base = of.rpartition("/")
        lines = "".join(
            f'<Relationship Id="{i}" Type="{kind if ":" in kind else f"{OFFICE}/{kind}"}" Target="{target}"/>'
            for i, kind, target in targets
        )
        where = f"{folder}/_rels/{base}.rels" if folder else f"_rels/{base}.rels"
        self.part(where, f'<Relationships xmlns="{PACKAGE}/relationships">{lines}</Relationships>')

    def embed(self, name: str, made: Made) -> str:
        """A picture (`media/…`) or document (`embeddings/…`); returns its name relative to `folder`."""
        self.objects.append(Carried(f"{self.folder}/{name}", made.data, name.rpartition("/")[2], made))
        return name

    def embed_package(self, name: str, file_name: str, made: Made) -> str:
        """A file of any kind with its name in an OLE package (`embeddings/oleObject1.bin`); returns `name`."""
        data = ole_package.compound_file(file_name, made.data)
        self.objects.append(Carried(f"{self.folder}/{name}", data, file_name, made))
        return name

    def finish(self, order: Order, *, main: str, title: str, pages: int | None = None) -> Made:
        """The file."""
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
        children = []
        for position, one in enumerate(self.objects):
            out.add(one.part.encode(), one.data, store=True)
            own = one.name.encode()
            children.append(Placed(name=own, ordinal=position, kind=Kind.EMBEDDED_OBJECT, truth=one.made.truth))
        return branch(
            out.finish(),
            self.media_type,
            own=[data for _, data, _ in self.parts],
            children=tuple(children),
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


MEDIA_TYPE = f"{MAIN}.wordprocessingml.document"
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
_OBJECT = (
    '<w:p><w:r><w:object><o:OLEObject xmlns:o="urn:schemas-microsoft-com:office:office" Type="Embed" '
    'ProgID="Package" ShapeID="object1" DrawAspect="Icon" ObjectID="_1" r:id="rIdO1"/></w:object></w:r></w:p>'
)
_EMBEDDING_SHARE = 0.08  # of the documents that are big enough


def _paragraph(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{properties}<w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def build(order: Order) -> Made:
    """Headings and paragraphs; big ones have pictures, a few an embedded document or file."""
    dice = order.dice
    package = Package(MEDIA_TYPE, "word")
    packed, pictures = split_size(order, text_most=30_000, picture=80_000)
    relations = [("rId1", "styles", "styles.xml")]
    if packed > 9000 and dice.chance(_EMBEDDING_SHARE):
        packed -= 5000
        relations.append(("rIdO1", *add_object(order, package, 5000)))
    title = prose().title(dice)
    body = [_paragraph(title, "Heading1")]
    body += [_paragraph(f"{term}.") for term in order.terms]
    characters = max(200, int((packed - 1700) * _TEXT_RATIO))
    body += [_paragraph(text) for text in prose().paragraphs(dice, characters, accented=True)]
    if package.objects:
        body.append(_OBJECT)
    for number, size in enumerate(pictures, start=1):
        ext = "png" if dice.chance(0.2) else "jpg"
        name = package.embed(f"media/image{number}.{ext}", order.child(ext, number, size))
        relations.append((f"rIdP{number}", "image", name))
        body.insert(1 + dice.below(len(body)), _DRAWING.format(id=number))
    package.part(
        "word/document.xml",
        f'<w:document xmlns:w="{_W}" xmlns:r="{OFFICE}"><w:body>{"".join(body)}<w:sectPr/></w:body></w:document>',
        f"{MEDIA_TYPE}.main+xml",
    )
    package.part("word/styles.xml", _STYLES, f"{MAIN}.wordprocessingml.styles+xml")
    package.relations("word/document.xml", relations)
    return package.finish(order, main="word/document.xml", title=title)
