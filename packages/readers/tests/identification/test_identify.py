"""readers.identification.identify: what items are, by their bytes."""

import re
import subprocess
import sys
import tarfile
import zipfile
from random import Random

import pytest
from archive_files import tarred, zipped
from hypothesis import given
from hypothesis import strategies as st

from readers.base import MemorySource
from readers.cfb import Storage, write
from readers.errors import ExceptionCode
from readers.identification import text as identify_text
from readers.identification.identify import identify
from readers.identification.lesser import read_as_less
from readers.registry import all_handlers

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
MAIL = b"Received: from a\r\nFrom: a@b.example\r\nSubject: hi\r\n\r\nbody\r\n"


def what(data: bytes, name: bytes = b"", declared: str | None = None) -> str:
    return identify(MemorySource(name, data), declared)


def package(*names: str, content: bytes = b"x" * 3000) -> bytes:
    return zipped([(name, content) for name in names], zipfile.ZIP_STORED)


def compound(*names: str) -> bytes:
    return write(Storage(streams=dict.fromkeys(names, b"")))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "inode/x-empty"),
        (b"%PDF-1.7\n", "application/pdf"),
        (b"\0\1\2junk" * 20 + b"%PDF-1.7\n\0", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png"),
        (b"GIF89a\1\0\1\0", "image/gif"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
        (b"II*\0\x08\0\0\0", "image/tiff"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0", "image/bmp"),
        (b"\x1f\x8b\x08\0rest", "application/gzip"),
        (b"7z\xbc\xaf\x27\x1c\0\4", "application/x-7z-compressed"),
        (b"Rar!\x1a\x07\0", "application/vnd.rar"),
        (b"MSCF\0\0\0\0", "application/vnd.ms-cab-compressed"),
        (b"!<arch>\ndebian-binary   ", "application/x-archive"),
        (b"070701" + b"0" * 104 + b"a\0", "application/x-cpio"),
        (b"070707" + b"0" * 70 + b"a\0", "application/x-cpio"),
        (bytes.fromhex("e4525c7b8cd8a74daeb15378d02996d3") + bytes(99), "application/onenote"),
        (bytes.fromhex("a12fff43d9ef764c9ee210ea5722765f") + bytes(99), "application/onenote"),
        (b"!BDN\0\0\0\0", "application/vnd.ms-outlook-pst"),
        (b"\x78\x9f\x3e\x22\0\0", "application/vnd.ms-tnef"),
        (b"{\\rtf1\\ansi hello}", "application/rtf"),
        (b"BEGIN:VCARD\r\nVERSION:3.0\r\n", "text/vcard"),
        (b"BEGIN:VCALENDAR\r\n", "text/calendar"),
        (b"ID3\x03\0\0", "audio/mpeg"),
        (b"\0\0\0\x18ftypmp42\0\0\0\0", "video/mp4"),
        (b"<?xml version='1.0'?><a/>", "application/xml"),
        (b"<feed xmlns='http://www.w3.org/2005/Atom'><title>t</title></feed>", "application/xml"),
        (b"<!DOCTYPE topic PUBLIC 'x' 'y'>\n<topic/>", "application/xml"),
        (b"<name> is what I said", "text/plain"),
        (b"<?xml version='1.0'?><html xmlns='x'></html>", "text/html"),
        (b"\n <!-- c -->\n<!DOCTYPE html><p>x", "text/html"),
        ("<html><p>ä".encode("utf-16"), "text/html"),
        ("<html><body><p>hello there".encode("utf-32-be"), "text/html"),
        ("plain words in two-byte characters".encode("utf-16-le"), "text/plain"),
        (("p vào trang, chỉnh sửa những chữ " * 50).encode("utf-32-be"), "text/plain"),  # a palette to libmagic
        ("что было раньше, то и будет".encode("utf-32-le"), "text/plain"),
        (b"just words", "text/plain"),
        ("Grüße, Straße".encode("latin-1"), "text/plain"),
        (b"\x03\xd7\xff\0\x01\xc2" * 40, "application/octet-stream"),
        (b"\xffWPC\x10\0\0\0\1\x0a\2\1", "application/vnd.wordperfect"),
        (b"\0\5\x16\7\0\2\0\0Mac OS X        ", "application/applefile"),
        (b"d8:announce13:http://t.test4:infod4:name1:aee", "application/x-bittorrent"),
        (b"d11:collectionsl5:booksee", "application/x-bittorrent"),
        (b"d8:announcements were made in the hall", "text/plain"),
        (b"\1\0\0\0\x6c\0\0\0" + bytes(32) + b" EMF\0\0\1\0", "image/emf"),
        (b"\1\0\0\0\x6c\0\0\0" + bytes(32) + b" EMF\0\0\1\0" + bytes(99) + b"%PDF-1.3\n", "image/emf"),
        (MAIL, "message/rfc822"),
        (b"From a@b.example Mon Jan  1 00:00:00 2024\n" + MAIL, "application/mbox"),
        (b"From here on the text goes about its business.\n", "text/plain"),
        (b"245\n" + MAIL, "message/x-emlx"),
        (package("a.txt"), "application/zip"),
        (package(), "application/zip"),
        (package("[Content_Types].xml", "_rels/.rels", "word/document.xml"), DOCX),
        (package("_rels/.rels", "docProps/app.xml", "xl/workbook.xml", "[Content_Types].xml"), XLSX),
        (package("[Content_Types].xml", *(f"docProps/{i}.xml" for i in range(9)), "ppt/presentation.xml"), PPTX),
        (package("[Content_Types].xml", "visio/document.xml"), "application/vnd.ms-visio.drawing.main+xml"),
        (package("word/document.xml", "notes.txt"), "application/zip"),
        (b"\x31\xbe\0\0\0\xab" + bytes(300), "application/x-mswrite"),
        (b"WordPro\0\r\xfb" + bytes(60), "application/vnd.lotus-wordpro"),
        (b"\0\1\0\0Standard ACE DB\0\2", "application/x-msaccess"),
        (compound("MatOST", "CONTENTS"), "application/vnd.ms-works"),
        (compound("MM", "MN0"), "application/vnd.ms-works"),
        (compound("WordDocument"), "application/msword"),
        (compound("WORDDOCUMENT"), "application/msword"),
        (compound("a", "workbook"), "application/vnd.ms-excel"),
        (compound("a", "b", "c", "d", "Workbook"), "application/vnd.ms-excel"),
        (compound("PowerPoint Document"), "application/vnd.ms-powerpoint"),
        (compound("__properties_version1.0"), "application/vnd.ms-outlook"),
        (compound("EncryptedPackage"), "application/x-ole-storage"),
        (compound("whatever"), "application/x-ole-storage"),
        (tarred({"a.txt": b"hello"}, tarfile.DEFAULT_FORMAT), "application/x-tar"),
        (tarred({"a.txt": b"hello"}), "application/x-tar"),
    ],
)
def test_bytes_decide(data: bytes, expected: str) -> None:
    assert what(data) == expected


@pytest.mark.parametrize("name", [b"x.txt", b"x.pdf", b"x.csv", b"x.html", b"x.zip", b"x.eml", b"x.docx"])
def test_a_wrong_extension_does_not_fool(name: bytes) -> None:
    assert what(b"%PDF-1.4", name) == "application/pdf"
    assert what(MAIL, name) == "message/rfc822"
    assert what(package("a"), name) == "application/zip"
    assert what(b"\x1f\x8b\x08\0", name) == "application/gzip"


def test_the_extension_breaks_ties() -> None:
    assert what(b"a,b\n1,2\n", b"T.CSV") == "text/csv"
    assert what(b"a,b\n1,2\n", b"t.txt") == "text/plain"
    assert what(b'{"a": 1}', b"x.json") == "application/json"
    assert what(b"words <b>with</b> tags", b"x.html") == "text/html"
    assert what(b"words <b>with</b> tags", b"x.txt") == "text/plain"
    assert what(b"From a@b.example Mon Jan  1 00:00:00 2024\n" + MAIL, b"x.eml") == "message/rfc822"
    assert what(compound("EncryptedPackage"), b"a.docx") == DOCX
    assert what(compound("EncryptedPackage"), b"a.xlsx") == XLSX
    assert what(b"From: me\nTo: you\nSent: Monday\n\nprinted mail\n", b"x.txt") == "text/plain"


def test_a_pdf_without_its_first_line_is_known_by_its_name() -> None:
    """Readers repair such files; as text they would be pages of operators. Words that only name PDFs stay words."""
    body = b"1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n"
    assert what(b"%\xe2\xe3\xcf\xd3\n" + body, b"a.pdf") == "application/pdf"
    assert what(b"Sent by the scanner\n\n%PDF-1.1\n" + body, b"A.PDF") == "application/pdf"
    assert what(b"Sent by the scanner\n\n%PDF-1.1\n" + body, b"a.txt") == "text/plain"
    assert what(b"a PDF begins with %PDF- and goes on", b"a.pdf") == "text/plain"


def test_the_declared_type_breaks_ties() -> None:
    assert what(b"no header, just a body", b"part-0", "message/rfc822") == "message/rfc822"
    assert what(b"a,b\n", b"part-0", "text/csv") == "text/csv"
    assert what(b"%PDF-1.4", b"part-0", "text/csv") == "application/pdf"


def test_a_cut_docx_stays_a_docx() -> None:
    whole = package("[Content_Types].xml", "_rels/.rels", "word/document.xml")
    assert what(whole[:3300], b"a.docx") == DOCX


def test_a_workbook_with_a_document_in_it_is_a_workbook() -> None:
    for outer, inner, expected in (
        ("Workbook", "WordDocument", "application/vnd.ms-excel"),
        ("WordDocument", "Workbook", "application/msword"),
        ("anything", "WordDocument", "application/x-ole-storage"),
    ):
        within = Storage("MBD001", streams={inner: b""})
        assert what(write(Storage(streams={outer: b""}, storages=[within]))) == expected


def test_open_document_names_its_type() -> None:
    data = zipped({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": "<a/>"}, zipfile.ZIP_STORED)
    assert what(data) == "application/vnd.oasis.opendocument.text"


@pytest.mark.parametrize(
    ("libraries", "expected"),
    [
        ("system", r"5\.\d\d (of this system|in the wheel pylibmagic) None application/\S+"),
        ("wheel", r"5\.41 in the wheel pylibmagic None application/x-dosexec"),
        ("none", r"None \S*no-libmagic\S*: .* None"),
    ],
)
def test_libmagic_is_the_systems_and_without_one_the_wheels(libraries: str, expected: str) -> None:
    """Without any there is a reason and no type; loading one sets no variable that the database servers would inherit."""
    code = f"""
import importlib.util, os
from readers.identification import libmagic
before = dict(os.environ)
if {libraries!r} != "system":
    libmagic._SYSTEM = "no-libmagic.so"
if {libraries!r} == "none":
    importlib.util.find_spec = lambda name: None
print(libmagic.found(), libmagic.preload(), libmagic.media_type(b"MZ" + bytes(100)))
assert dict(os.environ) == before
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.fullmatch(expected, done.stdout.strip()), done.stdout


@given(st.binary(max_size=600), st.sampled_from([b"", b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"From "]))
def test_any_bytes_get_a_media_type(data: bytes, prefix: bytes) -> None:
    kind = what(prefix + data, b"name.docx")
    assert kind.count("/") == 1


@given(st.integers(0, 2000), st.integers(0, 255))
def test_damaged_compound_files_get_a_media_type(at: int, value: int) -> None:
    data = bytearray(compound("a", "b", "c", "d", "e", "Workbook"))
    data[at % len(data)] = value
    assert what(bytes(data)).startswith("application/")


def test_random_bytes_are_nothing_known() -> None:
    """libmagic takes 1 % of random data for old programs or compressed streams; reports would show types that are not there."""
    random = Random(7)
    kinds = [what(random.randbytes(4096), b"x.bin") for _ in range(400)]
    assert kinds.count("application/octet-stream") >= 399


MAIL = b"From: a@example.org\r\nTo: b@example.org\r\nSubject: x\r\n\r\nhello"
FROM_LINE = b"From a@example.org Thu Jan  1 00:00:00 2026\n"


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (MAIL + bytes(range(256)) * 4, b"x", "message/rfc822"),
        (MAIL + bytes(3000), b"x.eml", "message/rfc822"),
        (FROM_LINE + MAIL + bytes(3000), b"x", "application/mbox"),
        (b"From: a@example.org\r\nSub\0ject: x\r\nTo: b@example.org\r\n\r\nhello", b"x.eml", "message/rfc822"),
        (b"From: a@example.org\r\nSub\0ject: x\r\n\r\n" + bytes(range(256)), b"x", "application/octet-stream"),
        (bytes(range(256)) + MAIL, b"x.eml", "application/octet-stream"),
    ],
)
def test_mail_with_binary_bytes_near_its_start_is_mail(data: bytes, name: bytes, expected: str) -> None:
    """A NUL in its first 4 KiB must not make a message, or a whole mail store, a file without text."""
    assert what(data, name) == expected


def test_programs_are_known_by_both_their_headers() -> None:
    program = b"MZ" + bytes(58) + b"\x80\0\0\0" + bytes(64) + b"PE\0\0" + bytes(200)
    assert identify(MemorySource(b"report.doc", program)) == "application/x-dosexec"
    assert identify(MemorySource(b"report.doc", program.replace(b"PE\0\0", b"text"))) != "application/msword"


@given(
    st.lists(
        st.sampled_from([b"From: a", b"To: b", b"Subject: c", b"Received: d", b"prose", b" more", b"X"]), max_size=45
    ),
    st.sampled_from([b"eml", b"txt", b""]),
)
def test_a_message_is_recognised_without_reading_all_of_its_prose(lines: list[bytes], extension: bytes) -> None:
    head = b"\n".join(lines)
    names, odd = identify_text._header_names(head)
    known = identify_text._COMMON.intersection(names)
    expected = len(known) >= 2 and odd <= len(names) // 2
    if extension == b"txt" and not known & identify_text._STRONG:
        expected = expected and odd == 0 and known.issuperset(names)
    assert identify_text.is_mail(head, extension) == expected


@pytest.mark.parametrize(("name", "reported"), [(b"page.html", "text/html"), (b"page", "application/octet-stream")])
def test_a_web_page_with_binary_bytes_in_it(name: bytes, reported: str) -> None:
    page = b"<HTML><HEAD>\n<META content=3D" + bytes(60) + b"GENERATOR>\n<BODY>Hi, good morning.</BODY>"
    assert identify(MemorySource(name, page)) == reported


@pytest.mark.parametrize(
    ("declared", "extension", "found", "code"),
    [
        ("application/pdf", b"pdf", "text/plain", ExceptionCode.CORRUPT),
        ("application/pdf", b"pdf", "text/html", ExceptionCode.CORRUPT),
        ("application/zip", b"zip", "text/plain", ExceptionCode.CORRUPT),
        ("image/jpeg", b"jpg", "text/plain", ExceptionCode.CORRUPT),
        ("image/png", b"", "text/html", ExceptionCode.CORRUPT),
        ("application/ms-tnef", b"dat", "text/plain", ExceptionCode.CORRUPT),
        ("application/pkcs7-mime", b"p7m", "text/plain", ExceptionCode.CORRUPT),
        ("application/x-pkcs7-signature", b"p7s", "text/plain", ExceptionCode.CORRUPT),
        ("text/calendar", b"ics", "text/plain", ExceptionCode.CORRUPT),
        ("text/x-vcard", b"vcf", "text/html", ExceptionCode.CORRUPT),
        ("text/rtf", b"", "text/plain", ExceptionCode.CORRUPT),
        ("message/external-body", b"", "message/rfc822", ExceptionCode.UNSUPPORTED),
        ("message/partial", b"", "text/plain", ExceptionCode.UNSUPPORTED),
        ("application/vnd.ms-excel", b"csv", "text/csv", None),  # as browsers declare it
        ("application/msword", b"txt", "text/plain", None),
        ("application/vnd.ms-excel", b"xls", "text/html", None),
        ("application/pdf", b"pdf", "application/pdf", None),
        ("application/octet-stream", b"", "text/plain", None),
        ("message/delivery-status", b"", "text/plain", None),
        ("text/html", b"", "text/plain", None),
        ("image/svg+xml", b"", "text/plain", None),
        (None, b"docx", "text/plain", ExceptionCode.CORRUPT),
        (None, b"pdf", "text/html", ExceptionCode.CORRUPT),
        (None, b"mbox", "text/plain", ExceptionCode.CORRUPT),
        ("application/octet-stream", b"jpg", "text/plain", ExceptionCode.CORRUPT),
        (None, b"jpg", "application/zip", None),  # all of it is read
        (None, b"xls", "text/plain", None),  # Office opens it
        (None, b"doc", "text/html", None),
        (None, b"pot", "text/plain", None),
        (None, b"", "text/plain", None),
    ],
)
def test_what_was_declared_counts(
    declared: str | None, extension: bytes, found: str, code: ExceptionCode | None
) -> None:
    error = read_as_less(declared, extension, found)
    assert (error and error.code) == code


def test_every_extension_of_a_reader_is_judged() -> None:
    """One that a reader declares counts for its format, or is listed here because texts have it as well."""
    texts = set(
        b"a atom c css csv dat db doc dot eml exe fodg fodp fods fodt hqx htm html ifb ini js json ical key log md msg ndjson odc "
        b"p7b plist pot pps ppt pub py rdf rss sh sql svg tab tsv txt uu uue vcard vcf vcs vst wp xhtml xlc xlm xls xlt xlw xml xsl "
        b"yenc z 7z.002 zip.002 z02".split()
    )
    declared = {one.encode() for handler in all_handlers() for of in handler.declared for one in of.extensions}
    named = {one for one in declared if read_as_less(None, one, "text/plain")}
    assert declared - named == texts & declared
