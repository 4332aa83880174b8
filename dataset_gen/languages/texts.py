"""Real texts by language (SOURCES.md), and the charsets that people wrote each language in."""

from __future__ import annotations

import functools
import tarfile
import unicodedata
from pathlib import Path

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
_MOST_LEFT_OUT = 0.01  # of a text's characters, for a charset that lacks them: with more it is not written in that


def texts(place: Path = TEXTS) -> dict[str, str]:
    """The texts by language: of the archive, or of a directory of files such as de.txt."""
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
    """Those of the archive, kept, in order of language."""
    return dict(sorted(texts().items()))


def fitting(text: str, charset: str) -> str:
    """The text as it is written in a charset, without the few characters that this lacks; "" where they are not few."""
    written = _written(text, charset)
    fit = written.translate({ord(c): None for c in set(written) if not c.encode(charset, "ignore")})
    return fit if len(fit) >= (1 - _MOST_LEFT_OUT) * len(text) else ""


def _written(text: str, charset: str) -> str:
    """Vietnamese for Windows has tones as characters of their own."""
    if charset != "cp1258":
        return text
    out = []
    for c in text:
        apart = unicodedata.normalize("NFD", c)
        plain = unicodedata.normalize("NFC", "".join(x for x in apart if x not in _TONES))
        out.append(c if c.encode(charset, "ignore") else plain + "".join(x for x in apart if x in _TONES))
    return "".join(out)
