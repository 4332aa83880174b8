"""EDRM XML 1.2: documents with their fields and files, and which is attached to which."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from production.loadfiles.fields import FIELDS

_MESSAGES = frozenset({"message/rfc822", "application/vnd.ms-outlook"})  # everything else is a File
_DATES = frozenset({"modified"})  # that are ISO 8601; others are as the item has them
_NUMBERS = frozenset({"bytes", "pages"})
# The characters of XML 1.0, the others become U+FFFD.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TO_ESCAPE = re.compile('[&<>"\n\r\t]')
# What stands in an attribute or between tags as it is, as most values do: neither of the two above has anything to do.
_PLAIN = re.compile('[^&<>"\x00-\x1f\ud800-\udfff\ufffe\uffff]*')
_ELSEWHERE = frozenset({"begin", "native", "text", "custodian", "path", "parent", "media_type"})  # not among its tags


class ExternalFile(NamedTuple):
    """One file of a document."""

    kind: str  # native, text or image
    path: str  # relative, with slashes
    size: int
    md5: str


HEAD = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n<Root MajorVersion="1" MinorVersion="2" DataInterchangeType="Load">\n'
    b"<Batch><Documents>\n"
)
MIDDLE = b"</Documents><Relationships>\n"  # between the documents and what is attached to what
TAIL = b"</Relationships></Batch></Root>\n"


def document(told: Mapping[str, Any], files: Iterable[ExternalFile]) -> str:
    """One document. `told` is what `fields` names."""
    kind = "Message" if told["media_type"] in _MESSAGES else "File"
    tags = [
        (begins, value if type(value) is str else _text(value))
        for name, begins in _TAGS
        if (value := told[name]) is not None and value != "" and value != []
    ]
    if _PLAIN.fullmatch("".join([value for _, value in tags])) is not None:  # all at once: there are twenty an item
        tagged = "".join([f'{begins}"{value}"/>' for begins, value in tags])
    else:
        tagged = "".join([f"{begins}{_attribute(value)}/>" for begins, value in tags])
    at = " / ".join(map(str, told["path"]))
    return (
        f"<Document DocID={_attribute(told['begin'])} DocType={_quoted(kind)} MimeType={_attribute(told['media_type'])}>"
        f"<Tags>{tagged}</Tags><Files>{''.join(map(_file, files))}</Files>"
        f"<Locations><Location><Custodian>{_content(told['custodian'])}</Custodian>"
        f"<LocationURI>{_content(at)}</LocationURI></Location></Locations></Document>\n"
    )


def _file(file: ExternalFile) -> str:
    folder, _, name = file.path.rpartition("/")
    begins = _file_in(file.kind, folder)
    return f'{begins}{_attribute(name)} FileSize="{file.size}" Hash="{file.md5}" HashType="MD5"/></File>'


@functools.lru_cache(maxsize=100)  # those of an item after the other lie in the same
def _file_in(kind: str, folder: str) -> str:
    """How files of one kind in one folder begin."""
    backslashed = folder.replace("/", "\\")
    return f'<File FileType="{kind.title()}"><ExternalFile FilePath={_attribute(backslashed)} FileName='


def relationship(parent: str, child: str) -> str:
    """One document is attached to another."""
    return f'<Relationship Type="Attachment" ParentDocID={_quoted(parent)} ChildDocID={_quoted(child)}/>\n'


def _type(name: str) -> str:
    return "DateTime" if name in _DATES else "LongInteger" if name in _NUMBERS else "Text"


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        value = "; ".join(map(str, value))
    return _NO_XML.sub("\ufffd", "" if value is None else str(value))


def _content(value: str) -> str:
    return value if _PLAIN.fullmatch(value) is not None else escape(_text(value))


def _attribute(value: Any) -> str:
    if type(value) is str and _PLAIN.fullmatch(value) is not None:
        return f'"{value}"'
    return _quoted(_text(value))


def _quoted(value: str) -> str:
    if _TO_ESCAPE.search(value) is None:
        return f'"{value}"'
    return quoteattr(value, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


_TAGS = tuple(
    (name, f"<Tag TagName={_quoted(title)} TagDataType={_quoted(_type(name))} TagValue=")
    for name, title in FIELDS.items()
    if name not in _ELSEWHERE
)
