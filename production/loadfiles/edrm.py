"""EDRM XML 1.2: documents with their fields and files, and which is attached to which."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from production.loadfiles.fields import FIELDS

_MESSAGES = frozenset({"message/rfc822", "application/vnd.ms-outlook"})  # everything else is a File
# What EDRM calls fields that it knows itself; a tool that maps fields by these names takes no others of its own accord.
_PREDEFINED = {
    "name": "#FileName", "bytes": "#FileSize", "modified": "#DateModified", "from": "#From", "to": "#To", "cc": "#CC",
    "bcc": "#BCC", "subject": "#Subject",
}  # fmt: skip
# Of a message, where it is a day and a time in UTC: it may be a day alone, or one of no calendar.
_SENT = {"date": "#DateSent"}
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", re.ASCII)
_NUMBERS = frozenset({"bytes", "pages"})
# The characters of XML 1.0, the others become U+FFFD.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TO_ESCAPE = re.compile('[&<>"\n\r\t]')
# What stands in an attribute as it is, as most values do: neither of the two above has anything to do.
_PLAIN = re.compile('[^&<>"\x00-\x1f\ud800-\udfff\ufffe\uffff]*')
_ELSEWHERE = frozenset({"begin", "native", "text", "custodian", "path", "parent", "media_type"})  # not among its tags


@dataclass(frozen=True, slots=True)
class ExternalFile:
    """One file of a document."""

    kind: str  # native, text or image
    path: str  # relative, with slashes
    size: int
    md5: str


HEAD = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n<Root MajorVersion="1" MinorVersion="2" DataInterchangeType="Update">\n'
    b"<Batch><Documents>\n"
)
MIDDLE = b"</Documents><Relationships>\n"  # between the documents and what is attached to what
TAIL = b"</Relationships></Batch></Root>\n"


def document(told: Mapping[str, Any], files: Iterable[ExternalFile]) -> str:
    """One document. `told` is what `fields` names."""
    kind = "Message" if told["media_type"] in _MESSAGES else "File"
    sent = kind == "Message" and _MOMENT.fullmatch(str(told["date"])) is not None
    tags = "".join(
        f"{begins}{_attribute(value)}/>"
        for name, begins in (_TAGS_SENT if sent else _TAGS)
        if (value := told[name]) is not None and value != "" and value != []
    )
    at = _text(" / ".join(map(str, told["path"])))
    return (
        f"<Document DocID={_attribute(told['begin'])} DocType={_quoted(kind)} MimeType={_attribute(told['media_type'])}>"
        f"<Tags>{tags}</Tags><Files>{''.join(map(_file, files))}</Files>"
        f"<Locations><Location><Custodian>{escape(_text(told['custodian']))}</Custodian>"
        f"<LocationURI>{escape(at)}</LocationURI></Location></Locations></Document>\n"
    )


def _file(file: ExternalFile) -> str:
    folder, _, name = file.path.rpartition("/")
    backslashed = folder.replace("/", "\\")
    return (
        f'<File FileType="{file.kind.title()}"><ExternalFile FilePath={_attribute(backslashed)} FileName={_attribute(name)}'
        f' FileSize="{file.size}" Hash="{file.md5}" HashType="MD5"/></File>'
    )


def relationship(parent: str, child: str) -> str:
    """One document is attached to another."""
    return f'<Relationship Type="Attachment" ParentDocID={_quoted(parent)} ChildDocID={_quoted(child)}/>\n'


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        value = "; ".join(map(str, value))
    return _NO_XML.sub("\ufffd", "" if value is None else str(value))


def _attribute(value: Any) -> str:
    if type(value) is str and _PLAIN.fullmatch(value) is not None:
        return f'"{value}"'
    return _quoted(_text(value))


def _quoted(value: str) -> str:
    if _TO_ESCAPE.search(value) is None:
        return f'"{value}"'
    return quoteattr(value, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _tags(names: Mapping[str, str], dates: Container[str]) -> tuple[tuple[str, str], ...]:
    """The fields, each with what its tag begins with."""
    types = {name: "DateTime" if name in dates else "LongInteger" if name in _NUMBERS else "Text" for name in FIELDS}
    return tuple(
        (name, f"<Tag TagName={_quoted(names.get(name, title))} TagDataType={_quoted(types[name])} TagValue=")
        for name, title in FIELDS.items()
        if name not in _ELSEWHERE
    )


_TAGS = _tags(_PREDEFINED, ("modified",))
_TAGS_SENT = _tags(_PREDEFINED | _SENT, ("modified", "date"))
