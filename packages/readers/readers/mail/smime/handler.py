"""S/MIME (RFC 8551): signed messages are opened, encrypted ones reported; no signature is checked.

A signed message is a Cryptographic Message Syntax object (RFC 5652) in BER with the message inside; finding that needs
no more than walking down a few lengths.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from readers.base import Child, Handler, LeafHandler, Part, Source, Text
from readers.declared import Declared
from readers.errors import DocumentError, ExceptionCode
from readers.mail.smime.ber import EXPLICIT, SEQUENCE, Element, corrupt, element, enter, inside, octets
from readers.mail.smime.content_type import COMPRESSED, DATA, ENCRYPTED, OTHER, SIGNED, content_type, in_binary
from readers.records import Kind, Limits, TextState


class SmimeHandler(LeafHandler):
    """One CMS object, in binary or base64: the message in it is its only child."""

    name = "smime"
    media_types: tuple[str, ...] = ("application/pkcs7-mime", "application/pkcs7-signature")
    declared: tuple[Declared, ...] = (
        Declared(
            title="S/MIME messages and signatures",
            extensions=("p7m", "p7s", "p7b"),
            metadata=("signed",),
            children="the message that is signed or compressed, where it is inside",
            leaves_out=(
                "the contents of encrypted messages: the exception is `encrypted`",
                "certificates, and whether a signature is valid: the certificate that comes with it is not verified",
            ),
        ),
    )

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """The message; none of a signature that is kept apart from what it signs."""
        data = in_binary(source.whole(limits.parse_bytes))
        kind = _kind(data)
        if (content := encapsulated(data, limits.parse_bytes)) is not None:
            name = b"signed.eml" if kind == SIGNED else b"%b.eml" % kind.encode()
            yield Child(name=name, kind=Kind.ATTACHMENT, ordinal=0, data=content, media_type="message/rfc822")

    def text(self, source: Source, limits: Limits) -> Text:
        """None of its own; that there is a signature as metadata. Raises `encrypted`, and `unsupported` of objects of other kinds."""
        kind = _kind(in_binary(source.head))
        out = Text(state=TextState.EMPTY)
        if kind == SIGNED:
            out.metadata["signed"] = True
        return out


def _kind(data: bytes) -> str:
    kind = content_type(data[:64])
    if kind == ENCRYPTED:
        raise DocumentError(ExceptionCode.ENCRYPTED, "an encrypted S/MIME message")
    if kind is None or kind == OTHER:
        raise DocumentError(ExceptionCode.UNSUPPORTED, "a CMS object that holds no message")
    return kind


def encapsulated(data: bytes, limit: int) -> bytes | None:
    """What an object holds (RFC 5652, 4, 5 and 7; RFC 3274), None where it is not inside. DocumentError when the object is damaged,
    or holds more bytes than the limit."""
    content_info = element(data, 0, len(data))
    if content_info.tag != SEQUENCE:
        raise corrupt()
    kind = content_type(data[:64])
    if kind == DATA:
        return _content(data, content_info)
    inside_of = enter(data, enter(data, content_info, EXPLICIT, 1), SEQUENCE)
    found = _content(data, enter(data, inside_of, SEQUENCE, 2))  # behind version and algorithms
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
        raise corrupt() from error
    if stream.unconsumed_tail:
        raise DocumentError(ExceptionCode.EXPANSION_LIMIT, f"it holds more than {limit} bytes")
    if not stream.eof:
        raise DocumentError(ExceptionCode.TRUNCATED, "the S/MIME object ends too early")
    return out


HANDLERS: tuple[Handler, ...] = (SmimeHandler(),)
