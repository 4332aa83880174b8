"""EDRM XML 1.2: documents with their fields and files, and their attachment relationships."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from production.fields import COLUMNS, FIELDS, texts

_MESSAGES = frozenset({"message/rfc822", "application/vnd.ms-outlook"})  # everything else is a File
# EDRM's names of its predefined fields; a tool that maps fields by these names maps no others by itself.
_PREDEFINED = {
    "name": "#FileName", "bytes": "#FileSize", "modified": "#DateModified", "from": "#From", "to": "#To", "cc": "#CC",
    "bcc": "#BCC", "subject": "#Subject",
}  # fmt: skip
# For a message, if its date is a day and a time in UTC: it may be a day alone, or invalid.
_SENT = {"date": "#DateSent"}
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", re.ASCII)
_NUMBERS = frozenset({"bytes", "pages"})
# The characters of XML 1.0, the others become U+FFFD.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TO_ESCAPE = re.compile('[&<>"\n\r\t]')
# Characters that an attribute takes unchanged, as in most values: neither of the two above matches.
_PLAIN = re.compile('[^&<>"\x00-\x1f\ud800-\udfff\ufffe\uffff]*')
_ELSEWHERE = frozenset({"begin", "native", "text", "custodian", "path", "parent", "media_type"})  # not among its tags
_BEGIN, _TYPE, _CUSTODIAN = map(COLUMNS.index, ("begin", "media_type", "custodian"))


class ExternalFile(NamedTuple):
    """One file of a document."""

    kind: str  # native, text or image
    path: str  # relative, with slashes
    size: int
    md5: str


HEAD = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n<Root MajorVersion="1" MinorVersion="2" DataInterchangeType="Update">\n'
    b"<Batch><Documents>\n"
)
MIDDLE = b"</Documents><Relationships>\n"  # between the documents and the relationships
TAIL = b"</Relationships></Batch></Root>\n"


def document(fields: Mapping[str, Any], files: Iterable[ExternalFile], as_text: Sequence[str] | None = None) -> str:
    """Return one document with the values of FIELDS; `as_text`: the result of `texts` for it, if known."""
    values = as_text or texts(fields)
    message = fields["media_type"] in _MESSAGES
    begins = _TAGS_SENT if message and _MOMENT.fullmatch(str(fields["date"])) is not None else _TAGS
    # Nearly always nothing needs escaping: match all values once, without a call for each.
    plain = _PLAIN.fullmatch("".join(values)) is not None
    attribute, element = ('"{}"'.format, str) if plain else (_attribute, lambda value: escape(_xml(value)))
    tags = [f"{tag}{attribute(value)}/>" for tag, value in zip(begins, values, strict=True) if tag and value]
    return (
        f'<Document DocID={attribute(values[_BEGIN])} DocType="{"Message" if message else "File"}"'
        f" MimeType={attribute(values[_TYPE])}>"
        f"<Tags>{''.join(tags)}</Tags><Files>{''.join(map(_file, files))}</Files>"
        f"<Locations><Location><Custodian>{element(values[_CUSTODIAN])}</Custodian>"
        f"<LocationURI>{element(' / '.join(map(str, fields['path'])))}</LocationURI></Location></Locations></Document>\n"
    )


def _file(file: ExternalFile) -> str:
    folder, _, name = file.path.rpartition("/")
    return (
        f"<File FileType={_titled(file.kind)}><ExternalFile FilePath={_backslashed(folder)} FileName={_attribute(name)}"
        f' FileSize="{file.size}" Hash="{file.md5}" HashType="MD5"/></File>'
    )


@lru_cache(64)
def _titled(kind: str) -> str:
    return f'"{kind.title()}"'


@lru_cache(64)
def _backslashed(folder: str) -> str:
    return _attribute(folder.replace("/", "\\"))


def relationship(parent: str, child: str) -> str:
    """Return the relationship that attaches one document to another."""
    return f'<Relationship Type="Attachment" ParentDocID={_quoted(parent)} ChildDocID={_quoted(child)}/>\n'


def _xml(value: str) -> str:
    return _NO_XML.sub("\ufffd", value)


def _attribute(value: str) -> str:
    return f'"{value}"' if _PLAIN.fullmatch(value) is not None else _quoted(_xml(value))


def _quoted(value: str) -> str:
    if _TO_ESCAPE.search(value) is None:
        return f'"{value}"'
    return quoteattr(value, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _tags(names: Mapping[str, str], dates: Container[str]) -> tuple[str, ...]:
    """Return the start of the tag of each field; empty for fields that are not tags."""
    types = {name: "DateTime" if name in dates else "LongInteger" if name in _NUMBERS else "Text" for name in FIELDS}
    return tuple(
        ""
        if name in _ELSEWHERE
        else f"<Tag TagName={_quoted(names.get(name, title))} TagDataType={_quoted(types[name])} TagValue="
        for name, title in FIELDS.items()
    )


_TAGS = _tags(_PREDEFINED, ("modified",))
_TAGS_SENT = _tags(_PREDEFINED | _SENT, ("modified", "date"))
