"""The text of a message: plain where there is plain, else what its HTML says."""

from __future__ import annotations

from collections.abc import Iterator

from core.errors import DocumentError
from formats import charset
from formats.charset import Found
from formats.mail.parts import MailPart
from formats.text.html.handler import html_decode, html_text

_BLANKS = bytes(32 if chr(byte).isspace() else byte for byte in range(256))  # in Latin-1


def body_texts(root: MailPart) -> Iterator[str]:
    """The pieces of the message's text in order. Of a multipart/alternative the plain pieces count, and the HTML
    ones only when no plain piece says anything; elsewhere every body part counts."""
    if root.media_type == "multipart/alternative" and root.children:
        yield from _best(root)
    elif root.children:
        for child in root.children:
            yield from body_texts(child)
    elif root.is_body:
        yield _text_of(root)


def read_in(root: MailPart) -> Found | None:
    """The charset of the piece of text that is the least certain, of those that were read; None where all are declared,
    UTF-8 or of structure."""
    found = [part.found for part in parts_of(root) if part.found is not None and part.found.detected]
    return min(found, key=lambda one: one.confidence) if found else None


def parts_of(root: MailPart) -> Iterator[MailPart]:
    """The part and all in it."""
    yield root
    for child in root.children:
        yield from parts_of(child)


def _best(alternative: MailPart) -> list[str]:
    plain: list[str] = []
    rich: list[MailPart] = []  # read only when they are wanted: HTML takes longest of all
    for child in alternative.children:
        if child.children:
            if child.media_type == "text/plain":
                plain.extend(body_texts(child))
            else:
                rich.append(child)
        elif child.is_body:
            if child.media_type == "text/html":
                rich.append(child)
            else:
                plain.append(_text_of(child))
    if any(piece.strip() for piece in plain):
        return plain
    return [piece for part in rich for piece in body_texts(part)]


def _text_of(part: MailPart) -> str:
    data = part.content()
    if part.media_type != "text/html":
        text, part.found = charset.decode(data, part.charset)
        return text
    markup, part.found = html_decode(data, part.charset)
    try:
        return html_text(markup)
    except DocumentError:
        return ""  # the rest of the message is still worth having


def folded(text: str) -> bytes:
    """`" ".join(text.split())` in UTF-8. Western text is cut at double blanks only, for these are few."""
    try:
        raw = text.encode("latin-1").translate(_BLANKS)
    except UnicodeEncodeError:
        return " ".join(text.split()).encode("utf-8", "replace")
    raw = b" ".join([kept for piece in raw.split(b"  ") if (kept := piece.strip(b" "))])
    return raw if raw.isascii() else raw.decode("latin-1").encode()
