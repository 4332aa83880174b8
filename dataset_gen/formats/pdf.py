"""PDF documents through reportlab: text pages, scan-like picture pages, attachments, encryption.

`invariant=1` takes date and id out of reportlab's hands; page streams are left uncompressed, because reportlab
would compress them with zlib (see `dataset_gen.compress`). JPEG streams go in as they are.
"""

from __future__ import annotations

import io
import struct
from typing import Any

from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfbase.pdfdoc import (
    PDFArray,
    PDFDictionary,
    PDFImageXObject,
    PDFName,
    PDFStream,
    PDFString,
)
from reportlab.pdfgen.canvas import Canvas

from core.records import Kind
from dataset_gen.formats.order import Order
from dataset_gen.made import Made, Placed, branch
from dataset_gen.people import file_stem
from dataset_gen.text import prose

_LINES = 54
_PAGE_BYTES = 4500  # a text page with its objects
_PASSWORD = "edbench"


def build(order: Order) -> Made:
    """Text pages and pictures, or nothing but scan-like pictures; one in twenty has attachments."""
    dice = order.dice
    room = order.size - 1500
    children: list[Placed] = []
    attached: list[tuple[str, bytes]] = []
    if room > 25_000 and dice.chance(0.05):
        made = order.child("xlsx" if dice.chance(0.5) else "txt", 900, min(12_000, room // 4))
        ext = "xlsx" if "sheet" in made.truth.media_type else "txt"
        name = f"{file_stem(dice)[:60]}.{ext}"
        attached.append((name, made.data))
        children.append(Placed(name=name.encode(), ordinal=0, kind=Kind.EMBEDDED_OBJECT, truth=made.truth))
        room -= len(made.data)
    scanned = room > 60_000 and not order.terms and dice.chance(0.25)
    text_pages = 0 if scanned else max(1, min(room // _PAGE_BYTES, dice.between(1, 24)))
    rest = room - text_pages * _PAGE_BYTES
    each = dice.between(40_000, 110_000)
    count = max(1 if scanned else 0, min(rest // each, 150))
    pictures = [order.child("jpg", i, rest // count).data for i in range(count)]
    data, own = _write(order, text_pages, pictures, attached)
    return branch(
        data,
        "application/pdf",
        own=(*own, *pictures),
        children=tuple(children),
        pages=text_pages + count,
        terms=order.terms,
    )


def build_encrypted(order: Order) -> Made:
    """Two pages of text that cannot be read without a password; its terms are not findable."""
    encryption = StandardEncryption(_PASSWORD, ownerPassword=_PASSWORD, strength=128)
    data, own = _write(order, 2, [], [], encryption)
    return branch(data, "application/pdf", own=own).spoiled("encrypted_pdf", "encrypted")


def _write(
    order: Order,
    text_pages: int,
    pictures: list[bytes],
    attached: list[tuple[str, bytes]],
    encryption: StandardEncryption | None = None,
) -> tuple[bytes, list[bytes]]:
    """The file, and its lines of text."""
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=A4, pageCompression=0, invariant=1, encrypt=encryption)
    canvas.setTitle(prose().title(order.dice))
    canvas.setAuthor(f"Author {order.dice.below(400)}")
    lines = [f"{term}." for term in order.terms] if text_pages else []
    lines += prose().lines(order.dice, text_pages * 3600)
    own: list[bytes] = []
    for page in range(text_pages):
        text: Any = canvas.beginText(50, 790)
        text.setFont("Helvetica", 9, leading=14)
        shown = lines[page * _LINES : (page + 1) * _LINES]
        # What textLine() would add; it spends most of the time on escaping, and these lines hold nothing to escape.
        text._code += [f"({line}) Tj T*" for line in shown]
        own.append("\n".join(shown).encode())
        canvas.drawText(text)
        canvas.showPage()
    for number, picture in enumerate(pictures):
        _picture_page(canvas, f"picture{number}", picture)
    if attached:
        _attach(canvas, attached)
    canvas.save()
    return out.getvalue(), own


def _picture_page(canvas: Any, name: str, jpeg: bytes) -> None:
    """A page filled with one JPEG, its bytes taken over as they are.

    `Canvas.drawImage` would decode the picture only to find a name for it, and write it as ASCII-85.
    """
    place = jpeg.index(b"\xff\xc0")
    image: Any = PDFImageXObject(name)
    image.height, image.width = struct.unpack(">HH", jpeg[place + 5 : place + 9])
    image.bitsPerComponent, image.colorSpace, image.mask = 8, "DeviceRGB", None
    image._filters, image.streamContent = ("DCTDecode",), jpeg
    document = canvas._doc
    register = document.getXObjectName(name)
    image.name = name
    canvas._setXObjects(image)
    document.Reference(image, register)
    document.addForm(name, image)
    canvas._currentPageHasImages = 1
    canvas.saveState()
    canvas.transform(500, 0, 0, 700, 45, 70)
    canvas._code.append(f"/{register} Do")
    canvas.restoreState()
    canvas.showPage()


def _attach(canvas: Any, attached: list[tuple[str, bytes]]) -> None:
    """Embedded files (ISO 32000-1 §7.11.4) in the catalog's name tree, in this order."""
    document = canvas._doc
    names: list[object] = []
    for number, (name, data) in enumerate(attached):
        about = PDFDictionary({"Type": PDFName("EmbeddedFile"), "Params": PDFDictionary({"Size": len(data)})})
        stream = document.Reference(PDFStream(about, data, filters=[]))
        text = PDFString(name, enc="auto")
        files = PDFDictionary({"F": stream, "UF": stream})
        specification = PDFDictionary({"Type": PDFName("Filespec"), "F": text, "UF": text, "EF": files})
        names += [PDFString(f"{number:06d}"), document.Reference(specification)]
    tree = PDFDictionary({"Names": PDFArray(names)})
    document.Catalog.Names = document.Reference(PDFDictionary({"EmbeddedFiles": document.Reference(tree)}))
