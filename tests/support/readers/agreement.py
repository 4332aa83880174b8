"""What the generator says of a document against what the worker finds in it."""

import uuid
from dataclasses import dataclass, field
from typing import Any

from unpacking import JOB, MemoryStore, loose_item

from core.places import item_id
from core.records import JobOptions
from dataset_gen.made import Truth
from dataset_gen.truth import manifest as m
from readers.base import Handler, Source
from sql.findings import Item, ItemText
from worker.costs import Budget
from worker.items.findings import Findings
from worker.items.texts import take_text
from worker.items.unpack import Unpacker
from worker.slots.breadcrumb import Breadcrumb

# kind of fault → every code that has to come up in it, its own and its children's
EXPECTED: dict[str, set[str]] = {
    "truncated_zip": {"truncated"},
    "corrupt_docx": {"corrupt"},
    "encrypted_zip": {"encrypted"},
    "encrypted_pdf": {"encrypted"},
    "zip_bomb": {"expansion_limit"},
    "deep_nesting": {"nesting_limit"},
    "hostile_names": {"unsafe_name"},
    "zero_bytes": {"zero_bytes"},
    "truncated_docx": {"truncated"},
    "truncated_pdf": {"truncated"},
    "truncated_jpg": {"truncated"},
    "truncated_eml": {"truncated"},
    "flipped_zip": {"corrupt"},
    "flipped_pdf": {"corrupt"},
    "flipped_xlsx": {"corrupt"},
    "encrypted_7z": {"encrypted"},
    "encrypted_docx": {"encrypted"},
    "encrypted_xlsx": {"encrypted"},
    "encrypted_doc": {"encrypted"},
    "password_pst": set(),
    "docx_as_pdf": set(),
    "jpg_as_txt": set(),
    "exe_as_doc": {"unsupported"},
    "gzip_bomb": {"expansion_limit"},
    "nested_bomb": {"expansion_limit"},
    "open_multipart": {"truncated"},
    "broken_base64": {"corrupt"},
    "late_damage": {"corrupt"},
    "headless_eml": set(),
    "docx_without_text": {"corrupt"},
    "partial_message": {"unsupported"},
    "split_zip": {"unsupported"},
    "split_7z": {"unsupported"},
    "deep_html": set(),
    "wide_html": set(),
    "deep_xml": set(),
    "entity_xml": set(),
    "entity_xlsx": {"corrupt"},
    "looped_pdf": {"corrupt"},
    "nested_multiparts": {"nesting_limit"},
    "padded_base64": set(),
}


@dataclass
class Discovered:
    """Everything the worker finds in one loose file."""

    items: dict[uuid.UUID, Item] = field(default_factory=dict)
    texts: dict[uuid.UUID, tuple[str, ItemText]] = field(default_factory=dict)
    out: Findings = field(default_factory=Findings)

    def codes(self, ident: uuid.UUID) -> list[str]:
        return sorted({e.code.value for e in self.out.exceptions if e.item == ident})

    def counts(self, ident: uuid.UUID) -> tuple[int | None, int] | None:
        """Announced and failed."""
        return next(((c.announced, c.failed) for c in self.out.containers if c.item == ident), None)


def discover(name: bytes, data: bytes) -> Discovered:
    """Identify, unpack and read a loose file as a discovery job does."""
    options = JobOptions()
    found = Discovered()

    def on_item(item: Item, source: Source | None, handler: Handler) -> None:
        found.items[item.id] = item
        found.texts[item.id] = take_text(item, source, handler, options.limits, found.out)

    unpacker = Unpacker(
        job=JOB,
        options=options,
        store=MemoryStore(),
        breadcrumb=Breadcrumb(),
        out=found.out,
        on_item=on_item,
        convicted={},
    )
    loose, source, handler = loose_item(name, data)
    unpacker.emit(loose, source, handler)
    unpacker.open(loose, source, handler, Budget(options.limits, len(data)))
    return found


def differences(name: bytes, data: bytes, truth: Truth) -> list[str]:
    """Where the two disagree, for people to read; [] when they agree on every item, field and exception."""
    found = discover(name, data)
    rows = list(m.each_row(name, truth, 0))
    idents: list[uuid.UUID] = []
    out: list[str] = []
    children = [sum(row[m.PARENT] == at for row in rows) for at in range(len(rows))]
    for at, row in enumerate(rows):
        parent = idents[row[m.PARENT]] if row[m.PARENT] >= 0 else None
        ident = item_id(JOB, parent, row[m.ORDINAL])
        idents.append(ident)
        where = " / ".join(row[m.CONTAINER_PATH])
        if ident not in found.items:
            out.append(f"{where}: missing")
            continue
        for what, wanted, got in _fields(row, children[at], ident, found):
            if wanted != got:
                out.append(f"{where}: {what} is {got!r}, the manifest says {wanted!r}")
    for ident in found.items.keys() - set(idents):
        out.append(f"{' / '.join(found.items[ident].container_path)}: not in the manifest")
    return out


def _fields(row: dict[str, Any], children: int, ident: uuid.UUID, found: Discovered) -> list[tuple[str, Any, Any]]:
    item = found.items[ident]
    text, read = found.texts[ident]
    plain = " ".join(text.split())
    pairs: list[tuple[str, Any, Any]] = [
        ("name", row[m.NAME], item.name),
        ("kind", row[m.KIND], item.kind.value),
        ("media type", row[m.MEDIA_TYPE], item.media_type),
        ("size", row[m.BYTES], item.size),
        ("sha256", row[m.SHA256], item.sha256),
        ("container", row[m.CONTAINER], item.container),
        ("exceptions", sorted(row[m.EXCEPTIONS]), found.codes(ident)),
        ("terms not found", [], [term for term in row[m.TERMS] if term not in plain]),
    ]
    if row[m.PAGES] is not None:
        pairs.append(("pages", row[m.PAGES], read.pages))
    if row[m.FAILED] is not None:
        announced = row[m.ANNOUNCED] if row[m.ANNOUNCED] is not None else None
        counts = found.counts(ident)
        pairs.append(("announced and failed", (announced, row[m.FAILED]), counts))
        if announced is not None:
            pairs.append(("children", announced, children + row[m.FAILED]))
    return pairs
