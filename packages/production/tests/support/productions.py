"""Small productions as the product's own writers make them: a check finds them right until a test forges them."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from production import concordance, edrm, opticon
from production.fields import COLUMNS, TITLES, cells, texts
from production.reports import table, table_head

_LISTED = ("path", "bytes", "md5", "sha256", "begin", "kind", "page")


def md5(data: bytes) -> str:
    """In hex."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True)
class Made:
    """A file of an item."""

    kind: str
    path: str
    data: bytes
    page: int = 0


@dataclass(slots=True)
class Item:
    """What is told of it, and its files."""

    fields: dict[str, Any]
    files: list[Made]


def item(
    number: int, family: tuple[int, int], *, text: bytes = b"", pages: int = 0, data: bytes = b"", **more: Any
) -> Item:
    """An attachment of its family's first, or that. Of items with pages there is no native and no text."""
    begin = f"A{number}"
    files = [
        Made("image", f"VOL001/IMAGES/0001/A{number + n}.tif", b"page %d" % (number + n), n + 1) for n in range(pages)
    ]
    if not pages:
        files.append(Made("native", f"VOL001/NATIVES/0001/{begin}.eml", data))
    if text:
        files.append(Made("text", f"VOL001/TEXT/0001/{begin}.txt", text))
    native = next((file for file in files if file.kind == "native"), None)
    reported = dict.fromkeys(COLUMNS) | {
        "begin": begin, "end": f"A{number + max(1, pages) - 1}", "begin_family": f"A{family[0]}", "end_family": f"A{family[1]}",
        "parent": "" if number == family[0] else f"A{family[0]}", "custodian": "ann", "all_custodians": ["ann", "bob"],
        "path": ["box.pst", "mail"], "name": "mail", "kind": "message", "media_type": "message/rfc822", "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(), "md5": None if native is None else md5(data), "pages": pages or None,
        "native": None if native is None else native.path, "text": f"VOL001/TEXT/0001/{begin}.txt" if text else None,
        "exceptions": ["truncated"],
    }  # fmt: skip
    return Item(reported | more, files)


def write_export(root: Path, items: Sequence[Item], encoding: concordance.Encoding = "utf-8") -> None:
    """As an export does."""
    reported = [one.fields for one in items]
    _write_files(root, items)
    (root / "loadfile.dat").write_bytes(
        concordance.head(TITLES, encoding) + concordance.lines(map(cells, reported), encoding)
    )
    (root / "loadfile.csv").write_bytes(table_head(COLUMNS) + table(map(texts, reported)))
    documents = [edrm.document(one.fields, map(_external, one.files)) for one in items]
    relations = [edrm.relationship(one["parent"], one["begin"]) for one in reported if one["parent"]]
    shown = (edrm.HEAD, *map(str.encode, documents), edrm.MIDDLE, *map(str.encode, relations), edrm.TAIL)
    (root / "loadfile.xml").write_bytes(b"".join(shown))


def write_processed(root: Path, items: Sequence[Item]) -> None:
    """As a processing job or an extraction does."""
    _write_files(root, items)
    reported = [one.fields for one in items]
    (root / "metadata.csv").write_bytes(table_head(COLUMNS) + table(map(texts, reported)))
    lines = (json.dumps(one | {"metadata": {"x": [1]}}, ensure_ascii=False) + "\n" for one in reported)
    (root / "metadata.jsonl").write_text("".join(lines), encoding="utf-8")


def _write_files(root: Path, items: Sequence[Item]) -> None:
    """What the items have, with hashes, and Opticon where that is pages."""
    pages = b""
    for one in items:
        for file in one.files:
            path = root / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.data)
        images = [file for file in one.files if file.kind == "image"]
        if images:
            pages += opticon.lines("VOL001", [(Path(file.path).stem, file.path) for file in images])
    if pages:
        (root / "loadfile.opt").write_bytes(pages)
    rows = [_hashed(one, file) for one in items for file in one.files]
    (root / "hashes.csv").write_bytes(table_head(_LISTED) + table(rows))


def _hashed(one: Item, file: Made) -> tuple[str, ...]:
    size, digest = str(len(file.data)), hashlib.sha256(file.data).hexdigest()
    return file.path, size, md5(file.data), digest, one.fields["begin"], file.kind, str(file.page)


def _external(file: Made) -> edrm.ExternalFile:
    return edrm.ExternalFile(file.kind, file.path, len(file.data), md5(file.data))


def swap(root: Path, name: str, old: str, new: str, times: int = -1) -> None:
    """Forge one file, which has to have what is swapped."""
    path = root / name
    data = path.read_bytes()
    assert old.encode() in data
    path.write_bytes(data.replace(old.encode(), new.encode(), times))
