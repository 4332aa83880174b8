"""Names of members in archives whose format does not state their charset (tar, cpio, ar, RAR 4)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from readers.base import Child
from readers.charset_guess import guess, is_utf8, reads

# The charset of a file's name, by its letters: names are too short for the statistics of the charset
# detector.

_KANA = "\u3041-\u3093\u30a1-\u30f6\u30fc"
_JAPANESE = re.compile(f"[{_KANA}\u3005\u4e00-\u9fff\u3001-\u301c\u30fb\uff01-\uff5e]+")
_SYLLABLES = re.compile(f"[{_KANA}]")
# Half-width kana as Japanese is written: small ones follow a syllable that takes them, as voicing marks do. One byte each, where other
# charsets have capitals, Thai, and halves of characters.
_HALF = re.compile("[\uff66-\uff9f]+")
_HALF_WORD = re.compile(  # one way to read each character: there are no others to try
    "(?:[\uff66\uff71-\uff9d]|(?<=[\uff73\uff76-\uff84\uff8a-\uff8e])\uff9e|(?<=[\uff8a-\uff8e])\uff9f"
    "|(?<=[\uff73\uff76-\uff84\uff8a-\uff8e\uff9e\uff9f])[\uff67-\uff6b]"
    "|(?:(?<=[\uff77\uff7c\uff81\uff86\uff8b\uff90\uff98])|(?<=[\uff77\uff7c\uff81\uff8b][\uff9e\uff9f]))[\uff6c-\uff6e]"
    "|(?<!^)[\uff6f\uff70])+"
)
_FEWEST_HALF = 3
_OF_TWO_BYTES = ("gb18030", "big5hkscs", "cp949", "euc_jp")
_THAI = re.compile("(?:[\u0e40-\u0e44]?[\u0e01-\u0e2e][\u0e30-\u0e3a\u0e45\u0e47-\u0e4e]*)+")
_THAI_VOWEL = re.compile("[\u0e30-\u0e3a]")
_CAPITALS = (("cp1251", re.compile("[\u0401-\u0404\u0406-\u042f]+")), ("cp1253", re.compile("[\u0386-\u03ab]+")))
# Letters that have another form at the end of a word, and these forms.
_HEBREW = re.compile("[\u05d0-\u05ea]+")
_FINAL, _INNER = frozenset("\u05da\u05dd\u05df\u05e3\u05e5"), frozenset("\u05db\u05de\u05e0\u05e4\u05e6")
_FEWEST_HEBREW = 6  # with fewer letters capitals in Russian may look like it
_CENTRAL = frozenset("ąćęłńóśźżáčďéěíňřšťúůýžľĺŕôäőűöüßăâîşţđ")
_WESTERN = frozenset("àâäáãåæªçéèêëíìîïñóòôöõøºúùûüÿýß")
_WESTERN_CODECS = ("cp437", "cp850", "cp1252")
_CAPITAL_WITHIN = re.compile("[a-z\xdf-\xff\u0103-\u017f](?=[^\x00-\x7f])(.)")  # an accented one, which no word has


def by_letters(name: bytes) -> str:
    """Return the codec of a name that is not UTF-8; "" if its letters do not decide."""
    if _is_japanese(name):
        return "cp932"
    if _is_hebrew(name):
        return "cp862"
    if _is_central(name) and not any(_is_of(name, codec, _WESTERN) for codec in _WESTERN_CODECS):
        return "" if _is_of(name, "cp1250", _CENTRAL) else "cp852"
    return ""


def _read(name: bytes, codec: str) -> str:
    try:
        return name.decode(codec)
    except UnicodeDecodeError:
        return ""


def may_be_japanese(name: bytes) -> bool:
    """Return whether all non-ASCII characters are Shift-JIS in runs of two or more: a single one may be an accented
    letter of DOS and the letter after it."""
    text = _HALF.sub("", _read(name, "cp932"))
    runs = _JAPANESE.findall(text)
    return sum(c > "\x7f" for c in text) == sum(map(len, runs)) and min(map(len, runs), default=2) > 1


def _is_japanese(name: bytes) -> bool:
    """Return whether it may be, and has two syllables, or half-width words in no two-byte charset."""
    if not may_be_japanese(name):
        return False
    text = _read(name, "cp932")
    return len(_SYLLABLES.findall(text)) > 1 if _HALF.search(text) is None else _is_half_width(name, text)


def _is_half_width(name: bytes, text: str) -> bool:
    words = _HALF.findall(text)
    if sum(map(len, words)) < _FEWEST_HALF or not all(map(_HALF_WORD.fullmatch, words)):
        return False
    if any(_read(name, codec) for codec in _OF_TWO_BYTES):
        return False
    raw = [word.encode("cp932") for word in words]
    thai = [_read(word, "cp874") for word in raw]
    if all(map(_THAI.fullmatch, thai)) and any(map(_THAI_VOWEL.search, thai)):
        return False
    return not any(all(letters.fullmatch(_read(word, codec)) for word in raw) for codec, letters in _CAPITALS)


def _is_central(name: bytes) -> bool:
    """Return whether the name is in code page 852 and has capitals only where words have them."""
    text = _read(name, "cp852")
    return _is_of(name, "cp852", _CENTRAL) and not any(c.isupper() for c in _CAPITAL_WITHIN.findall(text))


def _is_hebrew(name: bytes) -> bool:
    """Return whether all non-ASCII words are Hebrew, with final letters at their ends and nowhere else: capitals in
    Russian and Greek break that rule."""
    text = _read(name, "cp862")
    words = [word for word in re.split(r"[\W\d_]+", text) if not word.isascii()]
    if sum(map(len, words)) < _FEWEST_HEBREW:
        return False
    if not all(_HEBREW.fullmatch(word) for word in words):
        return False
    return not any(set(word[:-1]) & _FINAL or word[-1] in _INNER for word in words if len(word) > 1)


def _is_of(name: bytes, codec: str, letters: frozenset[str]) -> bool:
    """Return whether all non-ASCII characters of the name in this codec are among `letters`."""
    text = _read(name, codec)
    return bool(text) and all(c < "\x80" or c.lower() in letters for c in text)


MOST = 500  # names that are looked at together
_NO_LETTER = "ÿ"  # in windows-1252: frequent in bytes that are not text, and rare in words


def shown(children: Iterable[Child]) -> Iterator[Child]:
    """Yield the same children with names that are not UTF-8 decoded: in the charset that the names so far certainly
    have (the first name too), else in the likeliest one, which is recorded as a guess. A name that fits no charset is
    left as it is."""
    names: list[bytes] = []
    charset = ""
    for child in children:
        if child.shown is None and not is_utf8(child.name):
            if len(names) < MOST:
                names.append(child.name)
                charset = charset_of(names) or charset
            own = charset if charset and reads(child.name, charset) else by_letters(child.name)
            if own:
                child.shown = child.name.decode(own, "replace")
            elif (shown := (alone := likely_charset((child.name,))).read(child.name)) is not None:
                child.shown = shown
                child.notes = child.notes | {"name_charset": alone.charset}
        yield child


def charset_of(names: Iterable[bytes]) -> str:
    """Return the charset of such names together; "" where it is not certain."""
    guessed = guess(b"\n".join(names))
    return guessed.codec if guessed.sure else ""


class Likely(NamedTuple):
    """The likeliest charset of names, "" where none was detected; whether that is certain; and the charset that the
    letters of most names indicate."""

    charset: str
    sure: bool
    letters: str = ""

    def by_letters(self, name: bytes) -> tuple[str, str] | None:
        """Decode a name by its letters, or those of the others, where the charset is not certain; return the text and
        its charset. None where they indicate no charset."""
        if self.sure and reads(name, self.charset):
            return None
        own = by_letters(name)
        charset = own or self.letters
        text = name.decode(charset, "replace") if charset and reads(name, charset) else ""
        others = text and all(c.isalpha() for c in text if c > "\x7f") and (charset != "cp932" or may_be_japanese(name))
        return (text, charset) if own or others else None

    def read(self, name: bytes) -> str | None:
        """Decode a name; return None if it cannot be in this charset."""
        if not self.charset or not reads(name, self.charset):
            return None
        text = name.decode(self.charset, "replace")
        return text if self.sure or (text.isprintable() and _NO_LETTER not in text) else None


def likely_charset(names: Iterable[bytes]) -> Likely:
    """Return the likeliest charset of all names together, and the charset that the letters of most of them indicate."""
    known = list(names)
    guessed = guess(b"\n".join(known))
    letters = Counter(filter(None, map(by_letters, known))).most_common(1)
    japanese = guessed.codec if guessed.codec == "cp932" else ""
    return Likely(guessed.codec, guessed.sure, letters[0][0] if letters else japanese)
