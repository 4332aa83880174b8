"""The fields of an item in a load file: how review tools call what `metadata.csv` and `loadfile.csv` tell."""

from __future__ import annotations

from collections.abc import Mapping
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
_OF_OURS = ("native", "text")  # written with backslashes, as review tools have them
_JOINS = {"path": " / "}  # what a container lies in comes first


def cells(told: Mapping[str, Any]) -> list[str]:
    """The values of one item, one for each of TITLES. Lists are joined by "; ", the path of one in containers by " / "."""
    return [
        value if type(value) is str and name not in _OF_OURS else _cell(name, value)
        for name, value in ((name, told[name]) for name in FIELDS)
    ]


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return _JOINS.get(name, "; ").join(map(str, value))
    return str(value).replace("/", "\\") if name in _OF_OURS else str(value)
