"""readers.mail.smime.handler: signed messages are opened, encrypted ones reported."""

import base64
import contextlib
import random
import zlib

import pytest

from core.records import Limits
from readers.base import MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.mail.eml import EmlHandler
from readers.mail.smime.handler import SmimeHandler
from readers.records import TextState

HANDLER = SmimeHandler()
INNER = b"Content-Type: text/plain\r\n\r\nsigned words\r\n"
DATA, SIGNED, ENVELOPED = (bytes.fromhex(f"06092a864886f70d0107{n:02x}") for n in (1, 2, 3))


def der(tag: int, content: bytes) -> bytes:
    """An element with its length."""
    size = len(content)
    if size < 128:
        return bytes((tag, size)) + content
    raw = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(raw))) + raw + content


def indefinite(tag: int, content: bytes) -> bytes:
    """An element that ends where its content ends."""
    return bytes((tag, 0x80)) + content + b"\0\0"


def signed(content: bytes | None, *, streamed: bool = False) -> bytes:
    """A SignedData object without signatures, which are of no interest here."""
    make = indefinite if streamed else der
    octets = b""
    if content is not None:
        half = len(content) // 2
        parts = der(4, content[:half]) + der(4, content[half:])
        octets = make(0xA0, indefinite(0x24, parts) if streamed else der(4, content))
    info = make(0x30, DATA + octets)
    algorithms = der(0x31, der(0x30, bytes.fromhex("0609608648016503040201")))
    return make(0x30, SIGNED + make(0xA0, make(0x30, b"\x02\x01\x01" + algorithms + info + der(0x31, b""))))


@pytest.mark.parametrize("streamed", [False, True])
def test_a_signed_message_is_opened(streamed: bool) -> None:
    source = MemorySource(b"smime.p7m", signed(INNER, streamed=streamed))
    assert identify(source) == "application/pkcs7-mime"
    (child,) = HANDLER.children(source, Limits())
    assert child.data == INNER
    assert identify(MemorySource(child.name, child.data), child.media_type) == "message/rfc822"
    assert EmlHandler().text(MemorySource(child.name, child.data), Limits()).text == "signed words\r\n"
    assert HANDLER.text(source, Limits()).metadata == {"signed": True}


def test_a_message_beside_its_signature_reports_it() -> None:
    for kind in (b"pkcs7", b"pgp"):
        data = (
            b"From: a@b.example\nContent-Type: multipart/signed; boundary=B\n\n--B\n\nwords\n--B\n"
            b"Content-Type: application/" + kind + b"-signature\n\nxx\n--B--\n"
        )
        found = EmlHandler().text(MemorySource(b"a.eml", data), Limits())
        assert (found.text.strip(), found.metadata["signed"]) == ("words", True)
    assert "signed" not in EmlHandler().text(MemorySource(b"a.eml", b"From: a@b.example\n\nwords\n"), Limits()).metadata


def test_a_signature_apart_holds_nothing() -> None:
    source = MemorySource(b"smime.p7s", signed(None))
    assert identify(source) == "application/pkcs7-signature"
    assert list(HANDLER.children(source, Limits())) == []
    assert HANDLER.text(source, Limits()).state is TextState.EMPTY


def test_encrypted_messages_are_reported() -> None:
    source = MemorySource(b"smime.p7m", der(0x30, ENVELOPED + der(0xA0, der(0x30, bytes(200)))))
    assert identify(source) == "application/pkcs7-mime"
    for read in (HANDLER.text, lambda s, limits: list(HANDLER.children(s, limits))):
        with pytest.raises(DocumentError, match=r"^encrypted:"):
            read(source, Limits())
    pgp = (
        b"From: a@b.example\nContent-Type: multipart/encrypted; boundary=B\n\n--B\n"
        b"Content-Type: application/pgp-encrypted\n\nVersion: 1\n--B\n"
        b"Content-Type: application/octet-stream\n\n-----BEGIN PGP MESSAGE-----\n--B--\n"
    )
    error = EmlHandler().text(MemorySource(b"m.eml", pgp), Limits()).error
    assert (error and error.code) is ExceptionCode.ENCRYPTED


def test_damaged_objects() -> None:
    """Nothing but document errors, whatever the lengths say."""
    dice = random.Random(1)
    for streamed in (False, True):
        data = signed(INNER * 3, streamed=streamed)
        for size in range(len(data)):
            with contextlib.suppress(DocumentError):
                list(HANDLER.children(MemorySource(b"p", data[:size]), Limits()))
        for _ in range(300):
            broken = bytearray(data)
            broken[dice.randrange(60)] = dice.randrange(256)
            with contextlib.suppress(DocumentError):
                list(HANDLER.children(MemorySource(b"p", bytes(broken)), Limits()))


def test_text_that_begins_with_a_zero_digit_is_text() -> None:
    assert identify(MemorySource(b"n.txt", b"0 apples, 1 pear and nothing else\n")) == "text/plain"


COMPRESSED = bytes.fromhex("060b2a864886f70d0109100109")


@pytest.mark.parametrize("name", [b"smime.p7m", b"smime.p7s", b"smime.p7z"])
@pytest.mark.parametrize("armour", [None, b"PKCS7", b"CMS"])
@pytest.mark.parametrize("streamed", [False, True])
def test_objects_in_base64(name: bytes, armour: bytes | None, streamed: bool) -> None:
    letters = base64.encodebytes(signed(INNER, streamed=streamed))
    if armour is not None:
        letters = b"-----BEGIN %b-----\n%b-----END %b-----\n" % (armour, letters, armour)
        assert identify(MemorySource(b"unnamed", letters)) == "application/pkcs7-mime"
    source = MemorySource(name, letters)
    assert identify(source).startswith("application/pkcs7-")
    (child,) = HANDLER.children(source, Limits())
    assert (child.data, HANDLER.text(source, Limits()).metadata) == (INNER, {"signed": True})
    assert identify(MemorySource(b"a.txt", base64.encodebytes(signed(INNER)))) == "text/plain"


def packed(content: bytes, kind: bytes = COMPRESSED) -> bytes:
    """A CompressedData object (RFC 3274), or another of the same form."""
    info = der(0x30, DATA + der(0xA0, der(4, content)))
    inside = der(0x30, b"\x02\x01\x00" + der(0x30, bytes.fromhex("060b2a864886f70d0109100308")) + info)
    return der(0x30, kind + der(0xA0, inside))


def test_compressed_and_plain_objects_are_opened() -> None:
    for data in (
        packed(zlib.compress(INNER)),
        packed(INNER, DATA[:-1] + b"\x05"),
        der(0x30, DATA + der(0xA0, der(4, INNER))),
    ):
        source = MemorySource(b"smime.p7m", data)
        assert identify(source) == "application/pkcs7-mime"
        assert [child.data for child in HANDLER.children(source, Limits())] == [INNER]
        assert HANDLER.text(source, Limits()).metadata == {}


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (packed(zlib.compress(INNER)[:-6]), ExceptionCode.TRUNCATED),
        (packed(b"none"), ExceptionCode.CORRUPT),
        (packed(zlib.compress(bytes(2_000_000))), ExceptionCode.EXPANSION_LIMIT),
        (packed(INNER, DATA[:-1] + b"\x09"), ExceptionCode.UNSUPPORTED),
    ],
)
def test_what_cannot_be_opened_is_reported(data: bytes, code: ExceptionCode) -> None:
    with pytest.raises(DocumentError) as caught:
        list(HANDLER.children(MemorySource(b"smime.p7m", data), Limits(parse_bytes=1_000_000)))
    assert caught.value.code is code


ENTITY = (
    b'Content-Type: multipart/signed; protocol="application/pkcs7-signature";\r\n\tboundary="bb"\r\n\r\n--bb\r\n'
    b"Content-Type: text/plain\r\n\r\nsigned words\r\n--bb\r\nContent-Type: application/pkcs7-signature\r\n\r\nxx\r\n--bb--\r\n"
)


@pytest.mark.parametrize(
    "data",
    [
        ENTITY,
        b"\r\n" + ENTITY,
        b"Content-Language: en\r\n" + ENTITY,
        ENTITY.replace(b"\r\n", b"\n"),
        ENTITY.replace(b"Content-Type: multipart", b"content-type:\r\n multipart", 1),
        ENTITY.partition(b"\r\n\r\n")[2],
        b"MIME-Version: 1.0\r\n" + ENTITY,
    ],
)
@pytest.mark.parametrize("name", [b"smime.p7m", b"x", b"signed.txt"])
def test_an_entity_that_is_signed_in_clear(data: bytes, name: bytes) -> None:
    """As Outlook keeps it ([MS-OXOSMIME] 2.1.3.1): a header of fields for its content alone, or none."""
    source = MemorySource(name, data)
    assert identify(source) == "message/rfc822"
    assert EmlHandler().text(source, Limits()).text == "signed words"
    assert len(list(EmlHandler().children(source, Limits()))) == 1
