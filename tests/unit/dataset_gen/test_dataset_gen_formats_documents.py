"""Documents, pictures, text and recordings that the generator writes: the worker finds in them what their truth says, and
readers that are no part of the pipeline find the same."""

from __future__ import annotations

import ast
import csv
import io
import json
import wave
from pathlib import Path

import pytest
import vobject
from agreement import differences
from documents import TERMS, make, run
from lxml import etree
from odfdo import Document
from PIL import Image
from tinytag import TinyTag

from core.records import Limits
from dataset_gen.made import Made
from dataset_gen.workshop import WITH_TEXT, extension
from readers.base import MemorySource
from readers.registry import handler_for

SOURCES = ("py", "c", "java", "js", "sql")
TEXTS = ("rtf", "odt", "ods", "pdf", "xml", "json", "csv", "vcf", "ics", "log", "svg", *SOURCES)
PICTURES = ("tif", "bmp", "webp", "jpg")
MEDIA = ("wav", "mp3", "mp4", "m4a")
SIZES = (700, 4_000, 30_000, 180_000)


@pytest.mark.parametrize("fmt", [*TEXTS, *PICTURES, *MEDIA])
def test_worker_finds_what_the_truth_says(fmt: str) -> None:
    terms = TERMS if fmt in WITH_TEXT else ()
    for number, size in enumerate(SIZES * 2):
        made = make(fmt, number, size, terms=terms)
        assert differences(f"a.{extension(fmt)}".encode(), made.data, made.truth) == []
        assert made.truth.terms == terms
        assert (fmt in WITH_TEXT) == (fmt in TEXTS)
    assert make(fmt, number, size, terms=terms).data == made.data


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
    _same_words(made, run("unrtf", "unrtf", "--text", "a.rtf", where=tmp_path), _text("rtf", made))


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
        info = run("poppler-utils", "pdfinfo", "a.pdf", where=tmp_path)
        assert f"Pages:           {made.truth.pages}\n" in info
        assert ("AcroForm" in info) == form
        text = " ".join(run("poppler-utils", "pdftotext", "a.pdf", "-", where=tmp_path).split())
        assert all(word in text for term in terms for word in term.split())
        assert (not text) == scan
        listed = run("poppler-utils", "pdfdetach", "-list", "a.pdf", where=tmp_path)
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
