"""Names of children: decoded as their format says, raw bytes kept, duplicates told apart in the container path."""

from __future__ import annotations

import gzip
import io
import random
import struct
import tarfile
import zipfile
import zlib

import pytest
from unpacking import PNG, make_docx, make_mail, make_zip, unpack

from core.names import sibling_name
from core.records import JobOptions
from readers.records import Siblings


def _zip_named(raw: bytes, *, flags: int = 0, extra: bytes = b"") -> bytes:
    """An archive of one member with these bytes as its name, in both headers."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = zipfile.ZipInfo("x" * len(raw))
        info.extra = extra
        archive.writestr(info, b"content")
    data = bytearray(out.getvalue().replace(b"x" * len(raw), raw))
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = data.index(signature) + at
        data[place : place + 2] = struct.pack("<H", flags)
    return bytes(data)


def _unicode_extra(name: str, of: bytes) -> bytes:
    content = b"\x01" + struct.pack("<I", zlib.crc32(of)) + name.encode()
    return struct.pack("<HH", 0x7075, len(content)) + content


@pytest.mark.parametrize(
    ("raw", "flags", "extra", "shown"),
    [
        ("Größe.txt".encode(), 0x800, b"", "Größe.txt"),
        ("Größe.txt".encode(), 0, b"", "Größe.txt"),  # written without a word by many programs
        ("Größe.txt".encode("cp437"), 0, b"", "Größe.txt"),
        (b"Gr??e.txt", 0, _unicode_extra("Größe Ω.txt", b"Gr??e.txt"), "Größe Ω.txt"),
        (b"Gr??e.txt", 0, _unicode_extra("other", b"renamed since"), "Gr??e.txt"),
        (b"caf\xff\xfe.txt", 0, b"", "caf\\xff\\xfe.txt"),  # no letters in any charset that is meant
    ],
)
@pytest.mark.parametrize("cut", [False, True])
def test_zip_names(raw: bytes, flags: int, extra: bytes, shown: str, cut: bool) -> None:
    """UTF-8, code page 437 and Info-ZIP's extra field, with the central directory and without; raw bytes stay."""
    data = _zip_named(raw, flags=flags, extra=extra)
    found = unpack(b"z.zip", data[: data.index(b"PK\x01\x02")] if cut else data)
    (member,) = (item for item in found.out.items if item.depth)
    assert (member.name, member.container_path) == (raw, ("z.zip", shown))


def test_names_in_pax_headers_and_gzip() -> None:
    """A tar's long name in UTF-8; the name in a gzip header is Latin-1 (RFC 1952, 2.3.1)."""
    long = "Größe/" * 40 + "Отчёт.txt"
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo(long)
        info.size = 1
        archive.addfile(info, io.BytesIO(b"x"))
    assert ("t.tar", long) in unpack(b"t.tar", out.getvalue()).by_path
    packed = io.BytesIO()
    with gzip.GzipFile("Größe.txt", "wb", fileobj=packed) as file:
        file.write(b"text")
    assert ("x.gz", "Größe.txt") in unpack(b"x.gz", packed.getvalue()).by_path


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        ("attachment; filename*=UTF-8''%E2%82%AC%20rates.txt", "€ rates.txt"),
        ("attachment; filename*0*=ISO-8859-2''%A9tefan; filename*1=.txt", "Štefan.txt"),
        ('attachment; filename="=?koi8-r?B?79TexdQ=?=.txt"', "Отчет.txt"),
        ("attachment; filename==?iso-2022-jp?B?GyRCTX1NMxsoQg==?=.txt", "理由.txt"),
        ('attachment; filename="=?utf-8?Q?Gr=C3=B6?= =?utf-8?Q?=C3=9Fe.txt?="', "Größe.txt"),
        ('attachment; filename="a \\"quoted\\" name.txt"', 'a "quoted" name.txt'),
        ("attachment; filename=plain.txt; filename*=utf-8''Gr%C3%B6%C3%9Fe.txt", "Größe.txt"),
    ],
)
def test_names_of_attachments(disposition: str, name: str) -> None:
    """RFC 2231 and RFC 2047 in whatever charset, and what mailers make of them."""
    mail = (
        "From: a@b.example\r\nTo: c@d.example\r\nMIME-Version: 1.0\r\n"
        'Content-Type: multipart/mixed; boundary="x"\r\n\r\n--x\r\n\r\ntext\r\n--x\r\n'
        f"Content-Type: text/plain\r\nContent-Disposition: {disposition}\r\n\r\nattached\r\n--x--\r\n"
    )
    found = unpack(b"m.eml", mail.encode())
    (attachment,) = (item for item in found.out.items if item.depth)
    assert (attachment.name, attachment.container_path[-1]) == (name.encode(), name)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_siblings_of_one_name_have_paths_of_their_own() -> None:
    mail = make_mail("s", "t", {"a.png": PNG, "b.png": PNG}).replace(b"b.png", b"a.png")
    found = unpack(b"m.eml", mail)
    assert set(found.by_path) == {("m.eml",), ("m.eml", "a.png"), ("m.eml", "a.png (2)")}
    assert {item.name for item in found.out.items if item.depth} == {b"a.png"}
    twice = make_zip([("n.txt", b"1"), ("dir/", b""), ("n.txt", b"2"), ("d.docx", make_docx()), ("n.txt", b"3")])
    paths = [item.container_path[-1] for item in unpack(b"z.zip", twice).out.items if item.depth == 1]
    assert paths == ["n.txt", "n.txt (2)", "d.docx", "n.txt (3)"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_which_sibling_it_is_does_not_depend_on_ranges() -> None:
    random_ = random.Random(3)
    data = make_zip([(f"{random_.randrange(5)}.txt", b"%d" % n) for n in range(40)], stored=True)
    whole, parts = unpack(b"z", data), unpack(b"z", data, options=JobOptions(split_bytes=10), defer=True)
    assert parts.deferred > 3
    assert len(set(whole.by_path)) == 41
    assert {item.id: item.container_path for item in whole.out.items} == {
        item.id: item.container_path for item in parts.out.items
    }


def test_names_are_compared_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("readers.records._MOST_NAMES", 3)
    names = Siblings()
    assert [names.occurrence(b"n") for _ in range(5)] == [1, 2, 3, 1, 1]
    assert [sibling_name("n", n) for n in (1, 2)] == ["n", "n (2)"]
