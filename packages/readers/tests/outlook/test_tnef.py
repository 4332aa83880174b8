"""readers.outlook.tnef: winmail.dat."""

import contextlib
from pathlib import Path

import pytest
from as_found import read_by
from outlook_forms import SAMPLE

from core.records import Limits
from dataset_gen.formats.mapi_mail import message_of
from dataset_gen.formats.tnef import write
from readers.base import Child, MemorySource
from readers.errors import DocumentError
from readers.identification.identify import identify
from readers.mail_form import write_message
from readers.outlook.tnef import TnefHandler

HANDLER = TnefHandler()
read, children = read_by(HANDLER)
DATA = write(message_of(SAMPLE))


def test_attachments_body_and_fields() -> None:
    found = children(DATA)
    assert [child.name.decode() for child in found] == ["image001.png", "Отчёт für 2021.pdf", "The inner one.eml"]
    assert found[1].data == SAMPLE.attachments[1].data
    assert SAMPLE.attachments[2].message is not None
    assert found[2].data == write_message(SAMPLE.attachments[2].message)
    text = HANDLER.text(MemorySource(b"winmail.dat", DATA), Limits())
    assert text.text == SAMPLE.plain
    assert text.metadata["subject"] == SAMPLE.subject
    assert text.metadata["message_id"] == SAMPLE.message_id
    assert identify(MemorySource(b"x", DATA)) == "application/vnd.ms-tnef"


def test_a_cut_is_reported() -> None:
    with pytest.raises(DocumentError, match=r"^truncated:"):
        children(DATA[:-2000])
    with pytest.raises(DocumentError, match=r"^corrupt:"):
        read(b"\x78\x9f\x3e")


def test_a_changed_byte_is_reported() -> None:
    data = bytearray(DATA)
    data[data.index(b"%PDF-1.4") + 30] ^= 4
    with pytest.raises(DocumentError, match=r"^corrupt:"):
        children(bytes(data))


@pytest.mark.parametrize(
    ("name", "names", "fragment"),
    [
        ("MAPI_ATTACH_DATA_OBJ", ["VIA_Nytt_1402.doc", "VIA_Nytt_1402.pdf", "VIA_Nytt_14021.htm"], "bodødamene"),
        ("MAPI_OBJECT", ["AsNew Staff pricelist Oct 02.pdf"], "refurbished HP products"),
        ("attachments", ["zappa_av1.jpg", "bookmark.htm"], "Casdasdfasdfasd"),
        ("body", [], "THE BILL OF RIGHTS"),
        (
            "christmas",
            ["kitten-playing-with-a-christmas-tree.jpg", "Build a train table.eml", "Christmas Celebration!.eml"],
            "Springtime feeling's in the middle of December",
        ),
        ("data-before-name", ["AUTOEXEC.BAT", "CONFIG.SYS", "boot.ini"], "asdf"),
        ("garbage-at-end", [], ""),
        ("long-filename", ["allproductsmar2000.dat"], "temp. license for QARun 4.7"),
        (
            "missing-filenames",
            ["generpts.src", "TechlibDEC99.doc", "TechlibDEC99-JAN00.doc", "TechlibNOV99.doc"],
            "a Date problem",
        ),
        ("multi-value-attribute", ["208225__5_seconds__Voice_Mail.mp3"], "Curie Conf Room"),
        ("one-file", ["AUTHORS"], ""),
        ("panic", ["image001.jpg", "image002.jpg", "image003.png"], "Andreas Wallenberg"),
        ("rtf", [], "aafgag'alga'kgk"),
        ("triples", [], "Sample description"),
        ("two-files", ["AUTHORS", "README"], ""),
        (
            "unicode-mapi-attr-name",
            ["spaconsole2.cfg", "image001.png", "image002.png", "image003.png"],
            "Przesyłam poprawiony plik",
        ),
        ("unicode-mapi-attr", ["example.dat"], "hello world"),
        ("winmail", ["Untitled Attachment", "Untitled Attachment"], "2222222222"),
    ],
)
def test_real_streams(name: str, names: list[str], fragment: str, real_files: Path) -> None:
    """Written by Outlook and Exchange of twenty years."""
    files = real_files / "mimekit/tnef"
    source = MemorySource(b"winmail.dat", (files / f"{name}.tnef").read_bytes())
    found: list[Child] = []
    # `panic` has 17,496 bytes after its end
    with contextlib.suppress(DocumentError) if name == "panic" else contextlib.nullcontext():
        found.extend(HANDLER.children(source, Limits()))
    assert sorted(child.name.decode() for child in found) == sorted(names)
    assert [child.error for child in found] == [None] * len(names)
    for child in found:
        expected = files / name / child.name.decode()
        if expected.is_file() and expected.suffix in (".jpg", ".png", ".pdf", ".mp3", ".doc"):
            assert child.data == expected.read_bytes()
    text = HANDLER.text(source, Limits())
    assert fragment in text.text
    assert (text.error is None) == (name != "panic")
