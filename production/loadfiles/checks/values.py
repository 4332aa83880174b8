"""Whether two load files say the same of a record, each in its manner of writing (docs/production.md, "Load files")."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

# What a DAT and an EDRM file call the columns of a table: as documented, not as the writers have it.
TITLES: Mapping[str, str] = {
    "begin": "BEGDOC", "end": "ENDDOC", "begin_family": "BEGATTACH", "end_family": "ENDATTACH", "parent": "PARENTDOC",
    "custodian": "CUSTODIAN", "all_custodians": "ALLCUSTODIANS", "path": "FILEPATH", "name": "FILENAME", "kind": "DOCTYPE",
    "media_type": "MIMETYPE", "bytes": "FILESIZE", "sha256": "SHA256", "md5": "MD5", "message_id_hash": "MESSAGEIDHASH",
    "modified": "DATEMODIFIED", "from": "FROM", "to": "TO", "cc": "CC", "bcc": "BCC", "subject": "SUBJECT", "date": "DATE",
    "title": "TITLE", "author": "AUTHOR", "pages": "PGCOUNT", "found_pages": "PAGESFOUND", "text_state": "TEXTSTATE",
    "native": "NATIVEPATH", "text": "TEXTPATH", "exceptions": "EXCEPTIONS",
}  # fmt: skip
PATHS = frozenset({"native", "text"})
_APOSTROPHE = re.compile("^'(?=[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20])")  # that keeps a spreadsheet from running it
_NEWLINE = re.compile("\r\n|\r")
# What one of the formats cannot hold: halves of surrogate pairs, and characters that XML lacks, which a DAT spells out.
_LOST = re.compile(
    "\\\\u(?:d[89a-f][0-9a-f]{2}|fff[d-f])|\\[U\\+00(?:00|0B|0C|14|1C|1D|1E)\\]"
    "|[^\t\n\r\x20-\ud7ff\ue000-\ufffc\U00010000-\U0010ffff]"
)
_MARKS = re.compile(
    "[þ®\x85\u2028\u2029]"
)  # that a DAT spells out, because readers take them for a delimiter or a line's end


def differing(
    one: Mapping[str, str], other: Mapping[str, str], columns: Iterable[str], *, narrow: bool = False
) -> list[str]:
    """The columns whose values are not the same. `narrow`: one of the files is Windows-1252, and has escapes for the
    characters that this lacks."""
    return [
        name
        for name in columns
        if (mine := one.get(name) or "") != (theirs := other.get(name) or "")
        and _plain(name, mine, narrow) != _plain(name, theirs, narrow)
    ]


def _plain(name: str, value: str, narrow: bool) -> str:
    """A value without what is peculiar to one format."""
    if name in PATHS:
        return value.replace("\\", "/")
    if name == "path":  # a CSV of before 27 November 2026 parts what lies in each other as a list
        value = value.replace("; ", " / ")
    value = value.replace("[U+003B]", ";")  # nor did it name a semicolon inside of a value
    value = _LOST.sub("?", _NEWLINE.sub("\n", _APOSTROPHE.sub("", value)))
    value = _MARKS.sub(lambda found: f"[U+{ord(found[0]):04X}]", value)
    return value.encode("cp1252", "backslashreplace").decode("cp1252") if narrow else value
