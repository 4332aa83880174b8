"""The text of a message: its plain text if there is one, else the text of its HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from readers import charset
from readers.charset import Detected
from readers.errors import DocumentError, ExceptionCode, corrupt
from readers.mail.parts import NESTED, MailPart
from readers.text.html import html_decode, html_text

# The words that only one form of a message's text contains, so that a search finds them and no text is
# repeated.

_ALNUM = bytes(
    byte if byte >= 128 or chr(byte).isalnum() else 32 for byte in range(256)
)  # for UTF-8: ASCII punctuation becomes blanks
_MARKS = re.compile(
    "[\xa0-\xa9\xab-\xb4\xb6\xb8\xbb-\xbf\xd7\xf7\u2000-\u206f\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\ufeff]+"
)
_LATIN = bytes(  # the same in lower case
    32 if byte >= 128 and _MARKS.match(chr(byte)) else _ALNUM[ord(chr(byte).lower())] for byte in range(256)
)
_BLANKLESS = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
# A tag, a comment, or the beginning of a style sheet with its whole content.
_TAG = re.compile(r"<style[^<>]*+>(?:\s*+<!--)?[^<]*+(?=</style)|<[a-zA-Z/!?][^<>]*+>", re.IGNORECASE)
# Elements that may show letters between brackets, or an attribute. In both cases: if case were ignored, the search
# would look at every character and not at brackets alone.
_ODD_NAMES = ("xmp", "plaintext", "textarea", "svg", "math", "noembed", "noframes", "noscript", "iframe")
_ODD = re.compile(
    "<(?:" + "|".join("".join(f"[{letter}{letter.upper()}]" for letter in name) for name in _ODD_NAMES) + ")"
)
# The title of a page, which is not its text, if it is certainly in the head.
_TITLE = re.compile(
    r"<head[^<>]*+>(?:\s++|<(?:meta|link|base)\b[^<>]*+>|(?!))*+<title[^<>]*+>([^<]*+)</title", re.IGNORECASE
)
_FRONT = 4096  # characters in which it is searched
_NO_WORDS = ("&gt;", "&nbsp;")  # frequent entities: marks of quoted lines, blanks
# Bytes of a text that all searches for letters in a row may read; later words count as missing
_MOST_SEARCHED = 1 << 26


class KnownWords:
    """Words of a text."""

    def __init__(self, text: str) -> None:
        self._ordered = _words(text)
        self._words = frozenset(self._ordered)
        self._squeezed: bytes | None = None
        self._left = _MOST_SEARCHED

    def has_all(self, text: str) -> bool:
        """Return whether every word of `text` is among them; for a script without blanks, whether its letters occur in
        a row."""
        words = _words(text)
        return self._words.issuperset(words) or all(self._in_a_row(word) for word in set(words) - self._words)

    def page_has_nothing_else(self, markup: str) -> bool:
        """Return whether a web page certainly has no other word. Entities and tags in words make this False."""
        if _ODD.search(markup):
            return False
        if title := _TITLE.search(markup, 0, _FRONT):
            markup = markup[title.end(1) :]  # nothing visible precedes it
        text = _TAG.sub(" ", markup)
        for entity in _NO_WORDS if "&" in text else ():
            text = text.replace(entity, " ")
        return self.has_all(unescape(text) if "&" in text else text)

    def other_lines(self, text: str) -> str:
        """Return the lines of `text` that have another word."""
        return "\n".join([line for line in text.split("\n") if not self.has_all(line)])

    def _in_a_row(self, word: bytes) -> bool:
        if not re.search(_BLANKLESS, word.decode("utf-8", "replace")):
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


# A text that is so many times as long, and so many characters longer, is not another form of the first
_TIMES, _MORE = 2, 200
# Forms with commands in brackets (RFC 1896, RFC 1341): what they show, those with hidden text.
_WITH_COMMANDS = ("text/enriched", "text/richtext")
_COMMAND = re.compile(r"<<|<(param|comment)>[^<]*+</\1>|</?[a-z0-9-]{1,60}>", re.IGNORECASE)
_SIGNS = {"<<": "<", "<lt>": "<", "<nl>": "\n", "<np>": "\n", "</paragraph>": "\n"}
_DELSP = re.compile(rb"delsp\s*=\s*\"?yes", re.IGNORECASE)
_BLANKS = bytes(32 if chr(byte).isspace() else byte for byte in range(256))  # in Latin-1


def body_texts(root: MailPart) -> Iterator[str]:
    """Yield the pieces of the message's text in order. Of a multipart/alternative the plain pieces count, and the lines
    of the HTML ones with words that no plain piece has, or all lines if they are much longer; elsewhere every body part
    counts."""
    if root.media_type == "multipart/alternative" and root.children:
        yield from _best(root)
    elif root.children:
        for child in root.children:
            yield from body_texts(child)
    elif root.is_body:
        yield _text_of(root)


def read_in(root: MailPart) -> Detected | None:
    """Return the charset of the least certain piece of text that was read, including header fields in eight bits; None
    if all are declared, UTF-8 or known by structure."""
    read = [root.fields.detected, *(part.detected for part in parts_of(root))]
    return charset.least_certain(read)


def damage_of(root: MailPart) -> DocumentError | None:
    """Return the error if the text is incomplete: the first damage of a part that is text. Call it after the text was
    read."""
    damaged = (part.damage for part in parts_of(root) if part.damage and part.is_body)
    detail = next(damaged, None)
    if detail == NESTED:
        return DocumentError(ExceptionCode.NESTING_LIMIT, detail)
    return corrupt(f"a body of the message is damaged: {detail}") if detail else None


def parts_of(root: MailPart) -> Iterator[MailPart]:
    """Yield the part and all parts in it."""
    yield root
    for child in root.children:
        yield from parts_of(child)


def _best(alternative: MailPart) -> list[str]:
    plain: list[str] = []
    rich: list[MailPart] = []  # read only if needed: HTML takes longest
    for child in alternative.children:
        if child.children:
            if child.media_type == "text/plain":
                plain.extend(body_texts(child))
            else:
                rich.append(child)
        elif child.is_body:
            if child.media_type != "text/plain":
                rich.append(child)
            else:
                plain.append(_text_of(child))
    known = "\n".join(plain)
    if not known.strip():
        return [piece for part in rich for piece in body_texts(part)]
    words = KnownWords(known)
    return plain + [piece for part in rich if (piece := _more(part, known, words))]


def much_more(text: str, length: int) -> bool:
    """Return whether this text is so much longer than one of `length` characters that it is no other form of it."""
    return len(text.strip()) > _TIMES * length + _MORE


def _more(rich: MailPart, known: str, words: KnownWords) -> str:
    """Return what an HTML alternative adds to the plain one: nothing, lines, or all if it is much longer."""
    bodies = [part for part in parts_of(rich) if part.is_body and not part.children]
    pages = [html_decode(part.content(), part.charset)[0] for part in bodies if part.media_type == "text/html"]
    if len(pages) == len(bodies) and all(map(words.page_has_nothing_else, pages)):  # without parsing them
        return ""
    text = "\n".join(body_texts(rich))
    if much_more(text, len(known.strip())):
        return text
    return words.other_lines(text)


def _text_of(part: MailPart) -> str:
    data = part.content()
    if part.media_type != "text/html":
        text, part.detected = charset.decode(data, part.charset)
        if part.media_type in _WITH_COMMANDS:
            return _COMMAND.sub(lambda command: _SIGNS.get(command[0].lower(), ""), text)
        return _without_added_blanks(text) if _DELSP.search(part.fields.stored(b"content-type")) else text
    markup, part.detected = html_decode(data, part.charset)
    try:
        return html_text(markup)
    except DocumentError as error:  # the rest of the message is kept
        part.damage = error.detail
        return ""


def _without_added_blanks(text: str) -> str:
    """Join lines that end with a blank to continue, also within a word (RFC 3676, 4: `delsp=yes`); only lines with the
    same depth of quoting as the line before."""
    out: list[str] = []
    joined = None  # quotation marks of a line that continues
    for line in text.split("\n"):
        content = line.removesuffix("\r")
        quote = content[: len(content) - len(content.lstrip(">"))]
        if joined == quote:
            out[-1] += content[len(quote) :].removeprefix(" ")
        else:
            out.append(line)
        joined = quote if content.endswith(" ") and content != "-- " else None
        if joined is not None:
            out[-1] = out[-1].rstrip("\r\n").removesuffix(" ")
    return "\n".join(out)


def folded(text: str) -> bytes:
    """Return `" ".join(text.split())` in UTF-8. Western text is split only at double blanks, because these are few."""
    try:
        raw = text.encode("latin-1").translate(_BLANKS)
    except UnicodeEncodeError:
        return " ".join(text.split()).encode("utf-8", "replace")
    raw = b" ".join([kept for piece in raw.split(b"  ") if (kept := piece.strip(b" "))])
    return raw if raw.isascii() else raw.decode("latin-1").encode()
