"""Attachments: files by value, messages as objects ([MS-PST] 2.4.6, [MS-OXCMSG] 2.2.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from dataset_gen.formats.pst import tags
from dataset_gen.formats.pst.blocks import Blocks, SubNode
from dataset_gen.formats.pst.columns import ATTACHMENTS
from dataset_gen.formats.pst.properties import Nested, Stored, Value, write_properties
from dataset_gen.formats.pst.table import TableContext
from readers.mail_form import MailAttachment

ATTACHMENT_TABLE = 0x671  # its number inside a message, and of its template in the store
_FIRST, _STEP = 0x401 << 5 | 5, 1 << 5
_MESSAGE = 0x401 << 5 | 4  # number of a message inside an attachment
_BY_VALUE, _EMBEDDED = 1, 5  # PidTagAttachMethod
_NOT_IN_TEXT = -1
_SHOWN_IN_HTML = 4  # PidTagAttachFlags


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """A file whose bytes come piece by piece, so that none of its size is in memory."""

    name: str
    pieces: Iterable[bytes]
    media_type: str = "application/octet-stream"
    content_id: str = ""


@dataclass(frozen=True, slots=True)
class AttachmentSeen:
    """What became of a message's attachments."""

    nodes: list[SubNode]  # the table first; none if there are none
    size: int


def attach(
    blocks: Blocks, attachments: Iterable[MailAttachment | Attached], modified: int, message: Callable[..., Any]
) -> AttachmentSeen:
    """Write the attachments of a message; `message` writes one that is attached."""
    table = TableContext(blocks, ATTACHMENTS)
    nodes: list[SubNode] = []
    total = 0
    for number, one in enumerate(attachments):
        nid = _FIRST + number * _STEP
        values, inside, size = _content(blocks, one, message)
        values |= {
            tags.ATTACH_SIZE: min(size, 0x7FFF_FFFF),
            tags.ATTACH_NUMBER: number,
            tags.RENDERING: _NOT_IN_TEXT,
            tags.ATTACH_FLAGS: _SHOWN_IN_HTML if one.content_id else 0,
            tags.HIDDEN: bool(one.content_id),
            tags.CREATED: modified,
            tags.MODIFIED: modified,
        }
        if one.content_id:
            values[tags.CONTENT_ID] = one.content_id
        nodes.append(SubNode(nid, *write_properties(blocks, values, inside)))
        table.row(nid, values)
        total += size
    if nodes:
        nodes.insert(0, SubNode(ATTACHMENT_TABLE, *table.finish()))
    return AttachmentSeen(nodes, total)


def _content(
    blocks: Blocks, one: MailAttachment | Attached, message: Callable[..., Any]
) -> tuple[dict[int, Value], list[SubNode], int]:
    """Properties, subnodes and size of what is attached."""
    if isinstance(one, MailAttachment) and one.message is not None:
        inner = message(blocks, one.message)
        subject = one.message.subject
        values: dict[int, Value] = {
            tags.ATTACH_METHOD: _EMBEDDED,
            tags.ATTACH_OBJECT: Nested(_MESSAGE, min(inner.size, 0x7FFF_FFFF)),
            tags.DISPLAY_NAME: subject,
            tags.ATTACH_SHORT: subject,
        }
        return values, [SubNode(_MESSAGE, inner.data, inner.sub)], inner.size
    stored: bytes | Stored
    if isinstance(one, Attached):
        stored = Stored(*blocks.data_tree(one.pieces))
        size = stored.size
    else:
        stored = one.data or b""
        size = len(stored)
    stem, dot, extension = one.name.rpartition(".")
    values = {tags.ATTACH_METHOD: _BY_VALUE, tags.ATTACH_DATA: stored, tags.ATTACH_MIME: one.media_type}
    if one.name:
        values |= {tags.ATTACH_LONG: one.name, tags.DISPLAY_NAME: one.name, tags.ATTACH_SHORT: _short(one.name)}
    if dot and stem:
        values[tags.ATTACH_EXTENSION] = dot + extension
    return values, [], size


def _short(name: str) -> str:
    """A name of eight and three characters, as old programs want it."""
    stem, _, extension = name.rpartition(".") if "." in name[1:] else (name, "", "")
    plain = "".join(c for c in stem if c.isascii() and c.isalnum()) or "FILE"
    tail = "".join(c for c in extension if c.isascii() and c.isalnum())[:3]
    if plain != stem or len(plain) > 8:
        plain = plain[:6] + "~1"
    return f"{plain}.{tail}" if tail else plain
