"""Real texts by language (SOURCES.md), and the charsets that people wrote each language in."""

from __future__ import annotations

import csv
import functools
import html
import io
import itertools
import re
import tarfile
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from dataset_gen.made import Made, leaf
from dataset_gen.rng import Dice, derive
from readers.mail_form import base64_lines

TEXTS = Path(__file__).with_name("texts.tar.xz")
UNICODE = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
SHIFTED = ("iso2022_jp", "iso2022_kr", "hz")  # seven bits, whatever the script
_WESTERN = ("cp1252", "iso8859-1", "iso8859-15", "mac-roman", "cp850", "cp437", "cp858")
_EBCDIC = ("cp037", "cp500", "cp1140")
_CENTRAL = ("cp1250", "iso8859-2", "cp852", "mac-latin2")
_BALTIC = ("cp1257", "iso8859-13", "iso8859-4", "cp775")
_CYRILLIC = ("cp1251", "iso8859-5", "mac-cyrillic", "cp855")
CHARSETS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("fr", "de", "es", "it", "sv", "da", "nl"), (*_WESTERN, *_EBCDIC)),
    **dict.fromkeys(("pt", "nb", "fi", "is", "ga", "ca"), _WESTERN),
    **dict.fromkeys(("pl", "cs", "hu", "ro", "hr", "sk", "sl", "sq"), _CENTRAL),
    **dict.fromkeys(("lt", "lv", "et"), _BALTIC),
    **dict.fromkeys(("ru", "bg"), (*_CYRILLIC, "cp866", "koi8-r")),
    **dict.fromkeys(("sr", "mk", "be"), _CYRILLIC),
    "uk": (*_CYRILLIC, "koi8-u"),
    "kk": ("ptcp154", "kz1048"),
    "el": ("cp1253", "iso8859-7", "cp737", "cp869", "mac-greek", "cp875"),
    "he": ("cp1255", "iso8859-8", "cp862", "cp424"),
    "ar": ("cp1256", "iso8859-6", "cp720"),
    "tr": ("cp1254", "iso8859-9", "cp857", "mac-turkish", "cp1026"),
    "vi": ("cp1258",),
    "th": ("cp874", "tis-620"),
    "ja": ("shift_jis", "cp932", "euc_jp", "iso2022_jp"),
    "zh_Hans": ("gb2312", "gbk", "gb18030", "hz"),
    "zh_Hant": ("big5", "cp950", "big5hkscs"),
    "ko": ("euc_kr", "cp949", "iso2022_kr", "johab"),
}
_TONES = "\u0300\u0301\u0303\u0309\u0323"
_MOST_LEFT_OUT = 0.01  # share of a text's characters that a charset may lack: with more, the text is not written in it


def texts(place: Path = TEXTS) -> dict[str, str]:
    """Return the texts by language: of the archive, or of a directory of files such as de.txt."""
    if place.is_dir():
        return {path.stem: path.read_text(encoding="utf-8") for path in sorted(place.glob("*.txt"))}
    by_language = {}
    with tarfile.open(place) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name.endswith(".txt") else None
            if file is not None:
                by_language[Path(member.name).stem] = file.read().decode("utf-8")
    return by_language


@functools.cache
def own_texts() -> dict[str, str]:
    """Return the texts of the archive, sorted by language."""
    return dict(sorted(texts().items()))


def fitting(text: str, charset: str) -> str:
    """Return the text as it is written in a charset, without the few characters that the charset lacks; "" if they are
    not few."""
    written = _written(text, charset)
    fit = written.translate({ord(c): None for c in set(written) if not c.encode(charset, "ignore")})
    return fit if len(fit) >= (1 - _MOST_LEFT_OUT) * len(text) else ""


def _written(text: str, charset: str) -> str:
    """Decompose tones for Vietnamese in windows-1258, where they are characters of their own."""
    if charset != "cp1258":
        return text
    out = []
    for c in text:
        apart = unicodedata.normalize("NFD", c)
        plain = unicodedata.normalize("NFC", "".join(x for x in apart if x not in _TONES))
        out.append(c if c.encode(charset, "ignore") else plain + "".join(x for x in apart if x in _TONES))
    return "".join(out)


class Manner(StrEnum):
    """Form in which a text is written. The last four are UTF-8."""

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
_FALSE = ("us-ascii", "utf-8")  # declared by programs that do not know the charset
_NO_ASCII = ("cp037", "cp500", "cp1140", "cp424", "cp875", "cp1026", *UNICODE[1:])  # not for text inside markup
_RIGHT_TO_LEFT = ("ar", "fa", "he", "ur")
_NO_HYPHENS = (*_RIGHT_TO_LEFT, "ja", "ko", "th", "zh_Hans", "zh_Hant")
_IN_FORMS = ("ar", "fa", "ja", "ko", "ur", "zh_Hans", "zh_Hant")
_WIDE = ("ja", "ko", "zh_Hans", "zh_Hant")  # languages whose Latin letters may be as wide as their own


def states(charset: str, manner: Manner) -> tuple[str, ...]:
    """Return the allowed text states. If the charset is neither declared nor evident from the structure, a reader may
    be unsure. It may not be wrong and report `ok`."""
    certain = manner in _DECLARED or charset in UNICODE or charset in SHIFTED
    return ("ok",) if certain else ("ok", "guessed")


def false_label(charset: str, number: int) -> str:
    """Return the wrong charset that file `number` declares: ASCII and UTF-8 in turn; windows-1252 for UTF-8 and for
    charsets without bytes above ASCII."""
    return "windows-1252" if charset in ("utf-8", *SHIFTED) else _FALSE[number % 2]


@functools.cache
def pairs() -> tuple[tuple[str, str, tuple[Manner, ...]], ...]:
    """Return every language with every charset in which it is written, and the manners that go with both."""
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
    """Replace letters and signs by less usual forms that Unicode has of them."""
    return text.translate(_forms(language in _WIDE))


@functools.cache
def _forms(wide: bool) -> dict[int, str]:
    """Map code points to their forms of one character, from the Unicode blocks between Arabic forms and half and full
    width."""
    sorts = ("<vertical>", "<narrow>", "<wide>") if wide else ("<isolated>",)
    out: dict[int, str] = {}
    for code in (*range(0xFB50, 0xFE00), *range(0xFE10, 0xFF00), *range(0xFF00, 0xFFE0)):
        sort, *of = unicodedata.decomposition(chr(code)).split() or [""]
        if sort in sorts and len(of) == 1 and int(of[0], 16) not in out and of[0] not in ("0020", "000A"):
            out[int(of[0], 16)] = chr(code)
    return out


SIZES = (200, 500, 1_000, 2_000, 4_000, 8_000, 20_000)  # bytes, in turn
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u0652\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
_WORD = re.compile(rf"(?:[^\W\d_][{_MARKS}]*){{5,9}}")
_SYLLABLES = re.compile(rf"(?:[^\W\d_][{_MARKS}]*){{5}}")  # in scripts without blanks: any five letters in a row
_WITHOUT_BLANKS = ("ja", "th", "zh_Hans", "zh_Hant")
_HYPHENS = ("-\n", "\u2010\n", "\xad\n", "\xad")
_LABELS = {
    "cp932": "windows-31j",
    "cp874": "windows-874",
    "cp949": "ks_c_5601-1987",
    "mac-roman": "macintosh",
    "hz": "hz-gb-2312",
    "big5hkscs": "big5-hkscs",
    "euc_jp": "euc-jp",
    "euc_kr": "euc-kr",
    "iso2022_jp": "iso-2022-jp",
    "iso2022_kr": "iso-2022-kr",
}
_MEDIA_TYPES = {"txt": "text/plain", "csv": "text/csv", "html": "text/html", "eml": "message/rfc822"}


def sample_key(number: int) -> str:
    """Return the key of file `number`: every pair of language and charset occurs once before one is repeated in its
    next manner."""
    turn, at = divmod(number, len(pairs()))
    language, charset, manners = pairs()[at]
    return f"{language}/{charset}/{manners[(at + turn) % len(manners)]}/{number}"


def sample_size(number: int) -> int:
    """Return the approximate bytes of file `number`."""
    return SIZES[(number + number // len(pairs())) % len(SIZES)]


def build_sample(seed: int, key: str, size: int) -> Made:
    """Build the file with that key."""
    language, charset, shown, number = key.split("/")
    manner, dice = Manner(shown), Dice(derive(seed, "language", key))
    fit = _fit(language, charset)
    first, second = _compound(dice, language, charset), _compound(dice, language, charset)
    word = "".join(first)
    terms = (word, f"{word} {''.join(second)}")
    broken = dice.pick(_HYPHENS).join(first) if manner is Manner.CUT else word
    width = len(fit.encode(charset)) / len(fit)
    length = max(20, min(len(fit) - 1, int((size - 100) / width)))
    start = dice.below(len(fit) - length)
    lines = fit[start : start + length].strip().split("\n")
    lines.insert(dice.below(len(lines) + 1), f"{broken} {''.join(second)}")
    label = false_label(charset, int(number)) if manner in CONTRADICTED else _label(charset)
    data = _sample_written(_in_manner(lines, manner, language), charset, manner, label)
    made = leaf(data, _MEDIA_TYPES[manner.kind], characters=length, terms=terms)
    return Made(made.data, replace(made.truth, states=states(charset, manner)))


@functools.cache
def _fit(language: str, charset: str) -> str:
    return fitting(own_texts()[language], charset)


@functools.cache
def _words(language: str, charset: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words to make compounds of, first parts and last parts; no word is both."""
    shape = _SYLLABLES if language in _WITHOUT_BLANKS else _WORD
    words = dict.fromkeys(w for w in shape.findall(_fit(language, charset)) if w == w.lower())
    ordered = sorted(words)
    odd = [w for w in ordered[::2] if not w.isascii()]
    return tuple(odd if len(odd) >= 5 else ordered[::2]), tuple(ordered[1::2])


def _compound(dice: Dice, language: str, charset: str) -> tuple[str, str]:
    """Return two words that follow each other in no text; the first is not ASCII if the language has such words."""
    first, second = _words(language, charset)
    while True:
        pair = dice.pick(first), dice.pick(second)
        if unicodedata.normalize("NFC", "".join(pair)) not in _all_letters():
            return pair


@functools.cache
def _all_letters() -> str:
    """Return all texts without the characters between their words: a term in it might be found without having been
    planted."""
    return "\n".join(re.sub(rf"[^\w{_MARKS}]+", "", text) for text in own_texts().values()).lower()


def _in_manner(lines: list[str], manner: Manner, language: str) -> list[str]:
    if manner is Manner.DECOMPOSED:
        return [unicodedata.normalize("NFD", line) for line in lines]
    if manner is Manner.FORMS:
        return [in_forms(line, language) for line in lines]
    if manner is Manner.BIDI:  # an embedding around each line, a mark inside of its first word
        return [f"\u202b{_FIRST.sub(lambda two: chr(0x200F).join(two[0]), line, count=1)}\u202c" for line in lines]
    return lines


_FIRST = re.compile(r"[^\W\d_]{2}")


def _sample_written(lines: list[str], charset: str, manner: Manner, label: str) -> bytes:
    label = label if manner.declares else ""
    if manner.kind == "csv":
        out = io.StringIO()
        csv.writer(out, lineterminator="\r\n").writerows(enumerate(lines, 1))
        return out.getvalue().encode(charset)
    if manner.kind == "html":
        meta = f'<meta charset="{label}">' if label else ""
        body = "\n".join(f"<p>{html.escape(line)}</p>" for line in lines)
        page = f"<!DOCTYPE html>\n<html><head>{meta}<title>1</title></head><body>\n{body}\n</body></html>\n"
        return page.encode(charset)
    text = ("\n".join(lines) + "\n").encode(charset)
    return _mail(text, label) if manner.kind == "eml" else text


def _mail(text: bytes, label: str) -> bytes:
    declared = f'; charset="{label}"' if label else ""
    head = (
        "Message-ID: <1@mail.example>\nDate: Thu, 01 Jan 2015 00:00:00 +0000\nFrom: ann@mail.example\n"
        f"To: bob@mail.example\nSubject: 1\nMIME-Version: 1.0\nContent-Type: text/plain{declared}\n"
        f"Content-Transfer-Encoding: {'base64' if label else '8bit'}\n\n"
    )
    return head.encode() + (base64_lines(text) if label else text)


def _label(charset: str) -> str:
    """Return a charset's name in mail and HTML pages."""
    if charset in _LABELS:
        return _LABELS[charset]
    if charset.startswith("cp125"):
        return f"windows-{charset[2:]}"
    if charset.startswith("cp"):
        return f"ibm{charset[2:].lstrip('0').rjust(3, '0')}"
    if charset.startswith("iso8859"):
        return f"iso-8859-{charset.partition('-')[2]}"
    return f"x-{charset}" if charset.startswith("mac") else charset
