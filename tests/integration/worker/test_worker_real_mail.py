"""Handlers and identify over real files of other projects, held against independent knowledge of them."""

import email
import json
import mailbox
from collections.abc import Iterator
from email.message import Message
from pathlib import Path

import pytest

from core.records import Limits
from readers.base import MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.mail.eml import EmlHandler
from readers.mail.mbox.handler import MboxHandler

REAL = Path(__file__).parents[3].parent / "shared/data/real-files"
LIMITS = Limits()
pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason=f"no real files beside the project ({REAL.name})")
MAIL = sorted([*REAL.glob("mimekit/messages/*"), *REAL.glob("mimekit/partial/*"), *REAL.glob("ingest-file/*.eml")])


def source(path: Path) -> MemorySource:
    return MemorySource(path.name.encode(), path.read_bytes())


@pytest.mark.parametrize("name", ["content-length", "issue1189"])
@pytest.mark.parametrize("newline", ["unix", "dos"])
def test_mbox_offsets_are_mimekits(name: str, newline: str) -> None:
    offsets = json.loads((REAL / f"mimekit/mbox/{name}.{newline}-offsets.json").read_text())
    data = (REAL / f"mimekit/mbox/{name}.mbox.txt").read_bytes().replace(b"\r\n", b"\n")
    if newline == "dos":
        data = data.replace(b"\n", b"\r\n")
    store = MemorySource(b"store", data)
    handler = MboxHandler()
    whole = list(handler.children(store, LIMITS))
    assert [child.ordinal for child in whole] == [entry["mboxMarkerOffset"] for entry in offsets]
    for child, entry in zip(whole, offsets, strict=True):
        assert child.data is not None
        line_end = data.index(b"\n", child.ordinal) + 1
        assert line_end == entry["beginOffset"]
        assert abs(line_end + len(child.data) - entry["endOffset"]) <= 4  # they differ over the blank line at the end
    for target in (1000, 50_000, 300_000):
        parts = handler.parts(store, target)
        ranged = [(c.ordinal, c.data) for part in parts for c in handler.children(store, LIMITS, part)]
        assert not parts or ranged == [(c.ordinal, c.data) for c in whole]


@pytest.mark.parametrize(
    "name", ["mimekit/mbox/unmunged.mbox.txt", "mimekit/mbox/simple.mbox.txt", "ingest-file/plan.mbox"]
)
def test_small_stores(name: str) -> None:
    counts = {"unmunged.mbox.txt": 2, "simple.mbox.txt": 3, "plan.mbox": 1}
    path = REAL / name
    assert identify(source(path)) == "application/mbox"
    assert len(list(MboxHandler().children(source(path), LIMITS))) == counts[path.name]


def test_messages_of_a_store_are_the_standard_librarys() -> None:
    """Message for message the same bytes as `mailbox` has, where its cruder rule finds the same messages."""
    path = REAL / "mimekit/mbox/content-length.mbox.txt"
    ours = [child.data for child in MboxHandler().children(source(path), LIMITS)]
    box = mailbox.mbox(path, create=False)
    assert ours == [box.get_bytes(key) for key in box.iterkeys()]


def own_leaves(message: Message) -> Iterator[Message]:
    """Leaves of a message by the standard library, not going into attached messages."""
    if message.get_content_maintype() == "multipart" and message.is_multipart():
        for part in message.get_payload():
            yield from own_leaves(part)  # type: ignore[arg-type]
    else:
        yield message


@pytest.mark.parametrize("path", MAIL, ids=lambda path: path.name)
def test_children_of_real_messages(path: Path) -> None:
    item = source(path)
    if identify(item) != "message/rfc822":
        pytest.skip("not a message by itself")
    children = []
    try:
        children.extend(EmlHandler().children(item, LIMITS))
    except DocumentError as error:
        if error.code is not ExceptionCode.TRUNCATED:
            raise
    expected = [
        part
        for part in own_leaves(email.message_from_bytes(item.data))
        if part.get_filename()
        or part.get_content_disposition() == "attachment"
        or (part.get_content_type() not in ("text/plain", "text/html") and part.get_content_maintype() != "multipart")
    ]
    if path.name == "feedback-report.txt":  # the standard library takes all of it for one text
        assert [child.media_type for child in children] == ["message/feedback-report", "message/rfc822"]
        return
    types = [part.get_content_type() for part in expected]
    # Of one part of several the message itself reports the type, and its content is not held to it.
    assert [child.media_type for child in children] == [None if one == "message/partial" else one for one in types]
    for child, part in zip(children, expected, strict=True):
        payload = part.get_payload(decode=True)
        if isinstance(payload, bytes) and part.get_content_maintype() != "message":
            assert child.data == payload
        assert child.name == (part.get_filename() or f"part-{child.ordinal}").encode()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ingest-file/doc.doc", "application/msword"),
        ("ingest-file/rom.xls", "application/vnd.ms-excel"),
        ("ingest-file/slides.ppt", "application/vnd.ms-powerpoint"),
        ("ingest-file/piste.msg", "application/vnd.ms-outlook"),
        ("ingest-file/fnf.msg", "message/rfc822"),
        ("ingest-file/testPST.pst", "application/vnd.ms-outlook-pst"),
        ("ingest-file/plaintext.emlx", "message/x-emlx"),
        (
            "ingest-file/hello world word.docx",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
        ("ingest-file/password_protected.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        ("ingest-file/Plan.odt", "application/vnd.oasis.opendocument.text"),
        ("ingest-file/countries_nonutf.csv", "text/csv"),
        ("ingest-file/non_utf.txt", "text/plain"),
        ("ingest-file/empty.pdf", "inode/x-empty"),
        ("mimekit/html/Gimhae_Kim_clan.utf-16BE.html", "text/html"),
        ("mimekit/html/test.tokens", "text/plain"),
        ("mimekit/tnef/winmail.tnef", "application/vnd.ms-tnef"),
        ("mimekit/messages/stack-overflow.txt", "message/rfc822"),
    ],
)
def test_types_of_real_files(name: str, expected: str) -> None:
    assert identify(source(REAL / name)) == expected
