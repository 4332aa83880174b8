"""`data:` URIs (RFC 2397): files that are contained in a web page itself, in its attributes, styles and scripts."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from readers.errors import DocumentError, ExceptionCode
from readers.mail.base64 import BASE64_ALPHABET, base64_damage, decode_base64

# Behind a quotation mark, an equals sign or "url("; one without a media type is too easily an object's key in a script.
_BEGIN = re.compile(
    r"(?:(?P<quote>[\"']|&quot;|&#39;)|[=(])\s{0,16}data:(?P<type>[a-z]{1,32}/[a-z0-9][a-z0-9.+_-]{0,126})"
    r"(?P<more>(?:;[^;,\"'<>()]{0,100}){0,4}),",
    re.IGNORECASE,
)
_SCHEME = re.compile("[dD][aA][tT][aA]:")  # looked for first: what is in front of it is everywhere in a page
_IN_FRONT = len("&quot;") + 16
_UNQUOTED = re.compile(r"[^\s\"'<>()]*")
_LONGEST = 33 + 127 + 4 * 101 + 1  # type and what more there is in front of the comma
_SPACE = re.compile(r"\s+")
_URL_SAFE = str.maketrans("-_", "+/")


class DataUri(NamedTuple):
    """One of them, as stored in the markup."""

    media_type: str  # lower case
    base64: bool
    value: str

    def content(self) -> tuple[bytes | None, DocumentError | None]:
        """The bytes, or what is wrong: none where it is not base64, as in browsers, but the available ones where it is
        cut short."""
        raw = unquote_to_bytes(html.unescape(self.value) if "&" in self.value else self.value)
        if not self.base64:
            return raw, None
        digits = _SPACE.sub("", raw.decode("latin-1")).translate(_URL_SAFE).encode("latin-1")  # folded attributes
        damage = base64_damage(digits)
        error = DocumentError(ExceptionCode.CORRUPT, f"a data: URI: {damage}") if damage else None
        foreign = digits.translate(None, BASE64_ALPHABET + b"=")
        return (None if foreign else decode_base64(digits)), error

    def name(self, position: int) -> str:
        """A name made of type and order: `image-3.png`."""
        family, _, kind = self.media_type.partition("/")
        return f"{family}-{position}.{kind.removeprefix('x-').partition('+')[0]}"


def may_hold(data: bytes) -> bool:
    """Whether a page can have any; UTF-16 is looked through too."""
    return b"data:" in data or b"DATA:" in data or (b"\0" in data and b"d\0a\0t\0a\0:" in data)


def data_uris(markup: str) -> Iterator[DataUri]:
    """All of them in order. Time is linear in the length of the markup."""
    at = 0
    unclosed: set[str] = set()  # quotation marks that do not come again
    while (scheme := _SCHEME.search(markup, at)) is not None:
        match = _BEGIN.search(markup, max(at, scheme.start() - _IN_FRONT), scheme.end() + _LONGEST)
        if match is None:
            at = scheme.end()
            continue
        at = match.end()
        quote = match["quote"]
        end = -1 if not quote or quote in unclosed else markup.find(quote, at)
        if end < 0:
            if quote:
                unclosed.add(quote)
            end = at + len(_UNQUOTED.match(markup, at)[0])  # type: ignore[index]  # it matches nothing too
        encoding = match["more"].rpartition(";")[2].strip().lower()
        yield DataUri(match["type"].lower(), encoding == "base64", markup[at:end])
        at = end
