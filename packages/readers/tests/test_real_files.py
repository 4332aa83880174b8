"""Real files of other projects' test suites: known fragments come out, and nothing raises but DocumentError."""

import contextlib
from pathlib import Path

import pytest
from as_found import Found, children_of, text_of

from core.records import Limits
from readers.base import MemorySource, Text
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.records import TextState
from readers.registry import handler_for

FILES = Path(__file__).parents[3].parent / "shared/data/real-files"
INGEST = FILES / "ingest-file"
pytestmark = pytest.mark.skipif(not FILES.is_dir(), reason="the real files are not on this machine")


def read(path: Path) -> Text:
    return text_of(path.read_bytes(), name=path.name.encode())


@pytest.mark.parametrize(
    ("name", "fragment", "pages"),
    [
        ("hello world word.docx", "Hello world, Word!", None),
        ("file.xlsx", "Mihai Viteazul", None),
        ("staff_list.xlsx", "Karina\tShedrofsky\tOCCRP", None),
        ("106972554.pdf", "REPUBLIC\u00a0OF\u00a0SINGAPORE", 3),
        ("500 pages.pdf", "Hello, World!", 500),
        ("udhr_ger.pdf", "Resolution 217 A (III) der Generalversammlung", 6),
        ("doc.html", "Test web page.", None),
        ("non_utf.txt", "Großbritanniens größter Partei", None),
        ("countries_nonutf.csv", "RS_Land", None),
        ("example_2.json", '"quiz"', None),
        ("john-doe.vcf", "BEGIN:VCARD", None),
        ("image.svg", "TEST", None),
        ("Plan.odt", "act of vandalism", None),
        ("rom.ods", "Penetenciarul 11 Bălţi", None),
        ("meetup.ics", "Agenda: • 19:00 - Welcome to PyBerlin!", None),
        ("doc.doc", "This links to The Main Heading Bookmark", None),
        ("doc.doc", "This is the footer for our document", None),
        ("rom.xls", "Şcoala de Meserii 4 Bubueci", None),
        ("slides.ppt", "Now", 1),
    ],
)
def test_known_fragments(name: str, fragment: str, pages: int | None) -> None:
    out = read(INGEST / name)
    assert fragment in out.text
    assert "HYPERLINK" not in out.text
    assert (out.pages, out.error) == (pages, None)
    if name.endswith((".doc", ".xls", ".ppt")):
        assert out.metadata["author"]


@pytest.mark.parametrize(
    "name", ["password_protected.xls", "password_protected.xlsx", "password-hunter2.pdf", "encypted_by_libreoffice.odt"]
)
def test_passwords(name: str) -> None:
    """Files with a password say so, and have no children."""
    with pytest.raises(DocumentError, match=r"^encrypted:"):
        read(INGEST / name)
    assert children_of((INGEST / name).read_bytes()) == []


@pytest.mark.parametrize(
    ("name", "size", "pages"),
    [
        ("multipage_tiff_example.tif", (800, 600), 10),
        ("regression_jpg.jpg", (1350, 282), None),
        ("regression_webp.webp", (1350, 282), None),
        ("regression_gif.gif", (320, 180), None),
    ],
)
def test_images(name: str, size: tuple[int, int], pages: int | None) -> None:
    out = read(INGEST / name)
    assert (out.metadata["width"], out.metadata["height"]) == size
    assert (out.pages, out.state, out.error) == (pages, TextState.NO_TEXT_LAYER, None)


def members(name: str) -> tuple[list[tuple[bytes, int]], ExceptionCode | None]:
    """Names and lengths of an archive's members, links and failed ones as -1, and how it ended."""
    data = (INGEST / name).read_bytes()
    found = Found(handler_for(identify(MemorySource(name.encode(), data))), data, name.encode())
    return [(child.name, -1 if child.error else len(child.data or b"")) for child in found.children], found.code


@pytest.mark.parametrize(
    ("name", "found", "code"),
    [
        ("500_pages.7z", [(b"tests/fixtures/500 pages.pdf", 302_661)], None),
        ("500_pages.7z.001", [], ExceptionCode.UNSUPPORTED),
        ("7z_password.7z", [(b"secret.txt", -1)], None),
        ("bad7zip.7z", [(b"secret.txt", -1)], None),  # a link
        ("badzip.zip", [(b"secret.txt", -1)], None),
        ("badtar.tar", [(b"./secret.txt", -1)], None),
        ("badrar.rar", [(b"secret.txt", -1)], None),
    ],
)
def test_archives(name: str, found: list[tuple[bytes, int]], code: ExceptionCode | None) -> None:
    assert members(name) == (found, code)


def test_one_tree_in_three_archives() -> None:
    zipped = members("test-documents.zip")[0]
    for other in ("test-documents.tar", "test-documents.rar"):
        found = members(other)[0]
        assert sorted(zipped) == sorted((name.removeprefix(b"test-documents/"), length) for name, length in found)
    assert len(zipped) == 9


def test_one_page_in_five_encodings_is_one_text() -> None:
    texts = {read(path).text for path in (FILES / "mimekit/html").glob("Gimhae_Kim_clan.utf-*.html")}
    assert len(texts) == 1


def test_nothing_but_document_errors() -> None:
    for path in sorted(p for p in FILES.rglob("*") if p.is_file()):
        source = MemorySource(path.name.encode(), path.read_bytes())
        handler = handler_for(identify(source))
        for action in (handler.text, lambda s, limits, h=handler: list(h.children(s, limits))):
            with contextlib.suppress(DocumentError):
                action(source, Limits())
