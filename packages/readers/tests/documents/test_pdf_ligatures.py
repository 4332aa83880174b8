"""PDF: glyphs of several letters in text from right to left, and bytes outside of the document."""

from __future__ import annotations

import pytest
from unpacking import unpack

from core.records import Limits
from readers.base import MemorySource
from readers.documents.pdf.handler import PdfHandler


def _pdf(shown: str, **letters: str) -> bytes:
    """One page with these glyphs from left to right, and the letters that ToUnicode gives for them."""
    lines = "\n".join(f"<{ord(glyph):02x}> <{text.encode('utf-16-be').hex()}>" for glyph, text in letters.items())
    unicode_map = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def 1 begincodespacerange "
        f"<00><FF> endcodespacerange {len(letters)} beginbfchar\n{lines}\nendbfchar endcmap end end"
    )
    content = f"BT /F1 12 Tf 72 700 Td ({shown}) Tj ET"
    objects = (
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        f"<</Length {len(content)}>>\nstream\n{content}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding/ToUnicode 6 0 R>>",
        f"<</Length {len(unicode_map)}>>\nstream\n{unicode_map}\nendstream",
    )
    out, places = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    tail = f"xref\n0 7\n0000000000 65535 f \n{table}trailer\n<</Size 7/Root 1 0 R>>\nstartxref\n{len(out)}\n%%EOF\n"
    return out + tail.encode()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (_pdf("ABCD", A="م", B="س", C="لا", D="ا"), "الاسم"),
        (_pdf("ABC", A="م", B="لا", C="س"), "سلام"),
        (_pdf("ABCD", A="م", B="س", C="\ufefb", D="ا"), "الاسم"),  # PDFium takes it apart itself
        (_pdf("ABC", A="الله", B=" ", C="بسم"), "بسم الله"),
        (_pdf("AB", A="م", B="لَ"), "لَم"),
        (_pdf("AB", A="ם", B="של"), "שלם"),
        (_pdf("xABy", x="fi", A="م", B="لا", y="ffl"), "fiلامffl"),
        (_pdf("xay", x="fi", a="a", y="ffl"), "fiaffl"),
    ],
)
def test_letters_of_a_glyph_stay_in_order(data: bytes, text: str) -> None:
    assert PdfHandler().text(MemorySource(b"x.pdf", data), Limits()).text.strip() == text


def test_what_is_outside_of_the_document() -> None:
    """An earlier document in the file, text before and after it: children, and an exception; line ends and zeros are nothing."""
    one, two = _pdf("a", a="alphaword"), _pdf("a", a="betaword")
    for calm in (one, one + b"\r\n\r\n", one + bytes(99)):
        assert unpack(b"x.pdf", calm).out.exceptions == []
    for data, name in (
        (one + two, "earlier document in the file"),
        (one + b"trailingword in clear after the end\n", "bytes after the end"),
        (b"X-Header: prefixword\r\n\r\n" + one, "bytes before the beginning"),
    ):
        found = unpack(b"x.pdf", data)
        assert ("x.pdf", name) in found.by_path
        assert found.codes("x.pdf") == ["corrupt"]
