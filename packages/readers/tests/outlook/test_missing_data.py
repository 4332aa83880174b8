"""readers.outlook: attachments whose data is missing, addresses and dates that are in another place."""

from __future__ import annotations

import struct

import pytest

from core.records import Limits
from dataset_gen.formats.outlook import msg, tnef
from dataset_gen.formats.outlook.mapi_mail import ATTACH_DATA, message_of
from readers.base import Child, Handler, MemorySource
from readers.errors import DocumentError
from readers.mail_form import MailAttachment, MailForm
from readers.outlook.msg import MsgHandler
from readers.outlook.tnef import TnefHandler

FORM = MailForm(
    subject="s",
    to=(("Kris", "kris@x.example"), ("Ann", "ann@x.example")),
    attachments=(MailAttachment(name="lost.txt", data=b"x"), MailAttachment(name="kept.txt", data=b"kept\n")),
)
METHOD, HEADERS = 0x37050003, 0x007D001F


def until_error(handler: Handler, data: bytes) -> tuple[list[Child], DocumentError | None]:
    found: list[Child] = []
    try:
        for child in handler.children(MemorySource(b"m", data), Limits()):
            found.append(child)
    except DocumentError as error:
        return found, error
    return found, None


@pytest.mark.parametrize("method", [None, 1, 2])
def test_an_attachment_without_data_is_reported(method: int | None) -> None:
    message = message_of(FORM)
    lost = message.attachments[0].properties
    del lost[ATTACH_DATA]
    lost.pop(METHOD, None)
    if method is not None:
        lost[METHOD] = method
    found, error = until_error(MsgHandler(), msg.write(message))
    assert [child.name for child in found] == [b"kept.txt"]
    assert (error is not None) == (method != 2)
    found, _ = until_error(TnefHandler(), tnef.write(message))
    assert [child.error is not None for child in found] == ([False] if method == 2 else [True, False])


def test_the_header_has_the_addresses_of_people_of_exchange() -> None:
    """By their names, where a recipient has an address of Exchange alone; others keep theirs."""
    message = message_of(FORM)
    person = message.recipients[0]
    for tag in [tag for tag in person if tag >> 16 in (0x3002, 0x3003, 0x39FE)]:
        del person[tag]
    person |= {0x3002001F: "EX", 0x3003001F: "/o=Org/cn=Recipients/cn=kris"}
    del message.properties[HEADERS]
    text = MsgHandler().text(MemorySource(b"m.msg", msg.write(message)), Limits())
    assert text.metadata["to"] == '"Kris", "Ann" <ann@x.example>'
    message.properties[HEADERS] = 'To: "kris" <kris@x.example>, other@x.example\r\n\r\n'
    text = MsgHandler().text(MemorySource(b"m.msg", msg.write(message)), Limits())
    assert text.metadata["to"] == '"Kris" <kris@x.example>, "Ann" <ann@x.example>'


@pytest.mark.parametrize(("day", "date"), [(5, "2024-03-05T09:11:12Z"), (0, None)])
def test_the_date_of_an_old_stream(day: int, date: str | None) -> None:
    """An attribute of its own ([MS-OXTNEF] 2.1.3.3.3), where there are no properties."""
    value = struct.pack("<7H", 2024, 3, day, 9, 11, 12, 2)
    data = struct.pack("<IH", 0x223E9F78, 1)
    for ident, raw in ((0x00038005, value), (0x0002800C, b"body\0")):
        data += struct.pack("<BII", 1, ident, len(raw)) + raw + struct.pack("<H", sum(raw))
    text = TnefHandler().text(MemorySource(b"winmail.dat", data), Limits())
    assert (text.text, text.metadata.get("date")) == ("body", date)
