"""What docx, xlsx and pptx have in common: the package (ECMA-376 part 2) around their parts."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.records import Kind
from dataset_gen.formats.order import Order
from dataset_gen.made import Made, Placed, branch
from dataset_gen.zipwriter import ZipWriter

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
}


@dataclass(slots=True)
class Package:
    """Parts in order; pictures and embedded documents become children."""

    media_type: str  # of the whole file
    folder: str  # word, xl, ppt
    parts: list[tuple[str, bytes, str | None]] = field(default_factory=list)  # name, bytes, content type
    objects: list[tuple[str, Made]] = field(default_factory=list)

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
        self.objects.append((f"{self.folder}/{name}", made))
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
        for position, (name, made) in enumerate(self.objects):
            out.add(name.encode(), made.data, store=True)
            own = name.rpartition("/")[2].encode()
            children.append(Placed(name=own, ordinal=position, kind=Kind.EMBEDDED_OBJECT, truth=made.truth))
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
