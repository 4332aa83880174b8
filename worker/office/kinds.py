"""Which media types LibreOffice takes: the name that a file of it needs, and the part of LibreOffice that does it; and what it
makes of them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rendered:
    """How a type is handed over."""

    suffix: str  # LibreOffice looks at the content first and at this where that does not say
    part: str


@dataclass(frozen=True, slots=True)
class Form:
    """What documents are made into."""

    media_type: str
    ending: str  # of the files, and what LibreOffice is told
    part: str  # of LibreOffice that writes it; "" where that is the one that reads
    begins: bytes  # a whole file …
    ends: bytes  # … has this in its last bytes


PDF = Form("application/pdf", "pdf", "", b"%PDF-", b"%%EOF")
ODT = Form("application/vnd.oasis.opendocument.text", "odt", "writer", b"PK\x03\x04", b"PK\x05\x06")

_OPEN_XML = "application/vnd.openxmlformats-officedocument."
_MICROSOFT = "application/vnd.ms-"
_OPEN = "application/vnd.oasis.opendocument."
_WRITER = {
    "application/msword": ".doc",
    "application/rtf": ".rtf",
    "text/rtf": ".rtf",
    _OPEN_XML + "wordprocessingml.document": ".docx",
    _OPEN_XML + "wordprocessingml.template": ".dotx",
    _MICROSOFT + "word.document.macroenabled.12": ".docm",
    _MICROSOFT + "word.template.macroenabled.12": ".dotm",
    _OPEN + "text": ".odt",
    _OPEN + "text-template": ".ott",
    "application/vnd.wordperfect": ".wpd",
    _MICROSOFT + "works": ".wps",
    "application/x-mswrite": ".wri",
    "application/msword2": ".doc",
    "application/vnd.lotus-wordpro": ".lwp",
}
_CALC = {
    _MICROSOFT + "excel": ".xls",
    **{f"{_MICROSOFT}excel.sheet.{number}": ".xls" for number in (2, 3, 4, 5)},
    _MICROSOFT + "excel.sheet.binary.macroenabled.12": ".xlsb",
    _OPEN_XML + "spreadsheetml.sheet": ".xlsx",
    _OPEN_XML + "spreadsheetml.template": ".xltx",
    _MICROSOFT + "excel.sheet.macroenabled.12": ".xlsm",
    _MICROSOFT + "excel.template.macroenabled.12": ".xltm",
    _OPEN + "spreadsheet": ".ods",
    _OPEN + "spreadsheet-template": ".ots",
}
_IMPRESS = {
    _MICROSOFT + "powerpoint": ".ppt",
    _OPEN_XML + "presentationml.presentation": ".pptx",
    _OPEN_XML + "presentationml.template": ".potx",
    _OPEN_XML + "presentationml.slideshow": ".ppsx",
    _MICROSOFT + "powerpoint.presentation.macroenabled.12": ".pptm",
    _MICROSOFT + "powerpoint.template.macroenabled.12": ".potm",
    _MICROSOFT + "powerpoint.slideshow.macroenabled.12": ".ppsm",
    _OPEN + "presentation": ".odp",
    _OPEN + "presentation-template": ".otp",
    _OPEN + "graphics": ".odg",
    _OPEN + "graphics-template": ".otg",
}
KINDS: dict[str, Rendered] = {
    media_type: Rendered(suffix, part)
    for part, types in (("writer", _WRITER), ("calc", _CALC), ("impress", _IMPRESS))
    for media_type, suffix in types.items()
}
