"""doc, xls, ppt, OLE packages and passwords: readers that the pipeline does not use find what was put in."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msoffcrypto
import olefile
import pytest
import xlrd
from office_programs import text_by, words

from dataset_gen.formats.office import doc, ole_package, ppt, xls
from dataset_gen.formats.office import encrypted as encrypted_office
from dataset_gen.made import Made, Order
from dataset_gen.material.text import prose
from dataset_gen.profile import load_profile
from dataset_gen.rng import Dice
from dataset_gen.workshop import Workshop
from readers import cfb

TERMS = ("plantqvx0000000007", "velvet anvil memorandum")


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
    text, said = doc.Text(), []
    for language, wide in pieces:
        said += paragraphs(language)
        text.add(paragraphs(language), wide=wide)
    main, table = doc.streams(text)
    return cfb.write(cfb.Storage(streams={"WordDocument": main, "1Table": table})), said


@pytest.mark.parametrize(
    "pieces",
    [[("en", False)], [("en", True)], [("ru", True)], [("de", False), ("ru", True)], [("ru", True), ("de", False)]],
)
def test_antiword_reads_every_word(tmp_path: Path, pieces: list[tuple[str, bool]]) -> None:
    data, said = document(*pieces)
    (tmp_path / "x.doc").write_bytes(data)
    found = text_by("antiword", tmp_path / "x.doc")
    assert words(" ".join(said)) <= words(found)
    assert len(found) == pytest.approx(sum(map(len, said)), rel=0.05)


@pytest.mark.parametrize(("language", "wide"), [("en", False), ("ru", True)])
def test_catdoc_reads_every_paragraph(tmp_path: Path, language: str, wide: bool) -> None:
    data, said = document((language, wide))
    (tmp_path / "x.doc").write_bytes(data)
    found = text_by("catdoc", tmp_path / "x.doc").split("\n")
    assert [line.strip() for line in found if line.strip()] == said


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize("size", [600, 40_000, 300_000])
def test_antiword_finds_what_is_planted(workshop: Workshop, tmp_path: Path, language: str, size: int) -> None:
    (tmp_path / "x.doc").write_bytes(doc.build(order(workshop, "doc", size, language=language)).data)
    found = text_by("antiword", tmp_path / "x.doc")
    assert all(f"{term}." in found.splitlines() for term in TERMS)
    assert len(found) > min(size, 40_000) * 0.3


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
    printed = text_by("xls2csv", tmp_path / "x.xls")
    assert all(str(row[3]) in printed for row in numbers)


@pytest.mark.parametrize("language", ["en", "de", "ru"])
def test_catppt_reads_presentations(workshop: Workshop, tmp_path: Path, language: str) -> None:
    made = ppt.build(order(workshop, "ppt", 250_000, language=language))
    (tmp_path / "x.ppt").write_bytes(made.data)
    found = text_by("catppt", tmp_path / "x.ppt")
    assert all(term in found for term in TERMS)
    assert made.truth.pages is not None
    assert len(words(found)) > 25 * made.truth.pages


@pytest.mark.parametrize(("fmt", "build"), [("doc", doc.build), ("xls", xls.build), ("ppt", ppt.build)])
def test_properties_and_repeatability(workshop: Workshop, fmt: str, build: Callable[[Order], Made]) -> None:
    made = build(order(workshop, fmt, 50_000))
    assert build(order(workshop, fmt, 50_000)).data == made.data
    with olefile.OleFileIO(io.BytesIO(made.data)) as file:
        said = file.get_metadata()
    assert said.title
    assert said.author.startswith(b"Author ")
    assert 2003 <= said.create_time.year <= 2010
    assert said.last_saved_time >= said.create_time


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
    """An independent implementation opens them with the password, and not with another."""
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
        assert len(words(text_by("antiword", tmp_path / "x.doc"))) > 100
