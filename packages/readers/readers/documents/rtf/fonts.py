"""Which code page a document's bytes are in: the document's own, a font's, that of the font which holds where no other is
named (Rich Text Format Specification 1.9.1, "Font Table", `\\deff`, `\\plain`)."""

from __future__ import annotations

import re

from readers.documents.rtf import words
from readers.fonts import FONT_CODECS

_FONT = re.compile(rb"\\(f|fcharset|cpg)(-?\d{1,10})?(?![a-zA-Z])")
_OF_SIGNS = "cp1252"  # what Symbol and the like are read in: as the default font one shows nothing about letters


class Fonts:
    """Codecs of a document and of its fonts."""

    def __init__(self) -> None:
        self.document = "cp1252"
        self.default = 0  # the font where none is named
        self._told = False  # the document's code page is given as a number
        self._codecs: dict[int, str] = {}

    def of(self, number: int) -> str:
        """What text in this font is read in."""
        return self._codecs.get(number, self.document)

    @property
    def plain(self) -> str:
        """The same where no font is named: of the default one."""
        codec = self.of(self.default)
        return self.document if codec == _OF_SIGNS else codec

    @property
    def unformatted(self) -> str:
        """What is no text in a font: titles, names, values."""
        return self.document if self._told else self.plain

    def set_page(self, word: bytes, number: int) -> None:
        """Set the document's own code page, as one of its words declares it."""
        self._told = self._told or word == b"ansicpg"
        self.document = words.codec_of_page(number) if word == b"ansicpg" else words.DOCUMENT_CODECS[word]

    def read(self, data: bytes, start: int, stop: int) -> None:
        """Read the table of fonts between these places; only its code pages matter."""
        font = 0
        for match in _FONT.finditer(data, start, stop):
            number = int(match[2] or b"0")
            if match[1] == b"f":
                font = number
            elif match[1] == b"cpg":
                self._codecs[font] = words.codec_of_page(number)
            elif number in FONT_CODECS:
                self._codecs[font] = FONT_CODECS[number]
