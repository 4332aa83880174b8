"""The fields of an item in a load file: the names that review tools use for the columns of `metadata.csv` and `loadfile.csv`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

FIELDS: Mapping[str, str] = {
    "begin": "BEGDOC", "end": "ENDDOC", "begin_family": "BEGATTACH", "end_family": "ENDATTACH", "parent": "PARENTDOC",
    "custodian": "CUSTODIAN", "all_custodians": "ALLCUSTODIANS", "path": "FILEPATH", "name": "FILENAME", "kind": "DOCTYPE",
    "media_type": "MIMETYPE", "bytes": "FILESIZE", "sha256": "SHA256", "md5": "MD5", "message_id_hash": "MESSAGEIDHASH",
    "modified": "DATEMODIFIED", "from": "FROM", "to": "TO", "cc": "CC", "bcc": "BCC", "subject": "SUBJECT", "date": "DATE",
    "title": "TITLE", "author": "AUTHOR", "pages": "PGCOUNT", "found_pages": "PAGESFOUND", "text_state": "TEXTSTATE", "native": "NATIVEPATH",
    "text": "TEXTPATH", "exceptions": "EXCEPTIONS",
}  # fmt: skip
TITLES = tuple(FIELDS.values())
COLUMNS = tuple(FIELDS)
_VALUES = itemgetter(*COLUMNS)
_OURS = (COLUMNS.index("native"), COLUMNS.index("text"))


def texts(fields: Mapping[str, Any]) -> list[str]:
    """Return the values of one item as text, one for each of COLUMNS."""
    values = zip(COLUMNS, _VALUES(fields), strict=True)
    return [value if type(value) is str else "" if value is None else text(name, value) for name, value in values]


def text(name: str, value: Any) -> str:
    """Return the value as text. The parts of a list are joined by "; ", and a semicolon in a part becomes [U+003B]; the
    names of a path are joined by " / "."""
    if value is None:
        return ""
    if not isinstance(value, list | tuple):
        return str(value)
    if name == "path":
        return " / ".join(map(str, value))
    return "; ".join([str(part).replace(";", "[U+003B]") for part in value])


def cells(fields: Mapping[str, Any], as_text: Sequence[str] | None = None) -> list[str]:
    """Return the values of one item for a DAT, one for each of TITLES; the paths of its files have backslashes, as
    review tools write them. `as_text`: the result of `texts` for the item, if known."""
    row = list(as_text or texts(fields))
    for at in _OURS:
        row[at] = row[at].replace("/", "\\")
    return row
