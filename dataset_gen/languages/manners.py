"""In what manner a text lies in a file: what kind of file, whether the charset is declared, in which form its letters are."""

from __future__ import annotations

import functools
import itertools
import unicodedata
from collections.abc import Iterator
from enum import StrEnum

from dataset_gen.languages.texts import CHARSETS, SHIFTED, UNICODE, fitting, own_texts


class Manner(StrEnum):
    """How a text is written down. The last four are UTF-8."""

    TXT = "txt"
    CSV = "csv"
    HTML = "html"
    HTML_DECLARED = "html-declared"
    EML = "eml"
    EML_DECLARED = "eml-declared"
    HTML_CONTRADICTED = "html-contradicted"  # a charset is declared in which the bytes are not
    EML_CONTRADICTED = "eml-contradicted"
    DECOMPOSED = "txt-decomposed"  # letters and their marks one by one (NFD)
    FORMS = "txt-forms"  # vertical signs, half and full width, Arabic shapes
    BIDI = "txt-bidi"  # right to left, with the marks that say so
    CUT = "txt-cut"  # words with hyphens at the ends of lines, and soft ones

    @property
    def kind(self) -> str:
        """The file's extension."""
        return self.value.partition("-")[0]

    @property
    def declares(self) -> bool:
        """Whether a charset is declared, right or wrong."""
        return self.value.endswith(("-declared", "-contradicted"))


_DECLARED = (Manner.HTML_DECLARED, Manner.EML_DECLARED)
CONTRADICTED = (Manner.HTML_CONTRADICTED, Manner.EML_CONTRADICTED)
_FALSE = ("us-ascii", "utf-8")  # what programs declare that do not know
_NO_ASCII = ("cp037", "cp500", "cp1140", "cp424", "cp875", "cp1026", *UNICODE[1:])  # not for what markup lies around
_RIGHT_TO_LEFT = ("ar", "fa", "he", "ur")
_NO_HYPHENS = (*_RIGHT_TO_LEFT, "ja", "ko", "th", "zh_Hans", "zh_Hant")
_IN_FORMS = ("ar", "fa", "ja", "ko", "ur", "zh_Hans", "zh_Hant")
_WIDE = ("ja", "ko", "zh_Hans", "zh_Hant")  # their letters are as wide as Latin ones can be written


def states(charset: str, manner: Manner) -> tuple[str, ...]:
    """The text states that are allowed: where nothing declares what no structure tells, a reader may be unsure. It may not
    be wrong and say `ok`."""
    certain = manner in _DECLARED or charset in UNICODE or charset in SHIFTED
    return ("ok",) if certain else ("ok", "guessed")


def false_label(charset: str, number: int) -> str:
    """What is declared of file `number` instead of its charset, which its bytes contradict: ASCII or UTF-8 by turns, of UTF-8
    and of what has no bytes above ASCII windows-1252."""
    return "windows-1252" if charset in ("utf-8", *SHIFTED) else _FALSE[number % 2]


@functools.cache
def pairs() -> tuple[tuple[str, str, tuple[Manner, ...]], ...]:
    """Every language with every charset that it is written in, and the manners that go with both."""
    return tuple(_pairs())


def _pairs() -> Iterator[tuple[str, str, tuple[Manner, ...]]]:
    for language, text in own_texts().items():
        for charset in (*CHARSETS.get(language, ()), *UNICODE):
            fit = fitting(text, charset)
            if not fit or (fit.isascii() and charset != "utf-8"):
                continue
            if charset in _NO_ASCII:
                yield language, charset, (Manner.TXT, Manner.EML_DECLARED, Manner.EML_CONTRADICTED)
            else:
                yield language, charset, tuple(itertools.islice(Manner, 8))
        if unicodedata.normalize("NFD", text) != text:
            yield language, "utf-8", (Manner.DECOMPOSED,)
        if language in _IN_FORMS:
            yield language, "utf-8", (Manner.FORMS,)
        if language in _RIGHT_TO_LEFT:
            yield language, "utf-8", (Manner.BIDI,)
        if language not in _NO_HYPHENS:
            yield language, "utf-8", (Manner.CUT,)


def in_forms(text: str, language: str) -> str:
    """The text in the forms that Unicode has of its letters and signs beside the usual ones."""
    return text.translate(_forms(language in _WIDE))


@functools.cache
def _forms(wide: bool) -> dict[int, str]:
    """By code point: of the blocks from vertical forms to half and full width, what is a form of one character."""
    sorts = ("<vertical>", "<narrow>", "<wide>") if wide else ("<isolated>",)
    out: dict[int, str] = {}
    for code in (*range(0xFB50, 0xFE00), *range(0xFE10, 0xFF00), *range(0xFF00, 0xFFE0)):
        sort, *of = unicodedata.decomposition(chr(code)).split() or [""]
        if sort in sorts and len(of) == 1 and int(of[0], 16) not in out and of[0] not in ("0020", "000A"):
            out[int(of[0], 16)] = chr(code)
    return out
