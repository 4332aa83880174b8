"""PDF documents: text pages, forms, scan-like picture pages, attachments (ISO 32000-1); encrypted ones by reportlab.

Page streams are not compressed. JPEG streams go in as they are."""

from __future__ import annotations

import hashlib
import io
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from dataset_gen.made import Made, Order, branch, placed
from dataset_gen.material.people import file_stem
from dataset_gen.material.text import prose
from dataset_gen.rng import Dice
from readers.errors import ExceptionCode
from readers.records import Kind

_HEAD = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"


def text_string(text: str) -> bytes:
    """Return a text string (§7.9.2.2): unchanged where it is plain, else UTF-16 in hexadecimal digits."""
    if text.isascii() and not set(text) & set("()\\"):
        return b"(" + text.encode("ascii") + b")"
    return b"<feff" + text.encode("utf-16-be").hex().encode("ascii") + b">"


@dataclass(slots=True)
class PdfObjects:
    """Objects by number, which begin at 1; a number may be reserved before its object is known."""

    bodies: list[bytes] = field(default_factory=list)

    def reserve(self) -> int:
        """Reserve a number for an object that is put later."""
        self.bodies.append(b"null")
        return len(self.bodies)

    def put(self, number: int, body: bytes) -> None:
        """Add the object of a reserved number."""
        self.bodies[number - 1] = body

    def add(self, body: bytes) -> int:
        """Add the next object; return its number."""
        self.bodies.append(body)
        return len(self.bodies)

    def stream(self, entries: bytes, data: bytes) -> int:
        """Add a stream object; `entries` are those of its dictionary without the length, which is that of the stored
        bytes."""
        return self.add(b"<<%b/Length %d>>stream\n%b\nendstream" % (entries, len(data), data))

    def finish(self, root: int, info: int) -> bytes:
        """Return the whole file; its id follows from the sizes of its objects and from the object `info`."""
        pieces = [_HEAD]
        at = len(_HEAD)
        table = [b"0000000000 65535 f \n"]
        for number, body in enumerate(self.bodies, start=1):
            piece = b"%d 0 obj\n%b\nendobj\n" % (number, body)
            table.append(b"%010d 00000 n \n" % at)
            pieces.append(piece)
            at += len(piece)
        count = len(table)
        rows = b"".join(table)
        ident = hashlib.blake2b(rows + self.bodies[info - 1], digest_size=16).hexdigest().encode("ascii")
        trailer = b"<</Size %d/Root %d 0 R/Info %d 0 R/ID[<%b><%b>]>>" % (count, root, info, ident, ident)
        end = b"xref\n0 %d\n%btrailer\n%b\nstartxref\n%d\n%%%%EOF\n" % (count, rows, trailer, at)
        return b"".join((*pieces, end))


_LINES = 54
_PAGE_BYTES = 4500  # a text page with its objects
_PASSWORD = "edbench"
_FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
_QUOTED = str.maketrans({"(": "\\(", ")": "\\)", "\\": "\\\\"})


def build(order: Order) -> Made:
    """Text pages and pictures, or nothing but scan-like pictures; one in twenty has attachments, as many are forms, whose
    terms are the values of fields."""
    dice = order.dice
    room = order.size - 1200
    attached: list[tuple[str, Made]] = []
    if room > 25_000 and dice.chance(0.05):
        made = order.child("xlsx" if dice.chance(0.5) else "txt", 900, min(12_000, room // 4))
        ext = "xlsx" if "sheet" in made.truth.media_type else "txt"
        attached.append((f"{file_stem(dice)[:60]}.{ext}", made))
        room -= len(made.data)
    scanned = room > 60_000 and not order.terms and dice.chance(0.25)
    text_pages = 0 if scanned else max(1, min(room // _PAGE_BYTES, dice.between(1, 24)))
    rest = room - text_pages * _PAGE_BYTES
    each = dice.between(40_000, 110_000)
    count = max(1 if scanned else 0, min(rest // each, 150))
    pictures = [order.child("jpg", i, rest // count) for i in range(count)]
    fields = _values(order) if text_pages and dice.chance(0.05) else []
    pages = _text_pages(order, text_pages, terms=() if fields else order.terms)
    data = _Document(dice, attached).whole(pages, [picture.data for picture in pictures], fields)
    made = branch(
        data,
        "application/pdf",
        own=(*pages, *(value.encode() for _, value in fields), *(picture.truth.content for picture in pictures)),
        children=placed(Kind.EMBEDDED_OBJECT, attached),
        pages=text_pages + count,
        terms=order.terms,
    )
    if text_pages and count:  # no reader can know that no words are in its pictures
        made.truth.exceptions = (ExceptionCode.UNSUPPORTED.value,)
    return made


def _text_pages(order: Order, count: int, *, terms: Sequence[str]) -> list[bytes]:
    """Return the text of each page: lines in parentheses, each with the operator that shows it and starts a new
    line."""
    lines = [f"{term}." for term in terms] if count else []
    lines += prose().lines(order.dice, count * 3600, accented=True) if count else []
    joined = [lines[page * _LINES : (page + 1) * _LINES] for page in range(count)]
    return ["".join([f"({line})Tj T*\n" for line in _quoted(shown)]).encode("cp1252") for shown in joined]


def _quoted(lines: list[str]) -> list[str]:
    whole = "\n".join(lines)
    return whole.translate(_QUOTED).split("\n") if "(" in whole or "\\" in whole else lines


def _values(order: Order) -> list[tuple[str, str]]:
    """Names and values of the fields of a form: the terms, then whatever people fill in."""
    dice = order.dice
    filled = [f"{term}." for term in order.terms] + [prose().title(dice, 3) for _ in range(dice.between(2, 6))]
    return [(f"field{number}", value) for number, value in enumerate(filled)]


@dataclass(slots=True)
class _Document:
    """Pages and the other entries of the catalog."""

    dice: Dice
    attached: list[tuple[str, Made]]
    objects: PdfObjects = field(default_factory=PdfObjects)

    def whole(self, pages: list[bytes], pictures: list[bytes], fields: Sequence[tuple[str, str]]) -> bytes:
        """Return the file: text pages, of which the first has the form, then a page for each picture."""
        objects = self.objects
        tree, font = objects.reserve(), objects.add(_FONT)
        resources = b"/Resources<</Font<</F1 %d 0 R>>>>" % font
        widgets = [self._field(name, value, i) for i, (name, value) in enumerate(fields)]
        kids: list[int] = []
        for text in pages:
            content = objects.stream(b"", b"BT /F1 9 Tf 14 TL 50 790 Td\n%bET" % text)
            annotations = b"/Annots[%b]" % _references(widgets) if widgets and not kids else b""
            kids.append(self._page(tree, content, resources + annotations))
        kids += [self._picture_page(tree, picture) for picture in pictures]
        objects.put(tree, b"<</Type/Pages/Count %d/Kids [ %b ]>>" % (len(kids), _references(kids)))
        catalog = b"<</Type/Catalog/Pages %d 0 R" % tree
        if widgets:
            form = b"/DR<</Font<</F1 %d 0 R>>>>/DA(/F1 9 Tf 0 g)/NeedAppearances true" % font
            catalog += b"/AcroForm<</Fields[%b]%b>>" % (_references(widgets), form)
        if self.attached:
            catalog += b"/Names<</EmbeddedFiles<</Names[%b]>>>>" % b"".join(self._files())
        return objects.finish(objects.add(catalog + b">>"), self._information())

    def _page(self, tree: int, content: int, more: bytes) -> int:
        page = b"<</Type/Page/Parent %d 0 R/MediaBox[0 0 595 842]/Contents %d 0 R%b>>" % (tree, content, more)
        return self.objects.add(page)

    def _picture_page(self, tree: int, jpeg: bytes) -> int:
        """Add a page filled with one JPEG."""
        place = jpeg.index(b"\xff\xc0\0\x11\x08")
        height, width = struct.unpack_from(">HH", jpeg, place + 5)
        kind = (
            b"/Type/XObject/Subtype/Image/Width %d/Height %d/ColorSpace/DeviceRGB/BitsPerComponent 8/Filter/DCTDecode"
        )
        image = self.objects.stream(kind % (width, height), jpeg)
        content = self.objects.stream(b"", b"q 505 0 0 702 45 70 cm /Im1 Do Q")
        return self._page(tree, content, b"/Resources<</XObject<</Im1 %d 0 R>>>>" % image)

    def _field(self, name: str, value: str, number: int) -> int:
        """Add a text field (§12.7.4.3) and its widget in one, at the foot of a page, over its text."""
        low = 20 + 22 * number
        place = b"/Rect[50 %d 350 %d]/F 4/DA(/F1 9 Tf 0 g)" % (low, low + 18)
        shown = value.translate(_QUOTED).encode("cp1252", "replace")
        look = self.objects.stream(
            b"/Type/XObject/Subtype/Form/BBox[0 0 300 18]", b"/Tx BMC q BT /F1 9 Tf 2 5 Td (%b)Tj ET Q EMC" % shown
        )
        return self.objects.add(
            b"<</Type/Annot/Subtype/Widget/FT/Tx/T%b/V%b%b/AP<</N %d 0 R>>>>"
            % (text_string(name), text_string(value), place, look)
        )

    def _files(self) -> list[bytes]:
        """Embedded files (§7.11.4) for the catalog's name tree, in this order."""
        out = []
        for number, (name, made) in enumerate(self.attached):
            about = b"/Type/EmbeddedFile/Params<</Size %d>>" % len(made.data)
            stream = self.objects.stream(about, made.data)
            text = text_string(name)
            files = b"<</Type/Filespec/F%b/UF%b/EF<</F %d 0 R/UF %d 0 R>>>>" % (text, text, stream, stream)
            out.append(b"(%06d) %d 0 R " % (number, self.objects.add(files)))
        return out

    def _information(self) -> int:
        dice = self.dice
        title, author = prose().title(dice, any_script=True), f"Author {dice.below(400)}"
        when = b"D:20%02d%02d%02d09%02d00Z" % (
            dice.between(10, 23), dice.between(1, 12), dice.between(1, 28), dice.below(60),
        )  # fmt: skip
        about = b"<</Title%b/Author%b/Producer(Edbench)/CreationDate(%b)>>"
        return self.objects.add(about % (text_string(title), text_string(author), when))


def _references(numbers: list[int]) -> bytes:
    return b" ".join([b"%d 0 R" % number for number in numbers])


def build_encrypted(order: Order) -> Made:
    """Two pages of text that cannot be read without a password; its terms are not findable.

    `invariant=1` takes date and id out of reportlab's hands, and no stream is compressed by it."""
    from reportlab.lib.pagesizes import A4  # a tenth of a second, for one fault
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.pdfgen.canvas import Canvas

    encryption = StandardEncryption(_PASSWORD, ownerPassword=_PASSWORD, strength=128)
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=A4, pageCompression=0, invariant=1, encrypt=encryption)
    canvas.setTitle(prose().title(order.dice))
    lines = prose().lines(order.dice, 7200)
    own: list[bytes] = []
    for page in range(2):
        text = canvas.beginText(50, 790)
        text.setFont("Helvetica", 9, leading=14)
        shown = lines[page * _LINES : (page + 1) * _LINES]
        text.textLines(shown)
        own.append("\n".join(shown).encode())
        canvas.drawText(text)
        canvas.showPage()
    canvas.save()
    made = branch(out.getvalue(), "application/pdf", own=own)
    return made.spoiled("encrypted_pdf", ExceptionCode.ENCRYPTED)
