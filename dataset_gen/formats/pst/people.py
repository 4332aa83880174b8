"""Senders and recipients as a store has them ([MS-OXCDATA] 2.2.5.1, [MS-OXOMSG] 2.2)."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from dataset_gen.formats.pst import tags
from dataset_gen.formats.pst.blocks import Blocks
from dataset_gen.formats.pst.columns import RECIPIENTS
from dataset_gen.formats.pst.properties import Value
from dataset_gen.formats.pst.table import TableContext
from readers.mail_form import Address

TO, CC, BCC = 1, 2, 3
_MAIL_USER = 6  # PidTagObjectType
_ONE_OFF = bytes(4) + bytes.fromhex("812b1fa4bea310199d6e00dd010f5402") + b"\0\0\x01\x80"  # Unicode, no rich text


def shown_name(person: Address) -> str:
    """What a reader shows: the name, or the address of a person without one."""
    return person[0] or person[1]


@functools.lru_cache(maxsize=4096)
def entry_id(person: Address) -> bytes:
    """The id of somebody who is in no address book: it says who it is."""
    return _ONE_OFF + f"{shown_name(person)}\0SMTP\0{person[1]}\0".encode("utf-16-le", "replace")


@functools.lru_cache(maxsize=4096)
def search_key(person: Address) -> bytes:
    """What tells whether two are the same."""
    return f"SMTP:{person[1]}\0".upper().encode("utf-8", "replace")


def sender(person: Address) -> dict[int, Value]:
    """Who sent it and on whose behalf: the same."""
    name = shown_name(person)
    out: dict[int, Value] = {tags.SENDER_NAME: name, tags.SENT_NAME: name}
    if person[1]:
        entry, key = entry_id(person), search_key(person)
        out |= {
            tags.SENDER_TYPE: "SMTP",
            tags.SENDER_ADDRESS: person[1],
            tags.SENDER_SMTP: person[1],
            tags.SENDER_ENTRY: entry,
            tags.SENDER_KEY: key,
            tags.SENT_TYPE: "SMTP",
            tags.SENT_ADDRESS: person[1],
            tags.SENT_SMTP: person[1],
            tags.SENT_ENTRY: entry,
            tags.SENT_KEY: key,
        }
    return out


def write_recipients(blocks: Blocks, people: Iterable[tuple[int, Address]]) -> tuple[int, int]:
    """The table of recipients, each with `TO`, `CC` or `BCC`."""
    table = TableContext(blocks, RECIPIENTS)
    for number, (kind, person) in enumerate(people):
        name = shown_name(person)
        row: dict[int, Value] = {
            tags.RECIPIENT_TYPE: kind,
            tags.RESPONSIBLE: True,
            tags.OBJECT_TYPE: _MAIL_USER,
            tags.DISPLAY_NAME: name,
            tags.PLAIN_NAME: name,
            tags.DISPLAY_TYPE: 0,
            tags.RICH: False,
        }
        if person[1]:
            entry = entry_id(person)
            row |= {
                tags.ADDRESS_TYPE: "SMTP",
                tags.ADDRESS: person[1],
                tags.ENTRY_ID: entry,
                tags.RECORD_KEY: entry,
                tags.SEARCH_KEY: search_key(person),
            }
        table.row(number, row)
    return table.finish()
