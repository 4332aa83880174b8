"""S/MIME (RFC 8551): signed messages are opened, encrypted ones reported; no signature is checked.

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


class SmimeHandler(LeafHandler):
    """One CMS object: the signed message is its only child."""

    name = "smime"
    media_types: tuple[str, ...] = ("application/pkcs7-mime", "application/pkcs7-signature")
    declared: tuple[Declared, ...] = (
        Declared(
            title="S/MIME messages and signatures",
            extensions=("p7m", "p7s", "p7b"),
            metadata=("signed",),
            children="the message that is signed, where it lies inside",
            leaves_out=(
                "the contents of encrypted messages: the exception is `encrypted`",
                "certificates, and whether a signature is right: nobody vouches for the certificate that comes with it",
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
        """None of its own; that there is a signature as metadata. Raises `encrypted`."""
        _refuse_encrypted(source.head)
        out = Text(state=TextState.EMPTY)
        if content_type(source.head[:64]) == SIGNED:
            out.metadata["signed"] = True
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
