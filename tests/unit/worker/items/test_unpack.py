"""The unpack engine over real containers."""

import gzip
import hashlib
import io
import random
import re
import struct
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import pypdfium2 as pdfium
import pypdfium2.raw as pdf
import pytest
from archive_files import RAR_OF_WINRAR, cabinet, cpio, disc
from fuzz_targets import FORMATS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutants.changes import mutated
from outlook_forms import SAMPLE
from unpacking import JOB, PNG, Unpacked, make_docx, make_mail, make_mbox, make_tar, make_zip, unpack

from core.names import sibling_name
from core.places import item_id, number
from core.records import JobOptions, Limits
from dataset_gen.formats.mapi_mail import message_of
from dataset_gen.formats.msg import write_item as write_msg
from dataset_gen.profile import load_profile
from dataset_gen.workshop import Workshop
from readers import cfb, registry
from readers.base import Child, LeafHandler, MessageHashes, Part, Source, Text
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import _REGISTERED, register_magic
from readers.mail_form import MailAttachment
from readers.office.ole.compound import CompoundFile, DirectoryEntry
from readers.records import Kind, Siblings
from readers.registry import handler_for


def test_a_zip_in_a_zip() -> None:
    inner = make_zip({"deep.txt": b"deep"})
    found = unpack(b"a/out.zip", make_zip({"dir/": b"", "in.zip": inner, "top.txt": b"top"}))
    items = found.by_path
    assert set(items) == {
        ("a/out.zip",),
        ("a/out.zip", "in.zip"),
        ("a/out.zip", "in.zip", "deep.txt"),
        ("a/out.zip", "top.txt"),
    }
    outer, nested = items["a/out.zip",], items["a/out.zip", "in.zip"]
    deep, top = items["a/out.zip", "in.zip", "deep.txt"], items["a/out.zip", "top.txt"]
    assert (nested.ordinal, top.ordinal, deep.ordinal) == (number(1), number(2), number(0))
    assert (outer.depth, nested.depth, deep.depth) == (0, 1, 2)
    assert nested.container
    assert nested.family is None
    assert (deep.family, top.family) == (deep.id, top.id)
    assert deep.parent == nested.id
    assert deep.kind is top.kind is Kind.ARCHIVE_MEMBER
    assert deep.id == item_id(JOB, nested.id, number(0))
    assert deep.sha256 == hashlib.sha256(b"deep").digest()
    assert deep.custodian == 3
    assert found.store.kept[deep.id] == b"deep"
    assert found.count("a/out.zip") == (2, 2, 0, False)
    assert found.count("a/out.zip", "in.zip") == (1, 1, 0, False)
    assert found.out.extracted_bytes == len(inner) + 4 + 3
    assert found.out.exceptions == []


def test_a_name_that_states_more_than_was_read() -> None:
    page = b"<html><body>not found</body></html>"
    loose = [
        unpack(name, data).out.exceptions for name, data in ((b"a.docx", b"plain"), (b"a.pdf", page), (b"a.txt", page))
    ]
    assert [[e.code for e in each] for each in loose] == [["corrupt"], ["corrupt"], []]
    found = unpack(b"a.zip", make_zip({"a.jpg": b"plain", "b.jpg": make_zip({"c.txt": b"c"}), "d.xls": b"plain"}))
    assert [(e.item, e.code) for e in found.out.exceptions] == [(found.by_path["a.zip", "a.jpg"].id, "corrupt")]
    assert ("a.zip", "b.jpg", "c.txt") in found.by_path


def test_mail_in_an_mbox() -> None:
    mail = make_mail("one", attachments={"a.bin": b"\1\2\3", "b.zip": make_zip({"in.txt": b"in"})})
    second = make_mail("two")
    data = make_mbox(mail, second)
    found = unpack(b"x.mbox", data)
    offset = data.index(b"From ann", 10)
    message, other = found.by_path["x.mbox", "message@0"], found.by_path["x.mbox", f"message@{offset}"]
    attached = found.by_path["x.mbox", "message@0", "a.bin"]
    inside = found.by_path["x.mbox", "message@0", "b.zip", "in.txt"]
    assert message.kind is Kind.MESSAGE
    assert message.media_type == "message/rfc822"
    assert (message.family, other.family) == (message.id, other.id)
    assert message.ordinal == number(0)
    assert other.ordinal == number(offset)
    assert message.content_hash
    assert message.message_id_hash == hashlib.md5(b"<6f6e65@example.org>").digest()
    assert message.sha256 == hashlib.sha256(mail).digest()
    assert attached.kind is Kind.ATTACHMENT
    assert attached.family == message.id
    assert inside.family == message.id
    assert inside.kind is Kind.ARCHIVE_MEMBER
    assert found.count("x.mbox") == (None, 2, 0, False)
    assert found.count("x.mbox", "message@0") == (None, 2, 0, False)
    assert other.id not in found.counts()  # a message without attachments holds nothing


def test_a_tar_gz_and_a_link_in_it() -> None:
    """Members of the tar are children of the .tar.gz itself; a link has a row and its code, but no bytes."""
    found = unpack(b"t.tar.gz", make_tar({"a.txt": b"aa", "b/c.txt": b"ccc"}, link="b/link"))
    assert found.by_path["t.tar.gz", "b/c.txt"].ordinal == number(1)
    link = found.by_path["t.tar.gz", "b/link"]
    assert (link.size, link.sha256, link.media_type) == (0, None, "inode/symlink")
    assert found.codes("t.tar.gz", "b/link") == ["symlink"]
    assert link.id not in found.store.kept
    assert found.count("t.tar.gz") == (None, 3, 0, False)


def test_a_docx_with_a_picture() -> None:
    """A document is no container, but what it embeds is an item of its family."""
    found = unpack(b"d.docx", make_docx())
    document, picture = found.by_path["d.docx",], found.by_path["d.docx", "image1.png"]
    assert not document.container
    assert document.family == document.id == picture.family == picture.parent
    assert picture.kind is Kind.EMBEDDED_OBJECT
    assert picture.media_type == "image/png"
    assert picture.sha256 == hashlib.sha256(PNG).digest()
    assert found.count("d.docx") == (None, 1, 0, False)


NESTED = make_zip(
    {
        "m.mbox": make_mbox(*(make_mail(f"mail {n}", attachments={"x.bin": bytes([n]) * 50}) for n in range(9))),
        "a.docx": make_docx(),
        "t.tar.gz": make_tar({f"{n}.txt": b"%d" % n * 40 for n in range(9)}),
        "plain.txt": b"words " * 99,
        "../up.txt": b"hostile",
        "empty.txt": b"",
    }
)


def test_two_runs_find_the_same_and_every_item_once_with_its_bytes() -> None:
    first, again = unpack(b"n.zip", NESTED), unpack(b"n.zip", NESTED)
    assert first.out == again.out
    assert first.seen == [(item, True) for item in first.out.items]
    assert len({item.id for item in first.out.items}) == len(first.out.items) == 1 + 6 + 9 + 9 + 1 + 9
    assert first.codes("n.zip", "../up.txt") == ["unsafe_name"]
    assert first.codes("n.zip", "empty.txt") == ["zero_bytes"]


def _doll(levels: int) -> bytes:
    data = make_zip({"heart.txt": b"heart"})
    for _ in range(levels):
        data = make_zip({"in.zip": data})
    return data


@pytest.mark.parametrize("defer", [False, True])
def test_the_nesting_limit(defer: bool) -> None:
    options = JobOptions(limits=Limits(depth=3), split_bytes=10 if defer else 10**9)
    found = unpack(b"a.zip", _doll(5), options=options, defer=defer)
    assert max(item.depth for item in found.out.items) == 3
    closed = ("a.zip", "in.zip", "in.zip", "in.zip")
    assert found.codes(*closed) == ["nesting_limit"]
    assert found.count(*closed) == (1, 0, 1, False)
    assert found.count("a.zip") == (1, 1, 0, False)


def test_the_nesting_limit_holds_for_members_that_were_handed_on() -> None:
    options = JobOptions(limits=Limits(depth=1), split_bytes=10)
    found = unpack(b"a.tgz", make_tar({"in.zip": _doll(1)}), options=options, defer=True)
    assert [item.depth for item in found.out.items] == [0, 1]
    assert found.codes("a.tgz", "in.zip") == ["nesting_limit"]


def test_the_nesting_limit_does_not_trouble_leaves_and_plain_mail() -> None:
    """Only what would have children is an exception at the limit; a document that has some gets it as its own."""
    members = {"a.txt": b"text", "m.eml": make_mail("plain"), "d.docx": make_docx()}
    found = unpack(b"a.zip", make_zip(members), limits=Limits(depth=1))
    assert found.codes("a.zip", "a.txt") == found.codes("a.zip", "m.eml") == []
    assert found.codes("a.zip", "d.docx") == ["nesting_limit"]


@pytest.mark.parametrize("size", [40_000, 9_000_000])  # handed out as bytes; as a stream
def test_a_bomb_is_stopped_and_its_siblings_stay(size: int) -> None:
    limits = Limits(expansion_floor=1_000, expansion_ratio=0.5)
    found = unpack(b"b.zip", make_zip({"a.txt": b"before", "bomb": bytes(size), "z.txt": b"after"}), limits=limits)
    assert set(found.by_path) == {("b.zip",), ("b.zip", "a.txt"), ("b.zip", "z.txt")}
    assert found.codes("b.zip") == ["expansion_limit"]
    assert found.count("b.zip") == (3, 2, 1, False)
    (bomb,) = found.out.exceptions
    assert bomb.missing == 1
    assert "'bomb'" not in bomb.detail
    assert "bomb" in bomb.detail


def test_a_gzip_bomb_that_announces_nothing() -> None:
    limits = Limits(expansion_floor=100_000, expansion_ratio=1.0)
    found = unpack(b"b.gz", gzip.compress(bytes(40_000_000)), limits=limits)
    assert list(found.by_path) == [("b.gz",)]
    assert found.codes("b.gz") == ["expansion_limit"]
    assert found.count("b.gz") == (None, 0, 1, False)


def test_the_children_limit() -> None:
    found = unpack(b"a.zip", make_zip({f"{n}.txt": b"x" for n in range(10)}), limits=Limits(children=4))
    assert len(found.out.items) == 1 + 4
    assert found.codes("a.zip") == ["children_limit"]
    assert found.count("a.zip") == (10, 4, 6, False)
    tar = unpack(b"a.tar", make_tar({"a": b"x"}, mode="w", link="b"), limits=Limits(children=1))
    assert tar.count("a.tar") == (None, 1, 1, False)


@pytest.mark.parametrize("target", [(), ("x.zip",)])
def test_a_convicted_item_is_not_opened(target: tuple[str, ...]) -> None:
    data = make_zip({"x.zip": make_zip({"in.txt": b"in"}), "y.txt": b"y"})
    ident = unpack(b"c.zip", data).by_path[("c.zip", *target)].id
    convicted = {ident: (ExceptionCode.KILLED_PARSER, "the slot ended with SIGABRT")}
    found = unpack(b"c.zip", data, convicted=convicted)
    assert found.codes("c.zip", *target) == ["killed_parser"]
    assert {item.id: readable for item, readable in found.seen}[ident] is False
    assert not any(item.parent == ident for item in found.out.items)
    assert (("c.zip", "y.txt") in found.by_path) is bool(target)


def test_a_convicted_stream_is_not_even_copied() -> None:
    data = make_zip({"big": bytes(9_000_000), "y.txt": b"y"})
    ident = item_id(JOB, item_id(JOB, None, b"c.zip"), number(0))
    found = unpack(b"c.zip", data, convicted={ident: (ExceptionCode.TIMEOUT, "late")})
    big = found.by_path["c.zip", "big"]
    assert (big.id, big.sha256) == (ident, None)
    assert found.codes("c.zip", "big") == ["timeout"]
    assert found.store.kept[found.by_path["c.zip", "y.txt"].id] == b"y"
    assert found.count("c.zip") == (2, 2, 0, False)


class _Clumsy(LeafHandler):
    """Fails where its bytes say."""

    name = "clumsy"
    media_types: tuple[str, ...] = ("application/x-clumsy",)
    container = True

    def announced(self, source: Source) -> int | None:
        if b"announced" in source.head:
            raise KeyError("announced")
        return 3 if b"known" in source.head else None

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        yield Child(name=b"first", kind=Kind.ARCHIVE_MEMBER, ordinal=0, data=b"first")
        if b"children" in source.head:
            raise IndexError("no such thing")
        if b"memory" in source.head:
            raise MemoryError
        if b"deep" in source.head:
            raise RecursionError("too deep")
        if b"error" in source.head:
            raise DocumentError(ExceptionCode.CORRUPT, "two are gone", missing=2)

    def text(self, source: Source, limits: Limits) -> Text:
        return Text()

    def message_hashes(self, source: Source, limits: Limits) -> MessageHashes | None:
        raise TypeError("no hashes")


class _Short(LeafHandler):
    """Announces three children; its bytes say what becomes of them."""

    name = "short"
    media_types: tuple[str, ...] = ("application/x-short",)
    container = True
    splits = True

    def announced(self, source: Source) -> int | None:
        return 3

    def parts(self, source: Source, target_bytes: int) -> list[Part]:
        return [Part(start=0, stop=2, announced=2), Part(start=2, stop=3, announced=1)]

    def children(self, source: Source, limits: Limits, part: Part | None = None):  # type: ignore[no-untyped-def]
        if part is None or part.start == 0:
            error = DocumentError(ExceptionCode.CORRUPT, "two inside it are gone", missing=2)
            broken = error if b"inside" in source.head else None
            yield Child(name=b"first", kind=Kind.ARCHIVE_MEMBER, ordinal=0, data=b"first", error=broken)
        if b"raises" in source.head:
            raise DocumentError(ExceptionCode.TRUNCATED, "it ends")

    def text(self, source: Source, limits: Limits) -> Text:
        return Text()


@pytest.fixture
def _handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_HANDLERS", dict(registry._HANDLERS))
    monkeypatch.setattr("readers.identification.identify._REGISTERED", dict(_REGISTERED))
    registry.register([_Clumsy(), _Short()])
    register_magic({b"CLUMSY": "application/x-clumsy", b"SHORT": "application/x-short"})


@pytest.mark.usefixtures("_handlers")
@pytest.mark.parametrize(
    ("where", "code", "count"),
    [
        (b"children", "handler_error", (None, 1, 1, True)),
        (b"children known", "handler_error", (3, 1, 2, False)),
        (b"announced", "handler_error", (None, 0, 1, True)),
        (b"memory", "memory", (None, 1, 1, True)),
        (b"deep", "nesting_limit", (None, 1, 1, True)),
        (b"error", "corrupt", (None, 1, 2, False)),
    ],
)
def test_an_unforeseen_error_in_a_handler(where: bytes, code: str, count: tuple[int | None, int, int, bool]) -> None:
    """A parser's bug is its document's exception: what it gave before stays, and the rest of the file is read."""
    found = unpack(b"c.zip", make_zip({"a.clumsy": b"CLUMSY " + where, "z.txt": b"z"}))
    assert found.codes("c.zip", "a.clumsy") == [code]
    assert found.count("c.zip", "a.clumsy") == count
    assert ("c.zip", "z.txt") in found.by_path
    if code == "handler_error":
        assert any("KeyError" in e.detail or "IndexError" in e.detail for e in found.out.exceptions)


def test_an_encrypted_member_is_failed_and_reported_once() -> None:
    data = bytearray(make_zip({"a.txt": b"a", "b.txt": b"b", "c.txt": b"c"}, stored=True))
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        where = -1
        for _ in range(2):  # the flag of the first two members
            where = data.index(signature, where + 1)
            data[where + at] |= 1
    found = unpack(b"e.zip", bytes(data))
    (only,) = found.out.exceptions
    assert (only.code, only.missing, only.level.value) == (ExceptionCode.ENCRYPTED, 2, "node")
    assert found.count("e.zip") == (3, 1, 2, False)


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


def test_names_are_compared_up_to_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("readers.records._MOST_NAMES", 3)
    names = Siblings()
    assert [names.occurrence(b"n") for _ in range(5)] == [1, 2, 3, 1, 1]
    assert [sibling_name("n", n) for n in (1, 2)] == ["n", "n (2)"]


FORM = replace(
    SAMPLE,
    attachments=tuple(
        MailAttachment(name=f"a{n}.bin", data=bytes([n]) * 900, media_type="application/x-a") for n in range(3)
    ),
)


def _mail() -> bytes:
    return make_mail("s", "text", {"a.bin": b"a" * 300, "b.bin": b"b" * 300})


def _pdf() -> bytes:
    document = pdfium.PdfDocument.new()
    document.new_page(100, 100)
    for n in range(3):
        name = (f"a{n}.txt" + "\0").encode("utf-16-le")
        file = pdf.FPDFDoc_AddAttachment(document, (pdf.FPDF_WCHAR * (len(name) // 2)).from_buffer_copy(name))
        pdf.FPDFAttachment_SetFile(file, document, bytes([n]) * 300, 300)
    out = io.BytesIO()
    document.save(out)
    document.close()
    undated = re.sub(rb"(?<=[(]D:)\d{14}", b"20261121000000", out.getvalue())
    return re.sub(rb"(?<=<)[0-9A-F]{32}(?=>)", b"0" * 32, undated)  # ids that are drawn


def _rtf() -> bytes:
    picture = rb"{\pict\pngblip " + (b"\x89PNG\r\n\x1a\n" + bytes(60)).hex().encode() + b"}"
    return rb"{\rtf1\ansi text " + picture * 3 + b"}"


def _vcf() -> bytes:
    one = b"BEGIN:VCARD\r\nVERSION:3.0\r\nFN:N\r\nPHOTO;ENCODING=b;TYPE=JPEG:/9j/4AAQSkZJRgABAQEASA==\r\nEND:VCARD\r\n"
    return one * 3


def _made(fmt: str) -> Callable[[], bytes]:
    return lambda: _shop().document(fmt, f"counts/{fmt}", 3_000).data


@cache
def _shop() -> Workshop:
    return Workshop(load_profile("reference"), 5, 0.001)


_TWO = [("a.txt", b"a" * 600), ("b.txt", b"b" * 900)]
_MAKERS: dict[str, Callable[[], bytes]] = {
    "message/rfc822": _mail,
    "application/mbox": lambda: make_mbox(*[_mail()] * 3),
    "application/zip": lambda: make_zip({"a.txt": b"a" * 700, "b.txt": b"b" * 900, "dir/": b"", "m.eml": _mail()}),
    "application/x-tar": lambda: make_tar({"a": b"a" * 600, "b": b"b", "m.eml": _mail()}, mode="w"),
    "application/gzip": lambda: make_tar({"a": b"a" * 600, "b": b"b"}),
    "application/x-bzip2": lambda: make_tar({"a": b"a" * 600, "b": b"b"}, mode="w:bz2"),
    "application/x-xz": lambda: make_tar({"a": b"a" * 600, "b": b"b"}, mode="w:xz"),
    "application/x-iso9660-image": lambda: disc([(f"{n}", bytes([n]) * 3000) for n in range(4)]),
    "application/pdf": _pdf,
    "application/rtf": _rtf,
    "text/vcard": _vcf,
    "application/vnd.ms-outlook": lambda: write_msg(message_of(FORM)),
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": make_docx,
    "application/x-7z-compressed": _made("7z"),
    "application/vnd.ms-tnef": _made("tnef"),
    "application/vnd.ms-outlook-pst": _made("pst"),
    "application/x-archive": lambda: FORMATS["ar"][2],
    "application/x-cpio": lambda: cpio(_TWO),
    "application/vnd.ms-cab-compressed": lambda: cabinet(_TWO),
    "application/vnd.rar": lambda: RAR_OF_WINRAR,
}


@cache
def _sample(media_type: str) -> bytes:
    return _MAKERS[media_type]()


def _check(found: Unpacked) -> None:
    """Counts and rows agree for every item; each failed child is in a node-level exception that says how many."""
    rows = Counter(item.parent for item in found.out.items)
    missing: Counter[object] = Counter()
    for e in found.out.exceptions:
        assert e.detail
        if e.level.value == "node":
            missing[e.item] += 1 if e.missing is None else e.missing
    counts = found.counts()
    for ident, (announced, emitted, failed, unknown) in counts.items():
        assert (emitted, failed) == (rows[ident], missing[ident])
        assert announced is None or unknown or announced == emitted + failed
    assert rows.keys() - {None} <= counts.keys()
    assert len({item.id for item in found.out.items}) == len(found.out.items)


@pytest.mark.parametrize("media_type", sorted(_MAKERS))
def test_undamaged(media_type: str) -> None:
    found = unpack(b"x", _sample(media_type))
    (loose,) = (item for item in found.out.items if item.parent is None)
    assert loose.media_type == media_type
    announced, emitted, failed, unknown = found.counts()[loose.id]
    assert (emitted > 0, failed, unknown) == (True, 0, False)
    (declared,) = (d for d in handler_for(media_type).declared if media_type in (d.media_types or (media_type,)))
    assert announced == (emitted if declared.announces else None)


_QUIET = settings(suppress_health_check=list(HealthCheck))


@given(st.sampled_from(sorted(_MAKERS)), st.integers(0, 1 << 40), st.sampled_from([300, 10**9]), st.booleans())
@_QUIET
def test_damaged(media_type: str, seed: int, split_bytes: int, tight: bool) -> None:
    data = mutated(random.Random(seed), _sample(media_type), [_sample("application/zip")])
    limits = Limits(expansion_floor=60_000 if tight else 1_000_000, expansion_ratio=1.0, children=60, depth=3)
    options = JobOptions(limits=limits, split_bytes=split_bytes)
    found = unpack(b"x", data, options=options, defer=True)
    _check(found)
    assert unpack(b"x", data, options=options, defer=True).out == found.out


@pytest.mark.usefixtures("_handlers")
@pytest.mark.parametrize("split_bytes", [1, 10**9])
@pytest.mark.parametrize(("how", "code"), [(b"", "corrupt"), (b"raises", "truncated")])
def test_what_a_handler_states_nothing_of_is_named(how: bytes, code: str, split_bytes: int) -> None:
    found = unpack(b"s", b"SHORT " + how, options=JobOptions(split_bytes=split_bytes), defer=True)
    assert found.count("s") == (3, 1, 2, False)
    assert sum(e.missing or 0 for e in found.out.exceptions) == 2
    assert {(e.code.value, e.level.value) for e in found.out.exceptions} == {(code, "node")}
    _check(found)


@pytest.mark.usefixtures("_handlers")
def test_children_that_are_missing_from_a_child() -> None:
    found = unpack(b"z.zip", make_zip({"s": b"SHORT inside"}))
    assert found.codes("z.zip", "s", "first") == ["corrupt"]
    assert found.count("z.zip", "s", "first") == (None, 0, 2, False)
    assert found.count("z.zip", "s") == (3, 1, 2, False)


@pytest.mark.usefixtures("_handlers")
def test_ranges_of_a_convicted_container() -> None:
    """A container that kills its readers counts what it announced as missing."""
    whole = unpack(b"s", b"SHORT")
    convicted = {whole.by_path[("s",)].id: (ExceptionCode.KILLED_PARSER, "it killed")}
    found = unpack(b"s", b"SHORT", convicted=convicted)
    assert found.codes("s") == ["killed_parser"]
    assert found.count("s") == (None, 0, 1, True)


def _without(entry: DirectoryEntry, compound: CompoundFile, name: str) -> cfb.Storage:
    kept = [e for e in entry.children if name not in e.name]
    streams = {e.name: compound.read(e) for e in kept if not e.storage}
    return cfb.Storage(entry.name, entry.class_id, streams, [_without(e, compound, name) for e in kept if e.storage])


@pytest.mark.parametrize(("gone", "emitted", "missing"), [("#00000001", 2, 1), ("__attach", 0, 3)])
def test_attachments_that_a_message_announces(gone: str, emitted: int, missing: int) -> None:
    """An MSG says how many attachments it has ([MS-OXMSG] 2.4.1.1); those that are not there are missing."""
    compound = CompoundFile(write_msg(message_of(FORM)))
    found = unpack(b"m.msg", cfb.write(_without(compound.root, compound, gone)))
    assert found.count("m.msg") == (None, emitted, missing, False)
    (only,) = found.out.exceptions
    assert (only.code.value, only.level.value, only.missing) == ("corrupt", "node", missing)


def test_a_message_cut_short_has_an_unknown_remainder() -> None:
    data = make_mail("s", "text", {"a.bin": b"a" * 300, "b.bin": b"b" * 300})
    found = unpack(b"m.eml", data[: data.index(b"b.bin") + 120])
    assert found.count("m.eml") == (None, 2, 1, True)


@cache
def _mbox() -> bytes:
    mails = [make_mail(f"s{n}", "line\n" * (n % 7), {"a.bin": b"x" * n} if n % 3 else {}) for n in range(25)]
    return make_mbox(*mails)


@cache
def _zip() -> bytes:
    members = {f"{n}.txt": random.Random(n).randbytes(n * 7) for n in range(20)}
    return make_zip(members | {"m.mbox": _mbox()[:3_000], "d.docx": make_docx(), "dir/": b""})


_SPLIT: dict[str, Callable[[], bytes]] = {
    "mbox": _mbox,
    "zip": _zip,
    "tgz": lambda: make_tar({"a.zip": _zip(), "b.txt": b"b"}),
    "nested": lambda: make_zip({"m.mbox": NESTED, "a.tar.gz": make_tar({"in.zip": NESTED, "c": b"c"})}, stored=True),
    "doubles": lambda: make_zip([(f"{n * n % 5}.txt", b"%d" % n) for n in range(40)], stored=True),
}


@cache
def _whole(kind: str) -> tuple[bytes, Unpacked]:
    data = _SPLIT[kind]()
    return data, unpack(b"c", data)


@given(st.integers(1, 9_000), st.sampled_from(sorted(_SPLIT)))
@_QUIET
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_split_or_not_the_same_items(split_bytes: int, kind: str) -> None:
    """However a container is cut into ranges, every child is found exactly once, with the same id and row. (The limits
    are out of reach: what is left to others is divided among them, and ranges of a byte have shares of a few.)"""
    data, whole = _whole(kind)
    limits = Limits(expansion_floor=10**12, children=10**12, hand_ons=10**12)
    parts = unpack(b"c", data, options=JobOptions(split_bytes=split_bytes, limits=limits), defer=True)
    assert sorted(map(repr, parts.out.items)) == sorted(map(repr, whole.out.items))
    assert sorted(map(repr, parts.out.exceptions)) == sorted(map(repr, whole.out.exceptions))
    assert parts.counts() == whole.counts()
