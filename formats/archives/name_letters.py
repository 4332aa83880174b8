"""Which charset the name of a file is in, by its letters: names are too short for the statistics of the charset detector.

Each rule holds for a whole name, and is as narrow as names of other languages demand: Japanese in Shift-JIS, Hebrew of DOS (code page
862), and Latin letters of Central Europe of DOS (852). Others are left to the detector.
"""

from __future__ import annotations

import re

_KANA = "\u3041-\u3093\u30a1-\u30f6\u30fc"
_JAPANESE = re.compile(f"[{_KANA}\u3005\u4e00-\u9fff\u3001-\u301c\u30fb\uff01-\uff5e]+")
_SYLLABLES = re.compile(f"[{_KANA}]")
# Letters that have another form at the end of a word, and these forms.
_HEBREW = re.compile("[\u05d0-\u05ea]+")
_FINAL, _INNER = frozenset("\u05da\u05dd\u05df\u05e3\u05e5"), frozenset("\u05db\u05de\u05e0\u05e4\u05e6")
_FEWEST_HEBREW = 6  # with fewer letters capitals in Russian may look like it
_CENTRAL = frozenset("ąćęłńóśźżáčďéěíňřšťúůýžľĺŕôäőűöüßăâîşţđ")
_WESTERN = frozenset("àâäáãåæªçéèêëíìîïñóòôöõøºúùûüÿýß")
_WESTERN_CODECS = ("cp437", "cp850", "cp1252")


def by_letters(name: bytes) -> str:
    """The codec of a name that is not UTF-8; "" where its letters leave it open."""
    if _is_japanese(name):
        return "cp932"
    if _is_hebrew(name):
        return "cp862"
    if _is_of(name, "cp852", _CENTRAL) and not any(_is_of(name, codec, _WESTERN) for codec in _WESTERN_CODECS):
        return "" if _is_of(name, "cp1250", _CENTRAL) else "cp852"
    return ""


def _read(name: bytes, codec: str) -> str:
    try:
        return name.decode(codec)
    except UnicodeDecodeError:
        return ""


def _is_japanese(name: bytes) -> bool:
    """Kana and characters next to each other, of which two are syllables: an accented letter of DOS and the letter after it look like one
    of them."""
    text = _read(name, "cp932")
    runs = _JAPANESE.findall(text)
    others = sum(c > "\x7f" for c in text) - sum(map(len, runs))
    return not others and min(map(len, runs), default=0) > 1 and len(_SYLLABLES.findall(text)) > 1


def _is_hebrew(name: bytes) -> bool:
    """Words of nothing else, with final letters at their ends and nowhere else: capitals in Russian and Greek break that rule."""
    text = _read(name, "cp862")
    words = [word for word in re.split(r"[\W\d_]+", text) if not word.isascii()]
    if sum(map(len, words)) < _FEWEST_HEBREW:
        return False
    if not all(_HEBREW.fullmatch(word) for word in words):
        return False
    return not any(set(word[:-1]) & _FINAL or word[-1] in _INNER for word in words if len(word) > 1)


def _is_of(name: bytes, codec: str, letters: frozenset[str]) -> bool:
    """Whether all that is not ASCII are such letters in this codec."""
    text = _read(name, codec)
    return bool(text) and all(c < "\x80" or c.lower() in letters for c in text)
