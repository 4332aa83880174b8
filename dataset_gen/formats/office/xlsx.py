"""Spreadsheets: sheets of numbers and words with inline strings (ECMA-376 part 1, §12 and §18)."""

from __future__ import annotations

from dataset_gen.formats.office.ooxml import MAIN, OFFICE, Package, add_object
from dataset_gen.made import Made, Order
from dataset_gen.material.text import prose
from dataset_gen.rng import Dice

MEDIA_TYPE = f"{MAIN}.spreadsheetml.sheet"
_S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_ROW_BYTES = 70  # packed bytes of one row, about
_ROWS_A_SHEET = 3000
_EMBEDDING_SHARE = 0.04  # of the workbooks that are big enough
_OBJECT = '<oleObjects><oleObject progId="Package" dvAspect="DVASPECT_ICON" shapeId="1" r:id="rId2"/></oleObjects>'


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


def build(order: Order) -> Made:
    """As many rows as the bytes wanted need, over several sheets; big ones have a picture."""
    dice = order.dice
    package = Package(MEDIA_TYPE, "xl")
    packed = order.size - 2600
    picture = packed // 2 if packed > 60_000 and dice.chance(0.25) else 0
    embedded = 6_000 if packed > 20_000 and dice.chance(_EMBEDDING_SHARE) else 0
    rows = max(3, (packed - picture - embedded) // _ROW_BYTES)
    sheets = [min(_ROWS_A_SHEET, rows - start) for start in range(0, rows, _ROWS_A_SHEET)]
    names = "".join(f'<sheet name="Sheet{i}" sheetId="{i}" r:id="rId{i}"/>' for i in range(1, len(sheets) + 1))
    package.part(
        "xl/workbook.xml",
        f'<workbook xmlns="{_S}" xmlns:r="{OFFICE}"><sheets>{names}</sheets></workbook>',
        f"{MEDIA_TYPE}.main+xml",
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
            drawing += _OBJECT
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
