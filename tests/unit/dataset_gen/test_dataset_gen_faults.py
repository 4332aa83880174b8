"""Faulty documents under readers that the pipeline does not use: they are faulty in the way that is stated."""

import email
import email.errors
import email.policy
import gzip
import io
import struct
import zipfile

import py7zr
import pytest
from PIL import Image

from dataset_gen.faults import ATTACHABLE, FILES
from dataset_gen.faults.documents import BOMB_BYTES
from dataset_gen.faults.mail import PASSWORD
from dataset_gen.made import Made
from dataset_gen.profile import load_profile
from dataset_gen.workshop import Workshop

KEYS = ("one", "two", "three")


@pytest.fixture(scope="module")
def shop() -> Workshop:
    return Workshop(load_profile("reference"), 4, 0.01)


def made(shop: Workshop, kind: str) -> list[Made]:
    return [shop.document(kind, f"faults/{key}", FILES[kind][1]) for key in KEYS]


def archive(data: bytes) -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(data))


def test_tables_agree(shop: Workshop) -> None:
    assert set(ATTACHABLE) <= set(FILES)
    for kind, (_, size) in FILES.items():
        document = made(shop, kind)[0]
        assert document.truth.fault == kind
        assert size / 2 - 500 <= len(document.data) <= size * 2 + 500, (kind, len(document.data))


def test_flipped_bits_break_one_checksum(shop: Workshop) -> None:
    """One member of the zip, one sheet of the workbook, and nothing else."""
    for document in made(shop, "flipped_zip"):
        with archive(document.data) as opened:
            bad = opened.testzip()
            whole = [info.filename for info in opened.infolist() if info.filename != bad]
            assert [child.name.decode() for child in document.truth.children] == whole
    for document in made(shop, "flipped_xlsx"):
        with archive(document.data) as opened:
            names = [info.filename for info in opened.infolist()]
            broken = [name for name in names if not _sound(opened, name)]
            assert broken == ["xl/worksheets/sheet1.xml"]


def _sound(opened: zipfile.ZipFile, name: str) -> bool:
    try:
        opened.read(name)
    except (zipfile.BadZipFile, zipfile.zlib.error):  # type: ignore[attr-defined]
        return False
    return True


def test_encrypted_7z_opens_with_the_password_only(shop: Workshop) -> None:
    announced = []
    for number in range(8):
        document = shop.document("encrypted_7z", f"faults/{number}", 1500)
        announced.append(document.truth.announced is None)
        with py7zr.SevenZipFile(io.BytesIO(document.data), password=PASSWORD) as opened:
            assert opened.testzip() is None
        with pytest.raises(py7zr.PasswordRequired), py7zr.SevenZipFile(io.BytesIO(document.data)) as opened:
            opened.testzip()
    assert set(announced) == {True, False}


def test_bombs_are_small_and_become_large(shop: Workshop) -> None:
    """200 MB each, of which nothing is unpacked here."""
    for document in made(shop, "gzip_bomb"):
        assert struct.unpack("<L", document.data[-4:])[0] == BOMB_BYTES
        with gzip.open(io.BytesIO(document.data)) as opened:
            assert opened.read(1 << 20) == bytes(1 << 20)
    for document in made(shop, "nested_bomb"):
        assert len(document.data) < 5000
        with archive(document.data) as outer, archive(outer.read("inner.zip")) as inner:
            assert [info.file_size for info in inner.infolist()] == [BOMB_BYTES]


def test_missing_parts_are_missing(shop: Workshop) -> None:
    """The main part of the document is announced and not there; other volumes would be needed."""
    for document in made(shop, "docx_without_text"):
        with archive(document.data) as opened:
            assert b"/word/document.xml" in opened.read("[Content_Types].xml")
            assert "word/document.xml" not in opened.namelist()
    for document in made(shop, "split_zip"):
        end = document.data.rindex(b"PK\5\6")
        assert struct.unpack_from("<HHHH", document.data, end + 4) == (2, 2, 4, 4)
    for document in made(shop, "split_7z"):
        offset, length = struct.unpack_from("<QQ", document.data, 12)
        assert 32 + offset + length > len(document.data)


def test_cut_files_end_early(shop: Workshop) -> None:
    for document in made(shop, "truncated_jpg"):
        with Image.open(io.BytesIO(document.data)) as picture, pytest.raises(OSError, match="truncated"):
            picture.load()
    for document in made(shop, "truncated_pdf"):
        assert b"%%EOF" not in document.data
    for document in made(shop, "truncated_docx"):
        with pytest.raises(zipfile.BadZipFile):
            archive(document.data)


@pytest.mark.parametrize(
    ("kind", "defect"),
    [
        ("open_multipart", email.errors.CloseBoundaryNotFoundDefect),
        ("truncated_eml", email.errors.CloseBoundaryNotFoundDefect),
        ("broken_base64", email.errors.InvalidBase64CharactersDefect),
        ("late_damage", email.errors.InvalidBase64CharactersDefect),
    ],
)
def test_broken_mail_is_broken(shop: Workshop, kind: str, defect: type[email.errors.MessageDefect]) -> None:
    for document in made(shop, kind):
        message = email.message_from_bytes(document.data, policy=email.policy.default)
        parts = list(message.walk())
        for part in parts:
            if not part.is_multipart():
                part.get_payload(decode=True)
        assert defect in {type(found) for part in parts for found in part.defects}


def test_one_part_of_a_message(shop: Workshop) -> None:
    """RFC 2046, 5.2.2: number two of three."""
    for document in made(shop, "partial_message"):
        header = email.message_from_bytes(document.data, policy=email.policy.default)["content-type"]
        assert (header.content_type, header.params["number"], header.params["total"]) == ("message/partial", "2", "3")


def test_wrong_names_are_sound_files(shop: Workshop) -> None:
    for document in made(shop, "exe_as_doc"):
        assert document.data.startswith(b"MZ")
        assert document.data.startswith(b"PE\0\0", struct.unpack_from("<L", document.data, 60)[0])
    for document in made(shop, "jpg_as_txt"):
        with Image.open(io.BytesIO(document.data)) as picture:
            picture.load()
    for document in made(shop, "docx_as_pdf"):
        with archive(document.data) as opened:
            assert opened.testzip() is None
