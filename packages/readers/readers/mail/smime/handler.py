"""S/MIME (RFC 8551): signed messages are opened, encrypted ones reported; no signature is checked.

A signed message is a Cryptographic Message Syntax object (RFC 5652) in BER with the message inside; finding it only
needs to follow a few lengths."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from msgspec import Struct

from readers.base import Child, Declared, LeafHandler, Part, Source, Text
from readers.errors import DocumentError, corrupt, encrypted, expansion_limit, truncated, unsupported
from readers.mail.smime.content_type import COMPRESSED, DATA, ENCRYPTED, OTHER, SIGNED, content_type, in_binary
from readers.records import Kind, Limits, TextState

# Reader of the Basic Encoding Rules (X.690) as far as CMS objects need it, including indefinite lengths.

SEQUENCE, OCTETS, OCTETS_IN_PARTS, EXPLICIT = 0x30, 0x04, 0x24, 0xA0
_INDEFINITE = -1
_MAX_PARTS = 1_000_000
_MAX_DEPTH = 8  # elements of open length inside one another


class Element(Struct, frozen=True):
    """One element: its tag and the position of its content. One of open length ends at two zero bytes before `end`."""

    tag: int
    start: int
    end: int
    open: bool


def element(data: bytes, at: int, end: int) -> Element:
    """Return the element at `at`, which ends at `end` at the latest. Raises DocumentError if it does not."""
    tag, start, length = _head(data, at, end)
    if length == _INDEFINITE:
        return Element(tag, start, end, open=True)
    return Element(tag, start, start + length, open=False)


def enter(data: bytes, outer: Element, tag: int, position: int = 0) -> Element:
    """Return the element at this position inside another. Raises DocumentError if there is none with this tag."""
    for index, child in enumerate(inside(data, outer)):
        if index == position:
            if child.tag != tag:
                break
            return child
    raise _malformed()


def inside(data: bytes, outer: Element) -> Iterator[Element]:
    """Yield the elements inside another, in order."""
    at = outer.start
    for _ in range(_MAX_PARTS):
        if at >= outer.end or (outer.open and data[at : at + 2] == b"\0\0"):
            return
        child = element(data, at, outer.end)
        yield child
        at = _behind(data, at, outer.end, 0) if child.open else child.end


def octets(data: bytes, string: Element, depth: int = 0) -> bytes:
    """Return the bytes of an octet string, whole or in parts, which may be in parts too (8.7.3)."""
    if string.tag == OCTETS:
        return data[string.start : string.end]
    if string.tag != OCTETS_IN_PARTS or depth > _MAX_DEPTH:
        raise _malformed()
    return b"".join([octets(data, part, depth + 1) for part in inside(data, string)])


def _behind(data: bytes, at: int, end: int, depth: int) -> int:
    """Return the position after the element at `at`."""
    _, start, length = _head(data, at, end)
    if length != _INDEFINITE:
        return start + length
    at = start
    while depth < _MAX_DEPTH and at + 1 < end:
        if data[at : at + 2] == b"\0\0":
            return at + 2
        at = _behind(data, at, end, depth + 1)
    raise _malformed()


def _head(data: bytes, at: int, end: int) -> tuple[int, int, int]:
    """Return tag, start of the content and its length of the element at `at` (8.1)."""
    if at + 2 > min(end, len(data)):
        raise _malformed()
    tag, length, at = data[at], data[at + 1], at + 2
    if tag & 0x1F == 0x1F:
        raise _malformed()
    if length == 0x80:
        return tag, at, _INDEFINITE
    if length > 0x80:
        count = length & 0x7F
        length = int.from_bytes(data[at : at + count], "big")
        at += count
    if at + length > min(end, len(data)):
        raise truncated("the S/MIME object ends too early")
    return tag, at, length


def _malformed() -> DocumentError:
    """Return the error for an object that cannot be read."""
    return corrupt("the S/MIME object is malformed")


class SmimeHandler(LeafHandler):
    """One CMS object, in binary or base64: the message in it is its only child."""

    name = "smime"
    declared = Declared(
        title="S/MIME messages and signatures",
        extensions=("p7m", "p7s", "p7b"),
        metadata=("signed",),
        children="the signed or compressed message, if it is inside",
        leaves_out=(
            "the contents of encrypted messages: the exception is `encrypted`",
            "certificates, and whether a signature is valid: its certificate is not verified",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield the message; none for a signature that is stored apart from the signed message."""
        data = in_binary(source.whole(limits.parse_bytes))
        kind = _kind(data)
        if (content := encapsulated(data, limits.parse_bytes)) is not None:
            name = b"signed.eml" if kind == SIGNED else b"%b.eml" % kind.encode()
            yield Child(name=name, kind=Kind.ATTACHMENT, ordinal=0, data=content, media_type="message/rfc822")

    def text(self, source: Source, limits: Limits) -> Text:
        """Return no text; a signature is recorded as metadata. Raises `encrypted`, or `unsupported` for other kinds."""
        kind = _kind(in_binary(source.head))
        out = Text(state=TextState.EMPTY)
        if kind == SIGNED:
            out.metadata["signed"] = True
        return out


def _kind(data: bytes) -> str:
    kind = content_type(data[:64])
    if kind == ENCRYPTED:
        raise encrypted("an encrypted S/MIME message")
    if kind is None or kind == OTHER:
        raise unsupported("a CMS object that holds no message")
    return kind


def encapsulated(data: bytes, limit: int) -> bytes | None:
    """Return the content of an object (RFC 5652, 4, 5 and 7; RFC 3274), None if it is not inside. Raises DocumentError
    if the object is damaged, or contains more bytes than the limit."""
    content_info = element(data, 0, len(data))
    if content_info.tag != SEQUENCE:
        raise _malformed()
    kind = content_type(data[:64])
    if kind == DATA:
        return _content(data, content_info)
    inside_of = enter(data, enter(data, content_info, EXPLICIT, 1), SEQUENCE)
    found = _content(data, enter(data, inside_of, SEQUENCE, 2))  # after version and algorithms
    return found if kind != COMPRESSED or found is None else _inflated(found, limit)


def _content(data: bytes, info: Element) -> bytes | None:
    for field in inside(data, info):
        if field.tag == EXPLICIT:
            for string in inside(data, field):
                return octets(data, string)
    return None


def _inflated(packed: bytes, limit: int) -> bytes:
    stream = zlib.decompressobj()
    try:
        out = stream.decompress(packed, limit)
    except zlib.error as error:
        raise _malformed() from error
    if stream.unconsumed_tail:
        raise expansion_limit(f"it holds more than {limit} bytes")
    if not stream.eof:
        raise truncated("the S/MIME object ends too early")
    return out
