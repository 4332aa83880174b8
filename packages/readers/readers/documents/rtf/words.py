"""Control words of RTF (Rich Text Format Specification 1.9.1) that matter for text, and their meaning."""

from __future__ import annotations

import re

from readers.charset_labels import by_page
from readers.fonts import FONT_CODECS

# Words that become characters of the text.
CHARACTERS = {
    b"par": "\n",
    b"line": "\n",
    b"sect": "\n",
    b"page": "\n",
    b"column": "\n",
    b"row": "\n",
    b"nestrow": "\n",
    b"cell": "\t",
    b"nestcell": "\t",
    b"tab": "\t",
    b"emdash": "\u2014",
    b"endash": "\u2013",
    b"emspace": " ",
    b"enspace": " ",
    b"qmspace": " ",
    b"bullet": "\u2022",
    b"lquote": "\u2018",
    b"rquote": "\u2019",
    b"ldblquote": "\u201c",
    b"rdblquote": "\u201d",
}
SYMBOLS = {b"~": "\u00a0", b"_": "-", b"-": "\u00ad", b"\n": "\n", b"\r": "\n", b"{": "{", b"}": "}", b"\\": "\\"}

# Destinations whose text is not shown, or is shown a second time elsewhere; skipped with everything in them.
SKIPPED = frozenset(
    b"colortbl stylesheet listtable listoverridetable revtbl rsidtbl themedata "
    b"colorschememapping latentstyles datastore xmlnstbl filetbl template private1 xe rxe txe tc tcn bkmkstart "
    b"bkmkend objclass objname objalias objsect pgdsctbl mmathPict ftnsep ftnsepc aftnsep aftnsepc aftncn "
    b"ftncn pnseclvl falt panose fontemb picprop blipuid blipcompr generator passwordhash htmltag".split()
)
# Destinations marked as ignorable (\*) that contain text, pictures or objects; LibreOffice marks all notes so.
ENTERED = frozenset(b"footnote shppict shpinst do annotation atnid atnauthor ud moMath moMathPara company".split())
# Groups that contain groups with text, but are not text themselves.
MUTE = frozenset(b"object shp do shpgrp sp nonshppict shprslt".split())
SHOWN_OTHERWISE = frozenset(
    (b"object", b"nonshppict", b"shprslt")
)  # pictures in these represent content that is also elsewhere
AGAIN = b"shprslt"  # a shape again, as Word 95 draws it, with its texts a second time
LOUD = frozenset(b"result shptxt dptxbxtext".split())
# Objects that are stored in another file: the document contains only their picture.
LINKED = frozenset(b"objautlink objlink".split())
# Text that is in the middle of other text.
APART = frozenset(
    b"header headerl headerr headerf footer footerl footerr footerf footnote annotation atnid atnauthor shptxt dptxbxtext".split()
)

# {\info …}: destination → metadata key
INFO = {
    b"title": "title",
    b"author": "author",
    b"subject": "doc_subject",
    b"keywords": "keywords",
    b"doccomm": "description",
    b"operator": "last_author",
    b"company": "company",
    b"creatim": "created",
    b"revtim": "modified",
}
TIME = {b"yr": 0, b"mo": 1, b"dy": 2, b"hr": 3, b"min": 4, b"sec": 5}

PICTURES = {
    b"pngblip": b"png",
    b"jpegblip": b"jpg",
    b"emfblip": b"emf",
    b"wmetafile": b"wmf",
    b"dibitmap": b"bmp",
    b"macpict": b"pict",
}

# Another name of windows-1252, for bytes in an unknown code page.
UNKNOWN = "windows-1252"
DOCUMENT_CODECS = {b"mac": "mac_roman", b"pc": "cp437", b"pca": "cp850"}
_WIDE = 1200  # UTF-16


def codec_of_page(page: int) -> str:
    """Return the codec of a Windows code page; windows-1252 for none (0, 1), `UNKNOWN` for an unknown one."""
    return "cp1252" if page in (0, 1) else by_page(page if page != _WIDE else 0) or UNKNOWN


def iso(parts: dict[int, int]) -> str:
    r"""Return `\\yr2020\\mo3\\dy6\\hr9\\min5` as 2020-03-06T09:05:00; "" without a year."""
    if not 1 <= parts.get(0, 0) <= 9999:
        return ""
    year, month, day, hour, minute, second = (max(0, parts.get(i, 0)) % 10_000 for i in range(6))
    return f"{year:04d}-{month or 1:02d}-{day or 1:02d}T{hour:02d}:{minute:02d}:{second:02d}"


# Tokens of RTF, and the end of a group.

TOKEN = re.compile(rb"\\(?:([a-zA-Z]{1,32})(-?\d{1,10})? ?|'([0-9a-fA-F]{2})|([^a-zA-Z]))|([{}])|([^\\{}\r\n\0]+)")
_BRACE = re.compile(rb"\\bin(\d{1,10}) ?|\\[^a-zA-Z]|[{}]")


def group_end(data: bytes, at: int) -> int:
    """Return the position of the brace that closes the group around `at`, or the end of the data."""
    depth = 1
    while (brace := data.find(b"}", at)) >= 0:
        part = data[at:brace]
        if b"\\{" in part or b"\\bin" in part or part.endswith(b"\\"):
            return _group_end(data, at, depth)
        depth += part.count(b"{") - 1
        if not depth:
            return brace
        at = brace + 1
    return len(data)


def _group_end(data: bytes, at: int, depth: int) -> int:
    r"""Return the same from inside `depth` groups, skipping escaped braces and \\bin bytes."""
    while True:
        for match in _BRACE.finditer(data, at):
            if match[1] is not None:
                at = match.end() + int(match[1])
                break
            character = data[match.start()]
            if character == 0x7B:
                depth += 1
            elif character == 0x7D:
                depth -= 1
                if not depth:
                    return match.start()
        else:
            return len(data)


# The code page of a document's bytes: the document's own, a font's, or that of the default font if none
# is named (Rich Text Format Specification 1.9.1, "Font Table", `\deff`, `\plain`).

_FONT = re.compile(rb"\\(f|fcharset|cpg)(-?\d{1,10})?(?![a-zA-Z])")
_OF_SIGNS = "cp1252"  # codec of Symbol and the like, which as default fonts show nothing about letters


class Fonts:
    """Codecs of a document and of its fonts."""

    def __init__(self) -> None:
        self.document = "cp1252"
        self.default = 0  # the font where none is named
        self._numbered = False  # the document's code page is given as a number
        self._codecs: dict[int, str] = {}

    def of(self, number: int) -> str:
        """Return the codec of text in this font."""
        return self._codecs.get(number, self.document)

    @property
    def plain(self) -> str:
        """Codec of text without a named font: that of the default font."""
        codec = self.of(self.default)
        return self.document if codec == _OF_SIGNS else codec

    @property
    def unformatted(self) -> str:
        """Codec of titles, names and values, which have no font."""
        return self.document if self._numbered else self.plain

    def set_page(self, word: bytes, number: int) -> None:
        """Set the document's own code page as one of its words declares it."""
        self._numbered = self._numbered or word == b"ansicpg"
        self.document = codec_of_page(number) if word == b"ansicpg" else DOCUMENT_CODECS[word]

    def read(self, data: bytes, start: int, stop: int) -> None:
        """Read the font table between these positions; only its code pages matter."""
        font = 0
        for match in _FONT.finditer(data, start, stop):
            number = int(match[2] or b"0")
            if match[1] == b"f":
                font = number
            elif match[1] == b"cpg":
                self._codecs[font] = codec_of_page(number)
            elif number in FONT_CODECS:
                self._codecs[font] = FONT_CODECS[number]
