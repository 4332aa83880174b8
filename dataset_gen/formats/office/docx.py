"""Word documents: text, pictures, embedded documents and OLE packages (ECMA-376 part 1, §11 and §17)."""

from __future__ import annotations

from dataset_gen.formats.office.ooxml import MAIN, OFFICE, Package, add_object, split_size
from dataset_gen.formats.order import Order
from dataset_gen.made import Made
from dataset_gen.material.text import prose

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
