"""Every byte of an archive is in a member, or in an exception that says how many are not; and what carries an archive
behind a program."""

import io
import struct
import tarfile
import zlib
from collections.abc import Callable
from functools import partial

import pytest
from archive_files import Files, cabinet, cpio, disc, rar, sevenzipped, tarred, zip_entry, zip_member, zip_whole, zipped
from as_found import Found
from bad_files import docx
from old_office import begin, biff, word, workbook
from unpacking import unpack

from core.records import Limits
from dataset_gen.formats import msg, tnef
from dataset_gen.formats.mapi_mail import message_of
from readers.base import MemorySource
from readers.identification.identify import identify
from readers.mail.eml import EmlHandler
from readers.mail_form import MailAttachment, MailForm
from readers.registry import handler_for

ONE, TWO = [("one.txt", b"alphaword text\n")], [("two.txt", b"betaword text\n")]
TRAILING = b"trailingword in clear after the end\n"
AFTER = "bytes after the end"


MAKERS: dict[str, Callable[[Files], bytes]] = {
    "zip": zipped, "tar": tarred, "7z": sevenzipped, "cab": cabinet, "rar": rar, "cpio": cpio, "iso": partial(disc, joliet=True)
}  # fmt: skip


def paths(data: bytes, name: bytes = b"x") -> dict[tuple[str, ...], list[str]]:
    """The path of each item below the loose file, and its exceptions; those of the file itself under ()."""
    found = unpack(name, data)
    return {item.container_path[1:]: found.codes(*item.container_path) for item in found.out.items}


@pytest.mark.parametrize("kind", MAKERS)
def test_bytes_after_the_end(kind: str) -> None:
    """Zeros are padding. Text is a child, an archive is one that is opened; bytes of no known type are counted. Each but the
    zeros is an exception of the archive."""
    archive = MAKERS[kind](ONE)
    assert paths(archive) == {(): [], ("one.txt",): []}
    assert paths(archive + bytes(3000)) == {(): [], ("one.txt",): []}
    assert paths(archive + TRAILING) == {(): ["corrupt"], ("one.txt",): [], (AFTER,): []}
    found = paths(archive + zipped(TWO))
    assert found[(AFTER, "two.txt")] == []
    assert found[()] == ["corrupt"]
    noise = unpack(b"x", archive + b"\x81\0\xfe\x01" * 50)
    (error,) = noise.out.exceptions
    assert "200 bytes after the end" in error.detail
    assert error.missing == 0


DOCUMENTS: dict[bytes, bytes] = {
    b"x.docx": docx("words"),
    b"x.rtf": rb"{\rtf1 words}",
    b"x.emlx": b"35\nFrom: a@b.example\nSubject: s\n\nword\n<?xml version='1.0'?><plist version='1.0'></plist>\n",
    b"winmail.dat": tnef.write(
        message_of(MailForm(subject="s", attachments=(MailAttachment(name="a.txt", data=b"word"),)))
    ),
    b"x.doc": word("words\r"),
    b"x.xls": workbook(biff(begin(), (0x0A, b""))),
    b"x.msg": msg.write_item(message_of(MailForm(subject="s", plain="words"))),
    b"x.dbf": b"\x03\x7c\x01\x01" + struct.pack("<IHH", 1, 65, 6) + bytes(20)
    + b"NAME".ljust(11, b"\0") + b"C" + bytes(4) + b"\5" + bytes(15) + b"\r alpha\x1a",
}  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_bytes_after_the_end_of_a_document(name: bytes) -> None:
    for behind, expected in ((b"", False), (TRAILING, True)):
        source = MemorySource(name, DOCUMENTS[name] + behind)
        handler = handler_for(identify(source, None))
        errors = [handler.text(source, Limits()).error, Found(handler, source.data, name).error]
        assert any(errors) == expected


@pytest.mark.parametrize("behind", [b"epilogueword of the list\r\n", b"\x01\x02\xff" * 40])
def test_bytes_after_the_closing_boundary_of_a_message(behind: bytes) -> None:
    """Short text is text of the message; anything else is an exception that counts it."""
    part = b"--x\r\nContent-Type: text/plain\r\n\r\nbodyword\r\n"
    mail = b"From: a@b.example\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n" + part
    out = EmlHandler().text(MemorySource(b"x.eml", mail + b"--x--\r\n\r\n" + behind), Limits())
    assert "bodyword" in out.text
    assert ("epilogueword" in out.text) != (out.error is not None)


@pytest.mark.parametrize("kind", [kind for kind in MAKERS if kind not in ("iso", "tar")])
def test_one_archive_behind_the_other(kind: str) -> None:
    """The second is a child of the first."""
    assert (AFTER, "two.txt") in paths(MAKERS[kind](ONE) + MAKERS[kind](TWO))


def test_bytes_between_and_before_members_of_a_zip_archive() -> None:
    archive = zipped([*ONE, ("gone.txt", b"hiddenword\n" * 9), *TWO])
    directory = archive.index(b"PK\x01\x02")
    entries = [
        b"PK\x01\x02" + entry for entry in archive[directory : archive.index(b"PK\x05\x06")].split(b"PK\x01\x02")[1:]
    ]
    left = entries[0] + entries[2]
    found = paths(zip_whole(archive[:directory], left, 2))
    assert ("bytes between members", "gone.txt") in found
    assert found[()] == ["corrupt"]
    before = paths(TRAILING * 3 + zipped(ONE), b"x.zip")
    assert before == {(): ["corrupt"], ("one.txt",): [], ("bytes before the beginning",): []}


def test_bytes_in_a_member_behind_its_data() -> None:
    """The announced length has them, the compressed data ends before; a large member is read as a stream."""
    for content in (b"word " * 99, bytes(9_000_000)):
        packed = zlib.compress(content, 1)[2:-4]
        crc, length = zlib.crc32(content), len(packed) + len(TRAILING)
        local = zip_member(b"a", packed + TRAILING, 0, 8, crc, len(content))
        found = paths(zip_whole(local, zip_entry(b"a", 0, length, len(content), 8, crc), 1))
        assert found == {(): ["corrupt"], ("a",): [], ("bytes between members",): []}


def test_directory_entries_with_bytes() -> None:
    assert ("dir/",) in paths(zipped([("dir/", b"hiddenword")]))
    archive = bytearray(tarred([("dir", b"hiddenword")]))
    assert ("dir",) in paths(_typed(archive, 0, b"5"))


def _typed(archive: bytearray, at: int, kind: bytes, size: int | None = None) -> bytes:
    """The tar archive with the header there of another type, and size."""
    archive[at + 156 : at + 157] = kind
    if size is not None:
        archive[at + 124 : at + 136] = b"%011o\0" % size
    archive[at + 148 : at + 156] = b" " * 8
    archive[at + 148 : at + 156] = b"%06o\0 " % sum(archive[at : at + 512])
    return bytes(archive)


@pytest.mark.parametrize("kind", [b"1", b"2", b"5", b"7", b"Q", b"z", b"9"])
def test_tar_entries_of_any_type_with_bytes(kind: bytes) -> None:
    """Links and directories with data, and types that are not known, are regular files (POSIX.1-2017, pax)."""
    assert paths(_typed(bytearray(tarred(ONE + TWO)), 0, kind)) == {(): [], ("one.txt",): [], ("two.txt",): []}


@pytest.mark.parametrize("kind", [b"1", b"2", b"5"])
def test_tar_entries_with_a_size_and_no_bytes(kind: bytes) -> None:
    archive = bytearray(tarred([("one.txt", b""), *TWO]))
    found = paths(_typed(archive, 0, kind, size=4096))
    assert found[("two.txt",)] == []
    assert found[()] == []


def test_tar_archives_one_behind_the_other() -> None:
    whole = {(): [], ("one.txt",): [], ("two.txt",): []}
    assert paths(tarred(ONE) + tarred(TWO)) == whole
    assert paths(tarred(ONE)[:1024] + bytes(512) + tarred(TWO)) == whole


def _sparse(version: str) -> bytes:
    """A sparse file of 3,000 bytes with data at 1,000 and at 2,000, in one of GNU tar's ways; behind it another file."""
    pieces, data = [(1000, 5), (2000, 4)], b"firstlast"
    numbers = [number for piece in pieces for number in piece]
    plain = bytearray(tarred([("disk", data)])[:1024])
    if version == "old":
        plain[386:434] = b"".join(b"%011o\0" % number for number in numbers)
        plain[483:495] = b"%011o\0" % 3000
        return _typed(plain, 0, b"S") + tarred(TWO)
    headers = {"GNU.sparse.name": "disk"}
    if version == "1.0":
        text = "".join(f"{number}\n" for number in (2, *numbers)).encode()
        data = text + bytes(-len(text) % 512) + data
        headers |= {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "3000", "size": "3000"}
    else:
        headers |= {"GNU.sparse.size": "3000", "GNU.sparse.map": ",".join(map(str, numbers))}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("stored")
        info.size, info.pax_headers = len(data), headers
        archive.addfile(info, io.BytesIO(data))
    found = out.getvalue()
    return found[: 1024 + 512 + len(data) + -len(data) % 512] + tarred(TWO)


@pytest.mark.parametrize("version", ["old", "0.1", "1.0"])
def test_sparse_files_are_whole(version: str) -> None:
    found = unpack(b"x.tar", _sparse(version))
    whole = bytearray(3000)
    whole[1000:1005], whole[2000:2004] = b"first", b"last"
    assert found.codes("x.tar") == []
    assert found.store.kept[found.by_path["x.tar", "disk"].id] == whole
    assert ("x.tar", "two.txt") in found.by_path


def test_a_sparse_file_whose_map_does_not_fit() -> None:
    archive = bytearray(_sparse("old").replace(b"%011o\0" % 2000, b"%011o\0" % 900))
    found = unpack(b"x.tar", _typed(archive, 0, b"S"))
    assert ("x.tar", "two.txt") in found.by_path
    assert [error.code for error in found.out.exceptions if "map" in error.detail]


def _program(resources: bytes = b"", signature: int = 0, carried: bytes = b"") -> bytes:
    """A program for Windows with a section of code, resources, what it carries, and a signature of so many bytes."""
    end = 1536 + len(resources)
    optional = bytearray(224)
    struct.pack_into("<H", optional, 0, 0x10B)
    if signature:
        struct.pack_into("<LL", optional, 128, end + len(carried), signature)
    head = b"MZ" + bytes(58) + struct.pack("<L", 64)
    head += b"PE\0\0" + struct.pack("<HHLLLHH", 0x14C, 2, 0, 0, 0, len(optional), 0x102) + optional
    head += struct.pack("<8sLLLL16x", b".text", 512, 0x1000, 512, 1024)
    head += struct.pack("<8sLLLL16x", b".rsrc", len(resources), 0x2000, len(resources), 1536)
    signed = b"\x30\x82".ljust(signature, b"\x7f") if signature else b""
    return head.ljust(1024, b"\0") + b"\x90\xc3" * 256 + resources + carried + signed


@pytest.mark.parametrize("signature", [0, 64])
@pytest.mark.parametrize("kind", ["zip", "7z", "rar", "cab"])
def test_self_extracting_archives(kind: str, signature: int) -> None:
    whole = {(): [], ("one.txt",): [], ("two.txt",): []}
    archive = MAKERS[kind](ONE + TWO)
    assert paths(_program(signature=signature, carried=archive)) == whole
    if not signature:  # of DOS
        assert paths(b"MZ" + b"\x90" * 1000 + archive, b"x.exe") == whole
    if kind == "7z":
        assert paths(_program(carried=b";!@Install@!UTF-8!\n;!@InstallEnd@!" + archive)) == whole
    if kind == "cab":
        assert paths(_program(resources=bytes(100) + archive)) == whole


def test_a_program_alone() -> None:
    for program in (_program(), _program(signature=64), _program(carried=TRAILING)):
        assert paths(program) == {(): []}
