"""S/MIME (RFC 8551): signed messages are opened and their signature checked, encrypted ones reported.

A signed message is a Cryptographic Message Syntax object (RFC 5652) in BER with the message inside; finding that needs
no more than walking down a few lengths.
"""

from __future__ import annotations

from collections.abc import Iterator

from core.errors import DocumentError, ExceptionCode
from core.records import Kind, Limits, TextState
from formats.base import Child, Handler, LeafHandler, Part, Source, Text
from formats.declared import Declared
from formats.mail.smime.ber import EXPLICIT, SEQUENCE, corrupt, element, enter, inside, octets
from formats.mail.smime.content_type import ENCRYPTED, SIGNED, content_type
from formats.mail.smime.signature import KEYS, signature_metadata


class SmimeHandler(LeafHandler):
    """One CMS object: the signed message is its only child."""

    name = "smime"
    media_types: tuple[str, ...] = ("application/pkcs7-mime", "application/pkcs7-signature")
    declared: tuple[Declared, ...] = (
        Declared(
            title="S/MIME messages and signatures",
            extensions=("p7m", "p7s", "p7b"),
            metadata=KEYS,
            children="the message that is signed, where it lies inside",
            leaves_out=(
                "the contents of encrypted messages: the exception is `encrypted`",
                "certificates; a signature is held against the content and its certificate, which nobody vouches for",
            ),
        ),
    )

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """The signed message; none of a signature that lies apart from what it signs."""
        data = source.whole(limits.parse_bytes)
        _refuse_encrypted(data)
        if content_type(data[:64]) == SIGNED and (content := signed_content(data)) is not None:
            yield Child(name=b"signed.eml", kind=Kind.ATTACHMENT, ordinal=0, data=content, media_type="message/rfc822")

    def text(self, source: Source, limits: Limits) -> Text:
        """None of its own; what there is to say of the signature as metadata. Raises `encrypted`."""
        _refuse_encrypted(source.head)
        out = Text(state=TextState.EMPTY)
        if content_type(source.head[:64]) == SIGNED and source.size <= limits.parse_bytes:
            data = source.whole(limits.parse_bytes)
            try:
                content = signed_content(data)
            except DocumentError:  # `children` says what is wrong with it
                content = None
            out.metadata = signature_metadata(data, content)
        return out


def _refuse_encrypted(data: bytes) -> None:
    if content_type(data[:64]) == ENCRYPTED:
        raise DocumentError(ExceptionCode.ENCRYPTED, "an encrypted S/MIME message")


def signed_content(data: bytes) -> bytes | None:
    """What a SignedData object signs (RFC 5652, 5.1 and 5.2); None where it is not inside. DocumentError when the
    object is damaged."""
    content_info = element(data, 0, len(data))
    if content_info.tag != SEQUENCE:
        raise corrupt()
    signed_data = enter(data, enter(data, content_info, EXPLICIT, 1), SEQUENCE)
    encapsulated = enter(data, signed_data, SEQUENCE, 2)  # behind version and digestAlgorithms
    for field in inside(data, encapsulated):
        if field.tag == EXPLICIT:
            for string in inside(data, field):
                return octets(data, string)
    return None


HANDLERS: tuple[Handler, ...] = (SmimeHandler(),)
