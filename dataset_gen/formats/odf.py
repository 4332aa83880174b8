"""OpenDocument text documents and spreadsheets (OASIS OpenDocument 1.3)."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

from dataset_gen.formats.ooxml import split_size
from dataset_gen.formats.plain import RecordPool, make_pool
from dataset_gen.made import Made, Order, branch, placed
from dataset_gen.material.text import prose
from dataset_gen.packing import ZipWriter
from dataset_gen.rng import Dice
from readers.records import Kind

ODT = "application/vnd.oasis.opendocument.text"
ODS = "application/vnd.oasis.opendocument.spreadsheet"
_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_NAMES = (
    " ".join(
        f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for short, name in (
            ("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"), ("style", "style"),
            ("meta", "meta"), ("svg", "svg-compatible"),
        )
    )
    + ' xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/" office:version="1.3"'
)  # fmt: skip
_MANIFEST = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
_TEXT_RATIO = 2.4  # characters for each packed byte
_ROW_BYTES = 80  # packed bytes of one row, about
_ROWS_A_SHEET = 4000
_POOL_BYTES = 1_500_000
_SHOWN = 194  # characters of text in a thousand of rows
_PICTURE = (
    '<text:p><draw:frame draw:name="Image{n}" text:anchor-type="as-char" svg:width="12cm" svg:height="8cm">'
    '<draw:image xlink:href="{name}" xlink:type="simple" xlink:show="embed" xlink:actuate="onLoad"/></draw:frame>'
    "</text:p>"
)


@dataclass(slots=True)
class _Package:
    """The members of the archive except `mimetype` and the manifest, in order."""

    media_type: str
    parts: list[tuple[str, bytes]] = field(default_factory=list)
    pictures: list[tuple[str, Made]] = field(default_factory=list)

    def part(self, name: str, root: str, content: str) -> None:
        """Add an XML part."""
        text = f"{_XML}<office:{root} {_NAMES}>{content}</office:{root}>"
        self.parts.append((name, text.encode("utf-8")))

    def picture(self, order: Order, number: int, size: int) -> str:
        """Add a picture of about that size; return its name in the package."""
        made = order.child("jpg", number, size)
        name = f"Pictures/{order.dice.noise(12).hex().upper()}.jpg"
        self.pictures.append((name, made))
        return name

    def finish(self, order: Order, title: str) -> Made:
        """Build the file."""
        self.part("meta.xml", "document-meta", _meta(order.dice, title))
        out = ZipWriter()
        out.add(b"mimetype", self.media_type.encode(), store=True)
        for name, made in self.pictures:
            out.add(name.encode(), made.data, store=True)
        for name, data in self.parts:
            out.add(name.encode(), data)
        out.add(b"META-INF/manifest.xml", self._manifest().encode())
        return branch(
            out.finish(),
            self.media_type,
            own=[data for _, data in self.parts],
            children=placed(Kind.EMBEDDED_OBJECT, ((name.rpartition("/")[2], made) for name, made in self.pictures)),
            characters=order.dice.characters,
            terms=order.terms,
        )

    def _manifest(self) -> str:
        entries = [("/", self.media_type)]
        entries += [(name, "text/xml") for name, _ in self.parts]
        entries += [(name, "image/jpeg") for name, _ in self.pictures]
        lines = "".join(
            f'<manifest:file-entry manifest:full-path="{name}" manifest:media-type="{kind}"/>' for name, kind in entries
        )
        return (
            f'{_XML}<manifest:manifest xmlns:manifest="{_MANIFEST}" manifest:version="1.3">{lines}</manifest:manifest>'
        )


def _meta(dice: Dice, title: str) -> str:
    when = f"20{dice.between(15, 23)}-{dice.between(1, 12):02d}-{dice.between(1, 28):02d}T09:{dice.below(60):02d}:00"
    return (
        f"<office:meta><meta:generator>Edbench</meta:generator><dc:title>{title}</dc:title>"
        f"<meta:initial-creator>Author {dice.below(400)}</meta:initial-creator>"
        f"<meta:creation-date>{when}</meta:creation-date></office:meta>"
    )


_STYLES = (
    '<office:styles><style:style style:name="Standard" style:family="paragraph"/></office:styles>'
    '<office:automatic-styles><style:page-layout style:name="pm1"/></office:automatic-styles>'
    '<office:master-styles><style:master-page style:name="Standard" style:page-layout-name="pm1">'
    "<style:footer><text:p>{footer}</text:p></style:footer></style:master-page></office:master-styles>"
)


def build_odt(order: Order) -> Made:
    """Headings and paragraphs, a footnote, a table, a footer; big ones have pictures."""
    dice = order.dice
    package = _Package(ODT)
    packed, sizes = split_size(order, text_most=30_000, picture=80_000)
    title = prose().title(dice, any_script=True)
    paragraphs = prose().paragraphs(dice, max(200, int((packed - 2000) * _TEXT_RATIO)), any_script=True)
    note = f'<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body><text:p>{title}</text:p></text:note-body></text:note>'
    body = [f'<text:h text:outline-level="1">{title}</text:h>']
    body += [f"<text:p>{term}.</text:p>" for term in order.terms]
    if dice.chance(0.3):
        paragraphs[0] += note
    body += [f"<text:p>{text}</text:p>" for text in paragraphs]
    for number, size in enumerate(sizes, start=1):
        name = package.picture(order, number, size)
        body.insert(1 + dice.below(len(body)), _PICTURE.format(n=number, name=name))
    if dice.chance(0.3):
        body.append(_table("Table1", _rows(dice, 8, ())))
    package.part(
        "content.xml", "document-content", f"<office:body><office:text>{''.join(body)}</office:text></office:body>"
    )
    package.part("styles.xml", "document-styles", _STYLES.format(footer=prose().title(dice)))
    return package.finish(order, title)


def build_ods(order: Order) -> Made:
    """Build as many rows as the requested size needs, over several sheets of which the last is hidden; big workbooks
    have a picture."""
    dice = order.dice
    package = _Package(ODS)
    packed = order.size - 1600
    room = packed // 2 if packed > 60_000 and dice.chance(0.25) else 0
    rows = max(3, (packed - room) // _ROW_BYTES)
    counts = [min(_ROWS_A_SHEET, rows - start) for start in range(0, rows, _ROWS_A_SHEET)]
    title = prose().title(dice, any_script=True)
    sheets = [
        _table(f"Sheet{number}", _rows(dice, count, order.terms if number == len(counts) else ()))
        for number, count in enumerate(counts, start=1)
    ]
    if room:
        shapes = _PICTURE.format(n=1, name=package.picture(order, 1, room))
        shapes = shapes.removeprefix("<text:p>").removesuffix("</text:p>").replace(' text:anchor-type="as-char"', "")
        first, rest = sheets[0].split(">", 1)
        sheets[0] = f"{first}><table:shapes>{shapes}</table:shapes>{rest}"
    hidden = (
        '<office:automatic-styles><style:style style:name="ta1" style:family="table">'
        '<style:table-properties table:display="false"/></style:style></office:automatic-styles>'
    )
    if len(sheets) > 1:
        sheets[-1] = sheets[-1].replace("<table:table ", '<table:table table:style-name="ta1" ', 1)
    body = f"<office:body><office:spreadsheet>{''.join(sheets)}</office:spreadsheet></office:body>"
    package.part("content.xml", "document-content", hidden + body)
    return package.finish(order, title)


def _table(name: str, rows: str) -> str:
    return (
        f'<table:table table:name="{name}"><table:table-column table:number-columns-repeated="4"/>{rows}</table:table>'
    )


_HEAD_ROW = (
    "<table:table-row>"
    + "".join(
        f'<table:table-cell office:value-type="string"><text:p>{t}</text:p></table:table-cell>'
        for t in ("Number", "Amount", "Share", "Remark")
    )
    + "</table:table-row>"
)


def _row(dice: Dice, remark: str) -> str:
    """Three numbers and a remark."""
    n = dice.below(1_000_000_000)
    amount, share = n % 9_999_991 / 100, n % 997 / 1000
    return (
        f'<table:table-row><table:table-cell office:value-type="float" office:value="{n}"><text:p>{n}</text:p>'
        f'</table:table-cell><table:table-cell office:value-type="float" office:value="{amount}"><text:p>{amount}'
        f'</text:p></table:table-cell><table:table-cell office:value-type="percentage" office:value="{share}">'
        f'<text:p>{share}</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>{remark}'
        "</text:p></table:table-cell></table:table-row>"
    )


@functools.cache
def _pool() -> RecordPool:
    return make_pool("ods", _POOL_BYTES, lambda dice, _: _row(dice, dice.pick(prose().plain)))


def _rows(dice: Dice, count: int, terms: tuple[str, ...]) -> str:
    """Return a head, a row for each term and about `count` others."""
    pool = _pool()
    average = len(pool.data) // (len(pool.starts) - 1)
    own = "".join(_row(dice, remark) for remark in (*terms, f"Sheet {dice.below(1 << 40)}"))
    pieces = b"".join(pool.take(dice, count * average)).decode("utf-8")
    dice.characters += len(pieces) * _SHOWN // 1000
    return f"{_HEAD_ROW}{own}{pieces}"
