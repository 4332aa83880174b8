"""Names of members in archives whose format does not say which charset they are in (tar, cpio, ar, RAR 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from readers.archives.name_letters import by_letters, may_be_japanese
from readers.base import Child
from readers.charset_guess import guess, reads

MOST = 500  # names that are looked at together
_NO_LETTER = "ÿ"  # of windows-1252: bytes that are no text are full of it, and hardly any word has it


def shown(children: Iterable[Child]) -> Iterator[Child]:
    """The same children; names that are no UTF-8 are shown in what those that came so far are surely in, and so is the
    first of them; else in what they look like, which is noted as a guess. What fits no charset stays as it is."""
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
        """One of them as text; None where it cannot be that."""
        if not self.charset or not reads(name, self.charset):
            return None
        text = name.decode(self.charset, "replace")
        return text if self.sure or (text.isprintable() and _NO_LETTER not in text) else None


def likely_charset(names: Iterable[bytes]) -> Likely:
    """What such names together look like, all of them at once, and what the letters of most of them speak for."""
    known = list(names)
    guessed = guess(b"\n".join(known))
    told = Counter(filter(None, map(by_letters, known))).most_common(1)
    japanese = guessed.codec if guessed.codec == "cp932" else ""
    return Likely(guessed.codec, guessed.sure, told[0][0] if told else japanese)


def is_utf8(name: bytes) -> bool:
    """Whether it can be read as that."""
    try:
        name.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
