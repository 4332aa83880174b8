"""Documents, pictures, text and recordings that the generator writes, by readers that are no part of the pipeline: they find what
the truth says. That the worker does: tests/integration/dataset_gen/test_dataset_gen_agreement.py."""

import ast
import csv
import email
import email.policy
import hashlib
import io
import json
import re
import wave
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msoffcrypto
import olefile
import pytest
import vobject
import xlrd
from agreement import differences
from debian_programs import printed
from documents import TERMS, make
from lxml import etree
from odfdo import Document
from PIL import Image
from tinytag import TinyTag

from core.records import Limits
from dataset_gen.formats import doc, ole_package, ppt, xls
from dataset_gen.formats import encrypted as encrypted_office
from dataset_gen.formats.eml import Letter, formed
from dataset_gen.made import Made, Order, Placed, leaf
from dataset_gen.material.people import Someone
from dataset_gen.material.text import prose
from dataset_gen.profile import load_profile
from dataset_gen.rng import Dice
from dataset_gen.workshop import Workshop
from readers import cfb
from readers.base import MemorySource
from readers.mail_form import write_message
from readers.registry import handler_for

SOURCES = ("py", "c", "java", "js", "sql")
TEXTS = ("rtf", "odt", "ods", "pdf", "xml", "json", "csv", "vcf", "ics", "log", "svg", *SOURCES)
PICTURES = ("tif", "bmp", "webp", "jpg")
MEDIA = ("wav", "mp3", "mp4", "m4a")
ANTIWORD = ("antiword", "-w", "0", "-m", "UTF-8.txt", "x.doc")
SIZES = (700, 4_000, 30_000, 180_000)


@pytest.mark.parametrize("fmt", [*TEXTS, *PICTURES, *MEDIA])
def test_size_is_about_what_was_asked(fmt: str) -> None:
    sizes = [len(make(fmt, number, 60_000, terms=()).data) for number in range(12)]
    assert 40_000 < sum(sizes) / len(sizes) < 80_000


@pytest.mark.parametrize(
    ("fmt", "language"), [("rtf", "ru"), ("rtf", "ja"), ("rtf", "de"), ("odt", "ja"), ("odt", "pl")]
)
def test_other_scripts(fmt: str, language: str) -> None:
    made = make(fmt, 1, 6_000, language=language)
    assert differences(f"a.{fmt}".encode(), made.data, made.truth) == []


@pytest.mark.parametrize("fmt", ["rtf", "odt", "ods", "pdf", "vcf", "ics"])
def test_some_carry_others(fmt: str) -> None:
    assert any(make(fmt, number, 150_000, terms=()).truth.children for number in range(40))


def _words(text: str) -> set[str]:
    return {word for word in text.split() if word.isascii() and word.isalpha()}


def _same_words(made: Made, theirs: str, ours: str) -> None:
    assert all(term in " ".join(theirs.split()) for term in made.truth.terms)
    missing = _words(ours) - _words(theirs)
    assert len(missing) <= len(_words(ours)) // 100, missing


def _text(fmt: str, made: Made) -> str:
    return handler_for(made.truth.media_type).text(MemorySource(b"", made.data), Limits()).text


@pytest.mark.parametrize("number", [1, 2, 3])
def test_rtf_by_unrtf(number: int, tmp_path: Path) -> None:
    made = make("rtf", number, SIZES[number])
    (tmp_path / "a.rtf").write_bytes(made.data)
    _same_words(made, printed("unrtf", "unrtf", "--text", "a.rtf", where=tmp_path), _text("rtf", made))


@pytest.mark.parametrize("fmt", ["odt", "ods"])
def test_open_document_by_odfdo(fmt: str, tmp_path: Path) -> None:
    size = 150_000 if fmt == "odt" else 64_000
    made = next(made for made in (make(fmt, number, size) for number in range(40)) if made.truth.children)
    (tmp_path / "a").write_bytes(made.data)
    document = Document(tmp_path / "a")
    parts = [document.content, *([document.styles] if "styles.xml" in document.get_parts() else [])]
    pieces = [piece for part in parts for piece in part.get_elements("//text:p|//text:h")]
    _same_words(made, "\n".join(piece.inner_text for piece in pieces), " ".join(_text(fmt, made).split("\nSheet")))
    pictures = {name.rpartition("/")[2] for name in document.get_parts() if name.startswith("Pictures/")}
    assert pictures == {child.name.decode() for child in made.truth.children}


def test_pdf_by_poppler(tmp_path: Path) -> None:
    """pdfinfo counts the same pages, pdftotext reads the terms (those of forms as well), pdfdetach lists the same files."""
    forms = attached = scans = 0
    for number in range(60):
        terms = TERMS if number % 3 else ()
        made = make("pdf", number, 60_000 if number % 2 else 200_000, terms=terms)
        form = b"/AcroForm" in made.data
        scan = not terms and b"Tj" not in made.data
        if not (form and forms < 2) and not (made.truth.children and attached < 2) and not (scan and scans < 1):
            continue
        forms, attached, scans = forms + form, attached + bool(made.truth.children), scans + scan
        (tmp_path / "a.pdf").write_bytes(made.data)
        info = printed("poppler-utils", "pdfinfo", "a.pdf", where=tmp_path)
        assert f"Pages:           {made.truth.pages}\n" in info
        assert ("AcroForm" in info) == form
        text = " ".join(printed("poppler-utils", "pdftotext", "a.pdf", "-", where=tmp_path).split())
        assert all(word in text for term in terms for word in term.split())
        assert (not text) == scan
        listed = printed("poppler-utils", "pdfdetach", "-list", "a.pdf", where=tmp_path)
        assert listed.startswith(f"{len(made.truth.children)} embedded files")
        assert all(child.name.decode() in listed for child in made.truth.children)
    assert forms
    assert attached
    assert scans


@pytest.mark.parametrize("fmt", PICTURES)
def test_pictures_by_pillow(fmt: str) -> None:
    exif = places = 0
    for number in range(24):
        made = make(fmt, number, SIZES[number % 4], terms=())
        with Image.open(io.BytesIO(made.data)) as picture:
            frames = getattr(picture, "n_frames", 1)
            assert made.truth.pages in (frames, None)
            for frame in range(frames):
                picture.seek(frame)
                picture.load()
            tags = picture.getexif()
            if fmt == "jpg" and tags:
                exif += 1
                assert tags[0x0110]
                assert len(tags.get_ifd(0x8769)[0x9003]) == 19
                places += 2 in tags.get_ifd(0x8825)
    if fmt == "jpg":
        assert 4 < exif < 20
        assert places


def test_contacts_by_vobject() -> None:
    cards = make("vcf", 2, 60_000)
    found = list(vobject.readComponents(cards.data.decode()))
    photos = [bytes(card.photo.value) for card in found if hasattr(card, "photo")]
    assert [len(photo) for photo in photos] == [child.truth.size for child in cards.truth.children]
    assert photos
    text = _text("vcf", cards)
    assert all(f"FN:{card.fn.value}\n" in text and f"EMAIL:{card.email.value}\n" in text for card in found)
    calendar = vobject.readOne(make("ics", 3, 9_000).data.decode())
    text = _text("ics", make("ics", 3, 9_000))
    assert len(calendar.vevent_list) > 3
    assert all(f"SUMMARY:{event.summary.value}\n" in text for event in calendar.vevent_list)
    comments = [line.value for event in calendar.vevent_list for line in event.contents.get("comment", [])]
    assert comments == [f"{term}." for term in TERMS]


def test_text_formats_are_well_formed() -> None:
    ast.parse(make("py", 1, 40_000).data)
    orders = json.loads(make("json", 1, 40_000).data)["orders"]
    assert len({tuple(order) for order in orders}) == 1
    assert len(etree.fromstring(make("xml", 1, 40_000).data)) > 100
    rows = list(csv.reader(io.StringIO(make("csv", 1, 40_000).data.decode())))
    assert {len(row) for row in rows} == {5}


def test_documents_of_one_pool_differ() -> None:
    """No two of them are the same, even tiny ones."""
    for fmt in ("log", "csv", "json", "xml", "svg", *SOURCES):
        assert len({make(fmt, number, 300, terms=()).data for number in range(50)}) == 50


def test_recordings_play(tmp_path: Path) -> None:
    with wave.open(io.BytesIO(make("wav", 1, 160_044, terms=()).data)) as sound:
        assert sound.getnframes() / sound.getframerate() == 10.0
    for fmt, seconds in (("mp3", 10.0), ("mp4", 9.0), ("m4a", 9.0)):
        (tmp_path / f"a.{fmt}").write_bytes(make(fmt, 1, 160_000, terms=()).data)
        assert TinyTag.get(tmp_path / f"a.{fmt}").duration == pytest.approx(seconds, abs=0.2)


_INNER = Letter(
    key="inner",
    sender=Someone("Bob Lee", "bob@quarry.example"),
    to=(Someone("Anna Müller", "anna@northgate.example"),),
    cc=(),
    when=1_500_000_000,
    subject="R/B: the inner one",
    message_id="1@quarry.example",
    references=(),
    body="inner text\n",
    terms=("inner term",),
    html=False,
    encoding="7bit",
)
_LETTER = Letter(
    key="outer",
    sender=Someone("Anna Müller", "anna@northgate.example"),
    to=(Someone("Bob Lee", "bob@quarry.example"),),
    cc=(Someone("Carla", "carla@mail.example"),),
    when=1_600_000_000,
    subject="Fwd: Größe",
    message_id="12@northgate.example",
    references=tuple(f"{n}@quarry.example" for n in range(12)),
    body="Dear Bob,\n\nplanted\n",
    terms=("planted",),
    html=True,
    encoding="base64",
    attachments=(("Отчёт.txt", leaf(b"a report\n", "text/plain")), ("empty.bin", leaf(b"", "inode/x-empty"))),
    picture=leaf(b"\xff\xd8\xff\xe0picture", "image/jpeg"),
    forwarded=_INNER,
)


def _found(data: bytes) -> list[tuple[str, bytes]]:
    """Names and bytes of the parts that have a name."""
    message = email.message_from_bytes(data, policy=email.policy.default)
    return [(str(p.get_filename()), p.get_payload(decode=True) or b"") for p in message.walk() if p.get_filename()]


def test_children_are_stated_as_they_are_found() -> None:
    made = formed(_LETTER)
    message = made.message()
    found = _found(message.data)
    stated = {child.name.decode(): child for child in made.children}
    assert [name for name, _ in found] == list(stated)
    assert [child.ordinal for child in made.children] == [0, 1, 2, 3]
    for name, data in found[:3]:
        assert hashlib.sha256(data).digest() == stated[name].truth.sha256
    _check_inner(message.data, made.children[3])


def _check_inner(data: bytes, child: Placed) -> None:
    """The forwarded message lies in the outer one as it is."""
    inner = write_message(formed(_INNER).form)
    assert child.name == b"R_B_ the inner one.eml" or child.name == b"R_B: the inner one.eml"
    assert child.truth.sha256 == hashlib.sha256(inner).digest()
    assert child.truth.terms == ("inner term",)
    assert inner in data


def test_fields_are_those_of_the_letter() -> None:
    form = formed(_LETTER).form
    message = email.message_from_bytes(write_message(form), policy=email.policy.default)
    assert message["Subject"] == "Fwd: Größe"
    assert message["Message-ID"] == "<12@northgate.example>"
    assert message["References"].split() == [f"<{n}@quarry.example>" for n in range(4, 12)]
    assert message["In-Reply-To"] == "<11@quarry.example>"
    body = message.get_body(("plain",))
    assert body.get_content() == _LETTER.body
    shown = message.get_body(("html",))
    assert f"cid:picture@{_LETTER.message_id}" in shown.get_content()
    assert form.attachments[0].content_id == f"picture@{_LETTER.message_id}"


@pytest.fixture(scope="module")
def workshop() -> Workshop:
    return Workshop(load_profile("reference"), 5, 0.001)


def order(workshop: Workshop, fmt: str, size: int, *, language: str = "en") -> Order:
    """An order of known terms and language."""
    made = replace(workshop.order(fmt, f"{language}/{size}", size), terms=TERMS)
    made.dice.language = language
    return made


def streams(data: bytes) -> dict[str, bytes]:
    """Streams of a compound file by an independent reader at its strictest."""
    with olefile.OleFileIO(io.BytesIO(data), raise_defects=olefile.DEFECT_INCORRECT) as file:
        return {"/".join(path): file.openstream(path).read() for path in file.listdir()}


def paragraphs(language: str) -> list[str]:
    dice = Dice(9)
    dice.language = language
    return prose().paragraphs(dice, 15_000, accented=True, any_script=True)


def document(*pieces: tuple[str, bool]) -> tuple[bytes, list[str]]:
    """A document of pieces (language, whether in UTF-16), and its paragraphs."""
    text, shown = doc.Text(), []
    for language, wide in pieces:
        shown += paragraphs(language)
        text.add(paragraphs(language), wide=wide)
    main, table = doc.streams(text)
    return cfb.write(cfb.Storage(streams={"WordDocument": main, "1Table": table})), shown


@pytest.mark.parametrize(
    "pieces",
    [[("en", False)], [("en", True)], [("ru", True)], [("de", False), ("ru", True)], [("ru", True), ("de", False)]],
)
def test_antiword_reads_every_word(tmp_path: Path, pieces: list[tuple[str, bool]]) -> None:
    data, shown = document(*pieces)
    (tmp_path / "x.doc").write_bytes(data)
    found = printed("antiword", *ANTIWORD, where=tmp_path)
    assert words(" ".join(shown)) <= words(found)
    assert len(found) == pytest.approx(sum(map(len, shown)), rel=0.05)


@pytest.mark.parametrize("size", [600, 60_000, 700_000])
def test_xlrd_and_xls2csv_read_workbooks(workshop: Workshop, tmp_path: Path, size: int) -> None:
    made = xls.build(order(workshop, "xls", size))
    book = xlrd.open_workbook(file_contents=made.data)
    rows = [[c.value for c in row] for s in book.sheets() for row in s.get_rows()]
    assert rows[0] == ["Number", "Amount", "Share", "Remark"]
    numbers = [row for row in rows if isinstance(row[0], float)]
    assert len(numbers) == max(3, (size - 8_000) // 140)
    assert all(0 <= a < 1e9 and 0 <= b < 1e5 and 0 <= c < 1 and d for a, b, c, d in numbers)
    assert set(TERMS) <= {row[3] for row in numbers}
    (tmp_path / "x.xls").write_bytes(made.data)
    shown = printed("catdoc", "xls2csv", "-dutf-8", "x.xls", where=tmp_path)
    assert all(str(row[3]) in shown for row in numbers)


@pytest.mark.parametrize("language", ["en", "de", "ru"])
def test_catppt_reads_presentations(workshop: Workshop, tmp_path: Path, language: str) -> None:
    made = ppt.build(order(workshop, "ppt", 250_000, language=language))
    (tmp_path / "x.ppt").write_bytes(made.data)
    found = printed("catdoc", "catppt", "-dutf-8", "x.ppt", where=tmp_path)
    assert all(term in found for term in TERMS)
    assert made.truth.pages is not None
    assert len(words(found)) > 25 * made.truth.pages


@pytest.mark.parametrize(("fmt", "build"), [("doc", doc.build), ("xls", xls.build), ("ppt", ppt.build)])
def test_properties(workshop: Workshop, fmt: str, build: Callable[[Order], Made]) -> None:
    made = build(order(workshop, fmt, 50_000))
    with olefile.OleFileIO(io.BytesIO(made.data)) as file:
        shown = file.get_metadata()
    assert shown.title
    assert shown.author.startswith(b"Author ")
    assert 2003 <= shown.create_time.year <= 2010
    assert shown.last_saved_time >= shown.create_time


@pytest.mark.parametrize(("fmt", "build"), [("doc", doc.build), ("ppt", ppt.build)])
def test_big_documents_carry_files(workshop: Workshop, fmt: str, build: Callable[[Order], Made]) -> None:
    made = build(order(workshop, fmt, 900_000))
    held = streams(made.data)
    assert made.truth.children
    assert sum(child.truth.size for child in made.truth.children) > 400_000
    assert {"WordDocument", "1Table"} <= held.keys() or {"PowerPoint Document", "Current User"} <= held.keys()
    assert len(made.data) == pytest.approx(900_000, rel=0.25)


def test_packages_hold_the_file_and_its_names() -> None:
    """Label, path and bytes as [MS-OLEDS] and the Packager have them."""
    held = streams(ole_package.compound_file("größe.txt", b"contents"))
    native = held["\x01Ole10Native"]
    assert len(native) == int.from_bytes(native[:4], "little") + 4
    assert native[4:].startswith(b"\2\0gr\xf6\xdfe.txt\0C:\\Documents\\gr\xf6\xdfe.txt\0\0\0\3\0")
    assert b"\x08\0\0\0contents" in native
    assert "größe.txt".encode("utf-16-le") in native


@pytest.mark.parametrize(
    ("fmt", "build", "begins"),
    [
        ("docx", encrypted_office.encrypted_docx, b"PK\3\4"),
        ("xlsx", encrypted_office.encrypted_xlsx, b"PK\3\4"),
        ("doc", encrypted_office.encrypted_doc, b"\xd0\xcf\x11\xe0"),
    ],
)
def test_passwords_open_what_they_protect(
    workshop: Workshop, tmp_path: Path, fmt: str, build: Callable[[Order], Made], begins: bytes
) -> None:
    made = build(order(workshop, fmt, 9_000))
    assert made.truth.exceptions == ("encrypted",)
    file, out = msoffcrypto.OfficeFile(io.BytesIO(made.data)), io.BytesIO()
    assert file.is_encrypted()
    verified = {} if fmt == "doc" else {"verify_password": True}
    with pytest.raises(msoffcrypto.exceptions.InvalidKeyError):
        file.load_key(password="another", **verified)
    file.load_key(password=encrypted_office.PASSWORD, **verified)
    file.decrypt(out)
    assert out.getvalue().startswith(begins)
    if fmt == "doc":
        (tmp_path / "x.doc").write_bytes(out.getvalue())
        assert len(words(printed("antiword", *ANTIWORD, where=tmp_path))) > 100


def words(text: str) -> set[str]:
    """Its words of three letters or more."""
    return set(re.findall(r"[^\W\d_]{3,}", text.lower()))
