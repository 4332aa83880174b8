"""What one form of a message's text contains and the other does not, so that a search finds it and no text is repeated.

Compared by words, ignoring what is between them: programs write `*bold*`, lines of dashes and addresses in brackets
into the plain form of a web page. Most pages add nothing, which is determined without parsing them.
"""

from __future__ import annotations

import re
from html import unescape

_ALNUM = bytes(byte if byte >= 128 or chr(byte).isalnum() else 32 for byte in range(256))  # UTF-8: ASCII's marks go
_MARKS = re.compile(
    "[\xa0-\xa9\xab-\xb4\xb6\xb8\xbb-\xbf\xd7\xf7\u2000-\u206f\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\ufeff]+"
)
_LATIN = bytes(  # and in small letters
    32 if byte >= 128 and _MARKS.match(chr(byte)) else _ALNUM[ord(chr(byte).lower())] for byte in range(256)
)
_BLANKLESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
# A tag, a comment, or the beginning of a style sheet with its whole content.
_TAG = re.compile(r"<style[^<>]*+>(?:\s*+<!--)?[^<]*+(?=</style)|<[a-zA-Z/!?][^<>]*+>", re.IGNORECASE)
# What may show letters between brackets, or an attribute. In letters of both kinds: if case were ignored, the search
# would look at every character and not at brackets alone.
_ODD_NAMES = ("xmp", "plaintext", "textarea", "svg", "math", "noembed", "noframes", "noscript", "iframe")
_ODD = re.compile(
    "<(?:" + "|".join("".join(f"[{letter}{letter.upper()}]" for letter in name) for name in _ODD_NAMES) + ")"
)
# The title of a page, which is no text of it, where it is certainly in the head.
_TITLE = re.compile(
    r"<head[^<>]*+>(?:\s++|<(?:meta|link|base)\b[^<>]*+>|(?!))*+<title[^<>]*+>([^<]*+)</title", re.IGNORECASE
)
_FRONT = 4096  # characters in which it is found
_MOST_SEARCHED = (
    1 << 26
)  # bytes of a text, for all letters in a row together; what is looked for afterwards counts as unsaid


class Said:
    """The words of a text."""

    def __init__(self, text: str) -> None:
        self._ordered = _words(text)
        self._words = frozenset(self._ordered)
        self._squeezed: bytes | None = None
        self._left = _MOST_SEARCHED

    def has_all(self, text: str) -> bool:
        """Whether every word of this one is among them; of a script without blanks, whether its letters occur in a
        row."""
        words = _words(text)
        return self._words.issuperset(words) or all(self._in_a_row(word) for word in set(words) - self._words)

    def page_has_nothing_else(self, markup: str) -> bool:
        """Whether a web page surely has no other word. Entities and tags within words make this unsure, not wrong."""
        if _ODD.search(markup):
            return False
        if title := _TITLE.search(markup, 0, _FRONT):
            markup = markup[title.end(1) :]  # nothing that is shown precedes it
        text = _TAG.sub(" ", markup)
        return self.has_all(unescape(text) if "&" in text else text)

    def unsaid(self, text: str) -> str:
        """Its lines that have another word."""
        return "\n".join([line for line in text.split("\n") if not self.has_all(line)])

    def _in_a_row(self, word: bytes) -> bool:
        if not _BLANKLESS.search(word.decode("utf-8", "replace")):
            return False
        if self._squeezed is None:
            self._squeezed = b"".join(self._ordered)
        self._left -= len(self._squeezed)
        return self._left >= 0 and word in self._squeezed


def _words(text: str) -> list[bytes]:
    try:
        raw = text.encode("latin-1")  # Western text by bytes, in a tenth of the time
    except UnicodeEncodeError:
        text = _MARKS.sub(" ", text.casefold())
        return text.encode("utf-8", "replace").translate(_ALNUM).split()
    if raw.isascii():
        return raw.lower().translate(_ALNUM).split()
    return raw.translate(_LATIN).replace(b"\xdf", b"ss").decode("latin-1").replace("\xb5", "\u03bc").encode().split()
