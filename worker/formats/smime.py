"""S/MIME (RFC 8551): signed messages are opened, encrypted ones reported. No signature is checked.

A signed message is a Cryptographic Message Syntax object (RFC 5652) in BER with the message inside; finding that needs
no more than walking down a few lengths.
"""

from __future__ import annotations

from collections.abc import Iterator

from core.errors import DocumentError, ExceptionCode
from core.records import Kind, Limits, TextState
from worker.formats.base import Child, Handler, LeafHandler, Part, Source, Text
from worker.identify_cms import ENCRYPTED, SIGNED, content_type

_SEQUENCE, _OCTETS, _OCTETS_IN_PARTS, _EXPLICIT = 0x30, 0x04, 0x24, 0xA0
_INDEFINITE = -1
_MAX_PARTS = 1_000_000
_MAX_DEPTH = 8


class SmimeHandler(LeafHandler):
    """One CMS object: the signed message is its only child."""

    name = "smime"
    media_types: tuple[str, ...] = ("application/pkcs7-mime", "application/pkcs7-signature")

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """The signed message; none of a signature that lies apart from what it signs."""
        data = source.whole(limits.parse_bytes)
        _refuse_encrypted(data)
        if content_type(data[:64]) == SIGNED and (content := signed_content(data)) is not None:
            yield Child(name=b"signed.eml", kind=Kind.ATTACHMENT, ordinal=0, data=content, media_type="message/rfc822")

    def text(self, source: Source, limits: Limits) -> Text:
        """None of its own. Raises `encrypted`."""
        _refuse_encrypted(source.head)
        return Text(state=TextState.EMPTY)


def _refuse_encrypted(data: bytes) -> None:
    if content_type(data[:64]) == ENCRYPTED:
        raise DocumentError(ExceptionCode.ENCRYPTED, "an encrypted S/MIME message")


def signed_content(data: bytes) -> bytes | None:
    """What a SignedData object signs (RFC 5652, 5.1 and 5.2); None where it is not inside. DocumentError when the
    object is damaged."""
    at, end = _enter(data, 0, len(data), _SEQUENCE)  # ContentInfo
    at = _behind(data, at, end, 0)  # contentType
    at, end = _enter(data, at, end, _EXPLICIT)
    at, end = _enter(data, at, end, _SEQUENCE)  # SignedData
    at = _behind(data, at, end, 0)  # version
    at = _behind(data, at, end, 0)  # digestAlgorithms
    at, end = _enter(data, at, end, _SEQUENCE)  # EncapsulatedContentInfo
    at = _behind(data, at, end, 0)  # eContentType
    if at >= end or data[at] != _EXPLICIT:
        return None
    at, end = _enter(data, at, end, _EXPLICIT)
    return b"".join(_octets(data, at, end))


def _octets(data: bytes, at: int, end: int) -> Iterator[bytes]:
    """An octet string, whole or in parts."""
    tag, start, length = _head(data, at, end)
    if tag == _OCTETS and length != _INDEFINITE:
        yield data[start : start + length]
        return
    if tag != _OCTETS_IN_PARTS:
        raise _corrupt()
    stop = end if length == _INDEFINITE else start + length
    at = start
    for _ in range(_MAX_PARTS):
        if at >= stop or data[at : at + 2] == b"\0\0":
            return
        tag, start, length = _head(data, at, stop)
        if tag != _OCTETS or length == _INDEFINITE:
            raise _corrupt()
        yield data[start : start + length]
        at = start + length


def _enter(data: bytes, at: int, end: int, wanted: int) -> tuple[int, int]:
    """Where the content of the element at `at` begins and ends (at the latest)."""
    tag, start, length = _head(data, at, end)
    if tag != wanted:
        raise _corrupt()
    return start, end if length == _INDEFINITE else start + length


def _behind(data: bytes, at: int, end: int, depth: int) -> int:
    """The place behind the element at `at`."""
    _, start, length = _head(data, at, end)
    if length != _INDEFINITE:
        return start + length
    at = start
    while depth < _MAX_DEPTH and at + 1 < end:
        if data[at : at + 2] == b"\0\0":
            return at + 2
        at = _behind(data, at, end, depth + 1)
    raise _corrupt()


def _head(data: bytes, at: int, end: int) -> tuple[int, int, int]:
    """(tag, where the content begins, its length) of the element at `at` (X.690, 8.1)."""
    if at + 2 > min(end, len(data)):
        raise _corrupt()
    tag, length, at = data[at], data[at + 1], at + 2
    if tag & 0x1F == 0x1F:
        raise _corrupt()
    if length == 0x80:
        return tag, at, _INDEFINITE
    if length > 0x80:
        count = length & 0x7F
        length = int.from_bytes(data[at : at + count], "big")
        at += count
    if at + length > min(end, len(data)):
        raise DocumentError(ExceptionCode.TRUNCATED, "the S/MIME object ends too early")
    return tag, at, length


def _corrupt() -> DocumentError:
    return DocumentError(ExceptionCode.CORRUPT, "the S/MIME object is not as it should be")


HANDLERS: tuple[Handler, ...] = (SmimeHandler(),)
