"""Labels and marks that name the charset of bytes: Python's codec for what programs write."""

from __future__ import annotations

import codecs
import re

from readers.last import remembered

# The longer marks first: UTF-32's little-endian mark begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_ANY_MARK = tuple(mark for mark, _ in _MARKS)
# What people mean by a label (as https://encoding.spec.whatwg.org/ has it), where Python's codec is narrower.
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
    "utf-32": "utf-32-le",
}
XML_CHARSET = re.compile(rb"<\?xml\b[^>]{0,256}?encoding\s*=\s*[\"']([A-Za-z0-9_.:-]{2,40})", re.IGNORECASE)
_DECLARATION = 300  # bytes at the start in which an XML declaration is searched
_XML_IN_EBCDIC = "<?xm".encode("cp037")
_CODE_PAGE = re.compile(r"^(?:ibm-?|windows-)(?=\d{3,4}$)")
# Labels that programs write and Python does not know.
_MISSPELT = {
    "windows-31j": "cp932",
    "ansi": "cp1252",
    "x-sjis": "cp932",
    "x-x-big5": "big5",
    "windows-874": "cp874",
    "dos-874": "cp874",
    "x-mac-ce": "mac-latin2",
    "x-mac-ukrainian": "mac-cyrillic",
    "unicode": "utf-16",
    "unicode-1-1-utf-8": "utf-8",
    "unicode-1-1-utf-7": "utf-7",
    "utf8mb4": "utf-8",
    "visual": "iso8859-8",
    "logical": "iso8859-8",
    "gb_2312-80": "gb2312",
    "iso-2022-jp-ms": "iso2022_jp_ext",
    **dict.fromkeys(("cp50220", "cp50221", "cp50222", "windows-50220", "windows-50221", "windows-50222"), "iso2022_jp"),
    **dict.fromkeys(("cp51932", "windows-51932", "eucjp-ms", "euc-jp-ms", "eucjp-win", "eucjp-open"), "euc_jp"),
    "x-windows-950": "cp950",
}
# Code pages of Windows whose numbers are no name; those from 10000 on are the Macintosh's.
_PAGES = {708: "cp1256", 1200: "utf-16-le", 1361: "johab", 10000: "mac-roman", 10001: "cp932", 10002: "cp950", 10003: "cp949", 10004: "mac-arabic", 10006: "mac-greek", 10007: "mac-cyrillic", 10008: "gb18030", 10010: "mac-romanian", 10021: "cp874", 10029: "mac-latin2", 10079: "mac-iceland", 10081: "mac-turkish", 10082: "mac-croatian", 20127: "cp1252", 20866: "koi8-r", 21866: "koi8-u", 51949: "cp949", 54936: "gb18030", 65001: "utf-8"}  # fmt: skip
_ISO_8859 = 28590  # plus the number of its part
# Codecs of Python that are no charsets. Scripts write `undefined` for an unset variable; that codec always fails.
_NO_CHARSETS = ("idna", "punycode", "undefined", "charmap", "unicode_escape", "raw_unicode_escape")


def by_mark(head: bytes) -> tuple[str, int]:
    """Return (codec, length of the mark) if the bytes begin with a byte-order mark, else ("", 0)."""
    if not head.startswith(_ANY_MARK):
        return "", 0
    return next((codec, len(mark)) for mark, codec in _MARKS if head.startswith(mark))


def by_declaration(head: bytes) -> str:
    """Return the charset that an XML declaration at the beginning of these bytes names; "" if there is none."""
    if head.startswith(_XML_IN_EBCDIC):
        head = head.decode("cp037").encode("latin-1")
    match = XML_CHARSET.match(head, 0, _DECLARATION)
    return match[1].decode("ascii") if match else ""


@remembered
def by_label(label: str) -> str:
    """Return the codec for a declared charset; "" if it is unknown or does not turn bytes into text."""
    name = label.strip().strip("\"'").lower()
    page = _CODE_PAGE.sub("cp", name)  # ibm720, windows-874: Python knows some of them by no other name
    for known in (name, _MISSPELT.get(name, ""), name.removeprefix("x-"), name.removesuffix("-i"), page):
        try:
            info = codecs.lookup(known)
        except (LookupError, ValueError):  # ValueError: the label holds NUL
            continue
        if not getattr(info, "_is_text_encoding", True) or info.name.replace("-", "_") in _NO_CHARSETS:
            return ""
        return _WIDER.get(info.name, info.name)
    return ""


def by_page(page: int) -> str:
    """Return the codec of a Windows code page; "" if it is unknown."""
    named = f"iso8859-{page - _ISO_8859}" if _ISO_8859 < page <= _ISO_8859 + 16 else f"cp{page}"
    return _PAGES.get(page) or by_label(named)


@remembered
def is_placeholder(label: str) -> bool:
    """Return whether programs write this label over bytes of any charset, because they know none: ASCII."""
    try:
        return codecs.lookup(label.strip().strip("\"'")).name == "ascii"
    except (LookupError, ValueError):
        return False
