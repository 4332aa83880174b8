"""readers.outlook.pst.handler: mail stores, whole and damaged."""

import base64
import contextlib
import io
import random
import struct
from functools import cache
from pathlib import Path
from typing import BinaryIO, cast

import pytest
from agreement import differences
from as_found import Found
from documents import TERMS, make
from hypothesis import HealthCheck, given, settings
from outlook_bytes import attribute, winmail
from outlook_forms import SAMPLE, forms
from outlook_forms import mail_store as store
from typing_extensions import Buffer

from core.records import Limits
from dataset_gen.formats import msg, tnef
from dataset_gen.formats.mapi_mail import ATTACH_DATA, HEADERS, Details, message_of
from dataset_gen.formats.msg import write_item
from dataset_gen.formats.pst.heap import Crypt
from dataset_gen.formats.pst.writer import PstWriter
from dataset_gen.workshop import WITH_TEXT, extension
from readers.base import Child, Handler, MemorySource, Part
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.mail.eml import EmlHandler
from readers.mail_form import MailAttachment, MailForm, write_message
from readers.outlook.msg import MsgHandler
from readers.outlook.pst import handler as pst
from readers.outlook.pst.file import PstFile, read_header
from readers.outlook.pst.handler import PstHandler
from readers.outlook.pst.store import Folder, PstStore
from readers.outlook.tnef import TnefHandler
from readers.records import Kind

HANDLER = PstHandler()
NOTE = MailForm(subject="a/b", plain="note\n")
_CONVERSATION_INDEX = 0x00710102


def children(data: bytes, part: Part | None = None, limits: Limits | None = None) -> list[Child]:
    return list(HANDLER.children(MemorySource(b"m.pst", data), limits or Limits(), part))


def until_error(data: bytes, handler: Handler = HANDLER) -> tuple[list[Child], DocumentError | None]:
    """Return the children, and the error that ended them."""
    found = Found(handler, data, b"m.pst")
    return found.children, found.error


@cache
def sample() -> bytes:
    """Five messages in three folders."""
    return store(
        (("Inbox",), SAMPLE),
        (("Inbox", "Project X"), NOTE),
        (("Archive",), MailForm(subject="old", plain="old\n")),
        (("Inbox",), MailForm(subject="second", html="<p>html\n")),
        ((), MailForm(plain="top\n")),
    )


NAMES = ["message", "Inbox/" + SAMPLE.subject, "Inbox/second", "Inbox/Project X/a_b", "Archive/old"]


def test_messages_in_order_and_in_canonical_form() -> None:
    found = children(sample())
    assert [child.name.decode() for child in found] == NAMES
    assert [child.ordinal for child in found] == [0, 1, 2, 3, 4]
    assert {child.kind for child in found} == {Kind.MESSAGE}
    assert [child.notes.get("folder") for child in found] == [None, "Inbox", "Inbox", "Inbox/Project X", "Archive"]
    assert [child.error for child in found] == [None] * 5
    assert found[1].data == write_message(SAMPLE)
    assert found[3].data == write_message(NOTE)
    own = MemorySource(b"m.pst", sample())
    assert HANDLER.announced(own) == 5
    assert identify(own) == "application/vnd.ms-outlook-pst"


@given(forms())
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
def test_the_same_message_is_equal_in_every_format(form: MailForm) -> None:
    (child,) = children(store((("Inbox",), form), crypt=Crypt.NONE))
    assert child.data == write_message(form)
    eml = EmlHandler().message_hashes(MemorySource(b"m", child.data), Limits())
    assert eml is not None
    assert MsgHandler().message_hashes(MemorySource(b"m", write_item(message_of(form))), Limits()) == eml


@pytest.mark.parametrize(("version", "at", "width"), [(14, 168, 4), (15, 168, 4), (23, 184, 8), (36, 184, 8)])
def test_the_size_that_a_store_announces(version: int, at: int, width: int) -> None:
    """In the ANSI format it is elsewhere and shorter ([MS-PST] 2.2.2.5): bytes after it are accounted for in either."""
    head = bytearray(b"!BDN".ljust(600, b"\xff"))
    head[10:12] = version.to_bytes(2, "little")
    head[at : at + width] = (265_216).to_bytes(width, "little")
    assert read_header(MemorySource(b"x.pst", bytes(head))).size == 265_216


def test_a_message_has_its_place_in_the_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    """By either reader, from the property or from the header that came over the wire; in its notes, for its bytes are those of a
    form that has no such field. What is no index is none."""
    index = bytes(range(22)) + bytes(5)
    header = f"Thread-Index: {base64.b64encode(index).decode()}\r\n\r\n"
    cases = (
        (Details(properties={_CONVERSATION_INDEX: index}), index.hex()),
        (Details(properties={_CONVERSATION_INDEX: b"", HEADERS: header}), index.hex()),
        (Details(properties={_CONVERSATION_INDEX: index + b"x"}), None),
    )
    for version in (pst.UNICODE, 99):
        monkeypatch.setattr(pst, "UNICODE", version)
        for details, wanted in cases:
            (child,) = children(store((("Inbox",), NOTE), details=details))
            assert (child.notes.get("conversation"), child.data) == (wanted, write_message(NOTE))


def test_ranges_cover_everything_once() -> None:
    forms_of_it = [((f"F{i % 7}", "sub") if i % 3 else (f"F{i % 7}",), MailForm(subject=str(i))) for i in range(60)]
    data = store(*forms_of_it)
    own = MemorySource(b"m.pst", data)
    parts = HANDLER.parts(own, len(data) // 6)
    assert len(parts) >= 6
    pieces = [child for part in parts for child in children(data, part)]
    assert pieces == children(data)
    assert len(pieces) == 60
    assert HANDLER.parts(own, len(data)) == []


def test_a_store_is_walked_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    walks: list[PstStore] = []
    walk = PstStore._walk

    def counted(self: PstStore) -> list[Folder]:
        walks.append(self)
        return walk(self)

    monkeypatch.setattr(PstStore, "_walk", counted)
    inbox = next(nid for nid in _nids(sample(), 0x0E) if _rows(sample(), nid) == 2)
    source = MemorySource(b"m.pst", _wipe(sample(), inbox))
    shown = []
    for _ in range(2):
        with pytest.raises(DocumentError) as caught:
            list(HANDLER.children(source, Limits()))
        reported = HANDLER.announced(source), HANDLER.text(source, Limits()).metadata
        shown.append((caught.value.code, caught.value.detail, *reported))
    assert shown[0] == shown[1]
    assert len(walks) == 1
    HANDLER.announced(MemorySource(b"m.pst", source.data))
    assert len(walks) == 2


class _Counted(io.BytesIO):
    """A file that is read without a buffer; the sizes of the reads go to `reads`."""

    def __init__(self, data: bytes, reads: list[int]) -> None:
        super().__init__(data)
        self._reads = reads

    def readinto(self, buffer: Buffer, /) -> int:
        self._reads.append(super().readinto(buffer))
        return self._reads[-1]

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self._reads.append(len(data))
        return data


def test_a_large_store_is_read_in_few_calls() -> None:
    """On a filer a call costs more than its bytes: a store is read by large pieces, most of them once, though its objects are
    spread over it. The last piece is short, and a message may be in several."""
    dice = random.Random(5)
    large = [MailForm(subject=f"{n}", plain="x\n", attachments=(MailAttachment(name="a.bin", data=dice.randbytes(60_000)),)) for n in range(60)]  # fmt: skip
    data = store(*(((f"F{n % 7}",), form) for n, form in enumerate(large)))
    reads: list[int] = []

    class Source(MemorySource, frozen=True):
        def open(self) -> BinaryIO:
            return cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, _Counted(data, reads))))

    found = list(HANDLER.children(Source(b"m.pst", data), Limits()))
    assert [child.name for child in found] == [child.name for child in children(data)]
    assert len(found) == 60
    assert len(reads) < 80
    assert sum(reads) < 2 * len(data)


def test_a_store_with_a_password_is_read() -> None:
    data = store((("Inbox",), NOTE), password="secret")
    assert HANDLER.text(MemorySource(b"m.pst", data), Limits()).metadata["password"] is True
    assert len(children(data)) == 1


def test_a_folder_without_messages_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.BytesIO()
    writer = PstWriter(file)
    writer.folder(("Project Falcon", "Bids"))
    writer.add(("Inbox",), NOTE)
    writer.finish()
    own = HANDLER.text(MemorySource(b"m.pst", file.getvalue()), Limits())
    assert {"Project Falcon", "Project Falcon/Bids"} <= set(own.metadata["empty_folders"])
    assert "Inbox" not in own.metadata["empty_folders"]
    monkeypatch.setattr(pst, "UNICODE", 99)
    assert sorted(HANDLER.text(MemorySource(b"m.pst", file.getvalue()), Limits()).metadata["empty_folders"]) == sorted(
        own.metadata["empty_folders"]
    )


def test_names_of_search_folders_and_of_the_top_one(real_files: Path) -> None:
    """Of a store that Outlook wrote."""
    data = (real_files / "ingest-file/testPST.pst").read_bytes()
    named = HANDLER.text(MemorySource(b"m.pst", data), Limits()).metadata["empty_folders"]
    assert any("Search" in name for name in named)
    assert any(name.startswith("Début du fichier") for name in named)


def _wipe(data: bytes, nid: int) -> bytes:
    """The store with the first block of a node overwritten."""
    source = MemorySource(b"m.pst", data)
    file = PstFile(source, read_header(source))
    node = file.node(nid)
    assert node is not None
    first = file.data_blocks(node.data, 1 << 30)[0]
    entry = file._find(file.header.blocks, 0x80, first)
    assert entry is not None
    return data[: entry[1]] + bytes(entry[2]) + data[entry[1] + entry[2] :]


def _nids(data: bytes, kind: int) -> list[int]:
    source = MemorySource(b"m.pst", data)
    return [node.nid for node in PstFile(source, read_header(source)).nodes(kind)]


def test_one_damaged_message_costs_no_other() -> None:
    data = _wipe(sample(), _nids(sample(), 4)[1])
    found = children(data)
    failed = [child for child in found if not child.emit]
    assert [(child.data, child.error.code if child.error else None) for child in failed] == [
        (None, ExceptionCode.CORRUPT)
    ]
    assert [child.ordinal for child in found] == [0, 1, 2, 3, 4]
    assert HANDLER.announced(MemorySource(b"m.pst", data)) == 5


def test_messages_of_a_lost_folder_are_recovered() -> None:
    inbox = next(nid for nid in _nids(sample(), 0x0E) if _rows(sample(), nid) == 2)
    data = _wipe(sample(), inbox)
    found, error = until_error(data)
    assert [child.name.decode() for child in found] == [
        "message", "Inbox/Project X/a_b", "Archive/old", "recovered/" + SAMPLE.subject, "recovered/second",
    ]  # fmt: skip
    assert error is not None
    assert (error.code, error.missing) == (ExceptionCode.CORRUPT, 0)
    assert HANDLER.announced(MemorySource(b"m.pst", data)) == 5


def _rows(data: bytes, nid: int) -> int:
    source = MemorySource(b"m.pst", data)
    opened = pst.PstStore(PstFile(source, read_header(source)), Limits())
    return len(opened._rows(nid, nid & 0x1F, 4))


def test_a_wrong_checksum_is_reported() -> None:
    data = bytearray(store((("Inbox",), NOTE), (("Inbox",), SAMPLE), crypt=Crypt.NONE))
    data[data.index(b"%PDF-1.4") + 20] ^= 1
    found = children(bytes(data))
    assert [child.error.code if child.error else None for child in found] == [None, ExceptionCode.CORRUPT]
    assert found[1].data


def test_a_truncated_store() -> None:
    for size in (100, 5000, len(sample()) - 3000):
        found, error = until_error(sample()[:size])
        assert (error and error.code) is ExceptionCode.TRUNCATED
        assert len(found) <= 5


def test_a_damaged_index_leaves_the_number_open() -> None:
    data = bytearray(sample())
    source = MemorySource(b"m.pst", sample())
    file = PstFile(source, read_header(source))
    first_leaf = file._page(file.header.nodes, 0x81).entries[0][2]
    data[first_leaf + 496] ^= 1
    found, error = until_error(bytes(data))
    assert first_leaf != file.header.nodes
    assert error is not None
    assert error.missing is None
    assert len(found) < 5


def test_an_attachment_over_the_limit() -> None:
    form = MailForm(subject="s", plain="text\n", attachments=(MailAttachment(name="b", data=bytes(90_000)),))
    (child,) = children(store((("Inbox",), form)), limits=Limits(parse_bytes=100_000))
    assert (child.error and child.error.code) is ExceptionCode.TOO_LARGE
    assert child.data == write_message(MailForm(subject="s", plain="text\n"))


def test_damaged_stores() -> None:
    """Nothing but document errors, and never more children than are announced."""
    dice = random.Random(7)
    for number in range(60):
        broken = bytearray(sample())
        for _ in range(1 + number % 4 * 100):
            broken[dice.randrange(len(broken))] = dice.choice((0, 255, dice.randrange(256)))
        data = bytes(broken[: dice.randrange(len(broken))] if number % 5 == 0 else broken)
        found, _ = until_error(data)
        with contextlib.suppress(DocumentError):
            assert HANDLER.announced(MemorySource(b"m.pst", data)) in (None, len(found))


@pytest.mark.parametrize(
    ("name", "names"),
    [
        (
            "java-libpst/dist-list.pst",
            [
                "Calendar/Test appointment",
                "Contacts/test dist list",
                "Contacts/contact name 1",
                "Freebusy Data/LocalFreebusy",
            ],
        ),
        (
            "java-libpst/passworded.pst",
            ["Contacts/test dist list", "Contacts/contact name 1", "Freebusy Data/LocalFreebusy"],
        ),
        (
            "ingest-file/testPST.pst",
            [
                "Re: Feature Generators",
                'Re: init tokenizer fails: "Bad type in putfield_putstatic"',
                "Feature Generators",
                "[jira] [Resolved] (TIKA-1249) Vcard files detection",
                "[jira] [Commented] (TIKA-1250) Process loops infintely processing a CHM file",
                '[WEBINAR] - "Introducing Couchbase Server 2.5"',
            ],
        ),
    ],
)
def test_real_stores(name: str, names: list[str], real_files: Path) -> None:
    """Written by Outlook."""
    found = children((real_files / name).read_bytes())
    assert [child.name.decode() for child in found] == names
    assert [child.error for child in found] == [None] * len(names)


def test_a_contact_has_its_fields(real_files: Path) -> None:
    data = children((real_files / "java-libpst/dist-list.pst").read_bytes())[2].data
    assert data is not None
    text = EmlHandler().text(MemorySource(b"m", data), Limits()).text
    assert text == "Name: contact name 1\nE-mail: contact1@rjohnson.id.au\n"


def test_libpff_reads_the_same(monkeypatch: pytest.MonkeyPatch, real_files: Path) -> None:
    data = (real_files / "ingest-file/testPST.pst").read_bytes()
    own = children(data)
    monkeypatch.setattr(pst, "UNICODE", 99)
    assert children(data) == own
    passworded = (real_files / "java-libpst/passworded.pst").read_bytes()
    assert HANDLER.text(MemorySource(b"m.pst", passworded), Limits()).metadata["password"] is True
    assert children(data, Part(start=2, stop=4)) == own[2:4]


@pytest.mark.parametrize("version", [pst.UNICODE, 99])
def test_a_store_that_is_shorter_than_it_announces(
    version: int, monkeypatch: pytest.MonkeyPatch, real_files: Path
) -> None:
    monkeypatch.setattr(pst, "UNICODE", version)
    data = (real_files / "ingest-file/testPST.pst").read_bytes()
    whole = children(data)
    read, error = until_error(data[:-64])
    assert (read, error and error.code) == (whole, ExceptionCode.TRUNCATED)


def test_libpff_refuses_with_a_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pst, "UNICODE", 99)
    with pytest.raises(DocumentError):
        children(sample()[:2000])


@pytest.mark.parametrize("fmt", ["pst", "msg", "tnef"])
def test_the_generator_and_the_readers_agree(fmt: str) -> None:
    terms = TERMS if fmt in WITH_TEXT else ()
    for number, size in enumerate((2_000, 60_000)):
        made = make(fmt, number, size, terms=terms)
        assert differences(f"a.{extension(fmt)}".encode(), made.data, made.truth) == []


FORM = MailForm(
    subject="s",
    to=(("Kris", "kris@x.example"), ("Ann", "ann@x.example")),
    attachments=(MailAttachment(name="lost.txt", data=b"x"), MailAttachment(name="kept.txt", data=b"kept\n")),
)
METHOD = 0x37050003


@pytest.mark.parametrize("method", [None, 1, 2])
def test_an_attachment_without_data_is_reported(method: int | None) -> None:
    message = message_of(FORM)
    lost = message.attachments[0].properties
    del lost[ATTACH_DATA]
    lost.pop(METHOD, None)
    if method is not None:
        lost[METHOD] = method
    found, error = until_error(msg.write_item(message), MsgHandler())
    assert [child.name for child in found] == [b"kept.txt"]
    assert (error is not None) == (method != 2)
    found, _ = until_error(tnef.write(message), TnefHandler())
    assert [child.error is not None for child in found] == ([False] if method == 2 else [True, False])


def test_the_header_has_the_addresses_of_people_of_exchange() -> None:
    """By their names, where a recipient has an address of Exchange alone; others keep theirs."""
    message = message_of(FORM)
    person = message.recipients[0]
    for tag in [tag for tag in person if tag >> 16 in (0x3002, 0x3003, 0x39FE)]:
        del person[tag]
    person |= {0x3002001F: "EX", 0x3003001F: "/o=Org/cn=Recipients/cn=kris"}
    del message.properties[HEADERS]
    text = MsgHandler().text(MemorySource(b"m.msg", msg.write_item(message)), Limits())
    assert text.metadata["to"] == '"Kris", "Ann" <ann@x.example>'
    message.properties[HEADERS] = 'To: "kris" <kris@x.example>, other@x.example\r\n\r\n'
    text = MsgHandler().text(MemorySource(b"m.msg", msg.write_item(message)), Limits())
    assert text.metadata["to"] == '"Kris" <kris@x.example>, "Ann" <ann@x.example>'


@pytest.mark.parametrize(("day", "date"), [(5, "2024-03-05T09:11:12Z"), (0, None)])
def test_the_date_of_an_old_stream(day: int, date: str | None) -> None:
    """An attribute of its own ([MS-OXTNEF] 2.1.3.3.3), where there are no properties."""
    value = struct.pack("<7H", 2024, 3, day, 9, 11, 12, 2)
    data = winmail(attribute(0x00038005, value), attribute(0x0002800C, b"body\0"))
    text = TnefHandler().text(MemorySource(b"winmail.dat", data), Limits())
    assert (text.text, text.metadata.get("date")) == ("body", date)
