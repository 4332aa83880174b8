"""The XML inside docx, xlsx, pptx, odt and ods: one part of a package is the input; the first byte says which."""

import io
import zipfile

from reading import files, handler

_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_SLIDES = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
_PARTS = (
    (".docx", _WORD, "word/document.xml"),
    (".docx", _WORD, "[Content_Types].xml"),
    (".xlsx", _EXCEL, "xl/worksheets/sheet1.xml"),
    (".xlsx", _EXCEL, "xl/workbook.xml"),
    (".xlsx", _EXCEL, "xl/sharedStrings.xml"),
    (".xlsx", _EXCEL, "xl/styles.xml"),
    (".pptx", _SLIDES, "ppt/slides/slide1.xml"),
    (".odt", "application/vnd.oasis.opendocument.text", "content.xml"),
    (".ods", "application/vnd.oasis.opendocument.spreadsheet", "content.xml"),
    (".odt", "application/vnd.oasis.opendocument.text", "META-INF/manifest.xml"),
)
_READERS = [handler(media_type) for _, media_type, _ in _PARTS]


def _members(suffix: str) -> dict[str, bytes]:
    for data in files(suffix):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if not any(member.flag_bits & 1 for member in archive.infolist()):
                return {name: archive.read(name) for name in archive.namelist()}
    return {}


_PACKAGES = [_members(suffix) for suffix, _, _ in _PARTS]
SEEDS = [
    bytes([number]) + package[part]
    for number, (package, (_, _, part)) in enumerate(zip(_PACKAGES, _PARTS, strict=True))
    if part in package
]


def read(data: bytes) -> None:
    if not data:
        return
    number = data[0] % len(_PARTS)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in {**_PACKAGES[number], _PARTS[number][2]: data[1:]}.items():
            if not name.endswith("/") and len(content) < 100_000:
                archive.writestr(zipfile.ZipInfo(name), content)
    _READERS[number](out.getvalue())
