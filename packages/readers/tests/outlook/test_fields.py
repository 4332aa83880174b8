"""readers.outlook.mapi: what contacts, appointments and tasks say in properties, alike in loose messages, stores and winmail.dat."""

from typing import Any

import pytest
from outlook_forms import mail_store

from core.records import Limits
from dataset_gen.formats import msg, tnef
from dataset_gen.formats.mapi_mail import (
    LONG,
    PSETID_APPOINTMENT,
    PSETID_MEETING,
    STRING,
    TIME,
    Attachment,
    Details,
    Named,
    Properties,
    Value,
    filetime,
    guid,
    message_of,
)
from readers.base import MemorySource
from readers.keys import misfits
from readers.mail.eml import EmlHandler
from readers.mail_form import MailForm, write_message
from readers.outlook import msg as msg_reader
from readers.outlook.mapi import fields as named
from readers.outlook.msg import MsgHandler
from readers.outlook.pst import handler as pst
from readers.outlook.tnef import TnefHandler

FORMATS = ("msg", "tnef", "pst")
PSETID_TASK = guid("00062003-0000-0000-C000-000000000046")
PSETID_ADDRESS = guid("00062004-0000-0000-C000-000000000046")
CONTACT: Properties = {
    0x3001001F: "Jane Zimmerli",
    0x3A16001F: "Acme Holdings",
    0x3A08001F: "+41 44 5551234",
    0x3A1B001F: "+41 44 5559999",
    0x3A27001F: "Basel",
    0x3A4E001F: "Otto Prokurist",
    0x3A420040: filetime(86_400 * 366 - 3_600),
}
NAMED: dict[Named, Value] = {
    Named(PSETID_ADDRESS, 0x801A, STRING): "Seeweg 7\nLugano",
    Named(PSETID_ADDRESS, 0x801B, STRING): "Basel",  # stands there in pieces
    Named(PSETID_ADDRESS, 0x80DE, TIME): filetime(86_400 * 366),
    Named(PSETID_ADDRESS, 0x8083, STRING): "jane@acme.example",
    Named(PSETID_TASK, 0x8101, LONG): 0,  # as Outlook writes it
}
NOTES = (
    "Name: Jane Zimmerli\nManager: Otto Prokurist\nBusiness phone: +41 44 5551234\nBusiness phone 2: +41 44 5559999\n"
    "City: Basel\nHome address: Seeweg 7 Lugano\nBirthday: 1971-01-02\nE-mail: jane@acme.example\n"
).replace("Manager", "Company: Acme Holdings\nManager")


def read(kind: str, form: MailForm, details: Details) -> tuple[str, dict[str, Any]]:
    """Text and metadata of an item of a class, read from one of the formats."""
    if kind == "pst":
        data = mail_store((("Inbox",), form), details=details)
        (child,) = pst.PstHandler().children(MemorySource(b"m.pst", data), Limits())
        assert child.data is not None
        return EmlHandler().text(MemorySource(b"m", child.data), Limits()).text, child.notes
    write, handler = {"msg": (msg.write_item, MsgHandler()), "tnef": (tnef.write, TnefHandler())}[kind]
    out = handler.text(MemorySource(b"m", write(message_of(form, details))), Limits())
    return out.text, out.metadata


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("note", [None, "Met at the fair.\n"])
def test_fields_of_a_contact_precede_its_note(kind: str, note: str | None) -> None:
    details = Details(message_class="IPM.Contact", properties=CONTACT, named=NAMED)
    text, metadata = read(kind, MailForm(subject="Jane Zimmerli", plain=note), details)
    assert "task_state" not in metadata
    assert text == NOTES + (f"\n{note}" if note else "")


@pytest.mark.parametrize("kind", FORMATS)
def test_appointments_and_meetings_have_place_and_time(kind: str) -> None:
    """As metadata: the message's bytes, and so its hash, are as they would be without."""
    form = MailForm(subject="Budget", plain="Agenda follows.\n")
    times: dict[Named, Value] = {
        Named(PSETID_APPOINTMENT, 0x820D, TIME): filetime(1_600_000_000),
        Named(PSETID_APPOINTMENT, 0x820E, TIME): filetime(1_600_003_600),
    }
    for name, place in (
        ("IPM.Appointment", Named(PSETID_APPOINTMENT, 0x8208, STRING)),
        ("IPM.Schedule.Meeting.Request", Named(PSETID_MEETING, 0x0002, STRING)),
    ):
        text, metadata = read(kind, form, Details(message_class=name, named=times | {place: "Kasteelroom Zeppelin"}))
        assert text == "Agenda follows.\n"
        reported = {key: metadata[key] for key in ("location", "start", "end")}
        assert list(reported.values()) == ["Kasteelroom Zeppelin", "2020-09-13T12:26:40Z", "2020-09-13T13:26:40Z"]
        assert misfits(metadata) == []


@pytest.mark.parametrize("kind", FORMATS)
def test_tasks_have_owner_and_due_date(kind: str) -> None:
    """A day in the year 4501 stands for none."""
    fields: dict[Named, Value] = {
        Named(PSETID_TASK, 0x8104, TIME): 0x0CB34557A3DD4000,
        Named(PSETID_TASK, 0x8105, TIME): filetime(1_600_000_000),
        Named(PSETID_TASK, 0x811F, STRING): "Clara Clerk",
        Named(PSETID_TASK, 0x8101, LONG): 2,
    }
    _, metadata = read(kind, MailForm(subject="Shred", plain="x\n"), Details(message_class="IPM.Task", named=fields))
    assert "start" not in metadata
    reported = [metadata[key] for key in ("end", "task_owner", "task_state")]
    assert reported == ["2020-09-13T12:26:40Z", "Clara Clerk", "complete"]
    assert misfits(metadata) == []


@pytest.mark.parametrize("kind", FORMATS)
def test_a_mail_message_has_none_of_these_fields(kind: str) -> None:
    fields: dict[Named, Value] = {Named(PSETID_APPOINTMENT, 0x8208, STRING): "nowhere"}
    _, metadata = read(kind, MailForm(subject="s", plain="x\n"), Details(named=fields))
    assert "location" not in metadata


def test_the_hash_of_an_appointment_is_that_of_its_message() -> None:
    form = MailForm(subject="Budget", plain="Agenda follows.\n")
    fields: dict[Named, Value] = {Named(PSETID_APPOINTMENT, 0x8208, STRING): "Room"}
    data = msg.write_item(message_of(form, Details(message_class="IPM.Appointment", named=fields)))
    canonical = MemorySource(b"m", write_message(form))
    assert MsgHandler().message_hashes(MemorySource(b"m", data), Limits()) == EmlHandler().message_hashes(
        canonical, Limits()
    )


def test_names_are_read_once_for_all_messages_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Named(PSETID_APPOINTMENT, 0x8208, STRING)
    around = message_of(MailForm(subject="Fwd", plain="see\n"))
    for number in range(3):
        inner = message_of(
            MailForm(subject=str(number), plain="x\n"), Details(message_class="IPM.Appointment", named={place: "Room"})
        )
        around.attachments.append(Attachment(properties={0x37050003: 5}, message=inner))
    asked: list[bytes] = []

    def our_ids(guids: bytes, names: bytes) -> dict[int, int]:
        asked.append(names)
        return named.our_ids(guids, names)

    monkeypatch.setattr(msg_reader, "our_ids", our_ids)
    found = list(MsgHandler().children(MemorySource(b"m", msg.write_item(around)), Limits()))
    assert [child.notes.get("location") for child in found] == ["Room"] * 3
    assert len(asked) == 1
