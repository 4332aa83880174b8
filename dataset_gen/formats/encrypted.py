"""Office documents under the password `PASSWORD` ([MS-OFFCRYPTO]): they are whole and can be opened with it.

docx and xlsx: standard encryption (2.3.4.5), the package under AES-128 in a compound file. doc: RC4 (2.3.6), the text
and its tables under a cipher of 40 bits, as Word 97 to 2003 wrote them."""

from __future__ import annotations

import functools
import hashlib
import struct
from dataclasses import replace

from cryptography.hazmat.decrepit.ciphers.algorithms import ARC4
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB

from dataset_gen.formats import doc, ole_package, ooxml
from dataset_gen.made import Made, Order, branch
from dataset_gen.material.text import prose
from dataset_gen.rng import Dice
from readers import cfb
from readers.errors import ExceptionCode

PASSWORD = "edbench"
_PROVIDER = "Microsoft Enhanced RSA and AES Cryptographic Provider (Prototype)"
_SPINS = 50_000
_SALTS = 16  # different ones in a corpus: a key takes 40 ms
_PLAIN_START = 68  # bytes of the stream WordDocument that stay as they are (2.2.6.2 of [MS-DOC])
_RC4_HEADER = 52
_BLOCK = 512
_FLAG_ENCRYPTED = 0x0100


def encrypted_docx(order: Order) -> Made:
    """Build a Word document that cannot be read without the password."""
    return _package(order, ooxml.build_docx(replace(order, size=4000, terms=())), "encrypted_docx")


def encrypted_xlsx(order: Order) -> Made:
    """Build a workbook that cannot be read without the password."""
    return _package(order, ooxml.build_xlsx(replace(order, size=4000, terms=())), "encrypted_xlsx")


def _package(order: Order, made: Made, fault: str) -> Made:
    info, package = _standard(order.dice, made.data)
    own = {"EncryptionInfo": info, "EncryptedPackage": package}
    data = cfb.write(cfb.Storage(streams=own, storages=[_data_spaces()]))
    whole = branch(data, made.truth.media_type, own=(made.truth.content,))
    return whole.spoiled(fault, ExceptionCode.ENCRYPTED)


def _standard(dice: Dice, data: bytes) -> tuple[bytes, bytes]:
    """Return the streams EncryptionInfo and EncryptedPackage."""
    salt, verifier = Dice(dice.below(_SALTS)).noise(16), dice.noise(16)
    key = _standard_key(salt)
    header = struct.pack("<IIIIIIII", 0x24, 0, 0x660E, 0x8004, 128, 0x18, 0, 0)
    header += _PROVIDER.encode("utf-16-le") + b"\0\0"
    hashed = hashlib.sha1(verifier).digest() + bytes(12)
    checks = struct.pack("<I16s16sI", 16, salt, _aes(key, verifier), 20) + _aes(key, hashed)
    info = struct.pack("<HHII", 4, 2, 0x24, len(header)) + header + checks
    return info, struct.pack("<Q", len(data)) + _aes(key, data + bytes(-len(data) % 16))


@functools.cache
def _standard_key(salt: bytes) -> bytes:
    """2.3.4.7: the password and salt hashed 50,000 times over, then stretched to a key."""
    state = hashlib.sha1(salt + PASSWORD.encode("utf-16-le")).digest()
    for spin in range(_SPINS):
        state = hashlib.sha1(spin.to_bytes(4, "little") + state).digest()
    state = hashlib.sha1(state + bytes(4)).digest() + bytes(44)
    return hashlib.sha1(bytes(byte ^ 0x36 for byte in state)).digest()[:16]


def _aes(key: bytes, data: bytes) -> bytes:
    """AES-128, each block of 16 bytes by itself (2.3.4.4); `data` are whole blocks."""
    return Cipher(AES(key), ECB()).encryptor().update(data)


def _rc4(key: bytes, data: bytes) -> bytes:
    return Cipher(ARC4(key), None).encryptor().update(data)


def _data_spaces() -> cfb.Storage:
    """Return the storage that declares the whole package as encrypted (2.1)."""
    reference = struct.pack("<II", 1, 0) + _padded("EncryptedPackage") + _padded("StrongEncryptionDataSpace")
    streams = {
        "Version": _padded("Microsoft.Container.DataSpaces") + struct.pack("<HHHHHH", 1, 0, 1, 0, 1, 0),
        "DataSpaceMap": struct.pack("<III", 8, 1, len(reference) + 4) + reference,
    }
    name = "StrongEncryptionTransform"
    identifier = _padded("{FF9A3F03-56EF-4613-BDD5-5A41C1D07246}")
    head = struct.pack("<II", 8 + len(identifier), 1) + identifier + _padded("Microsoft.Container.EncryptionTransform")
    primary = head + struct.pack("<HHHHHH", 1, 0, 1, 0, 1, 0) + struct.pack("<IIII", 0, 0, 0, 4)
    transform = cfb.Storage(name, streams={"\x06Primary": primary})
    info = {"StrongEncryptionDataSpace": struct.pack("<II", 8, 1) + _padded(name)}
    storages = [cfb.Storage("DataSpaceInfo", streams=info), cfb.Storage("TransformInfo", storages=[transform])]
    return cfb.Storage("\x06DataSpaces", streams=streams, storages=storages)


def _padded(text: str) -> bytes:
    """Return a UNICODE-LP-P4 string (2.1.2)."""
    raw = text.encode("utf-16-le")
    return struct.pack("<I", len(raw)) + raw + bytes(-len(raw) % 4)


def encrypted_doc(order: Order) -> Made:
    """Build a document of Word 97 to 2003 that cannot be read without the password."""
    dice = order.dice
    text = doc.Text()
    title = prose().title(dice)
    text.add([title, *prose().paragraphs(dice, 2000)], wide=False)
    salt, verifier = dice.noise(16), dice.noise(16)
    base = _rc4_base(salt)
    checks = _rc4(_rc4_key(base, 0), verifier + hashlib.md5(verifier).digest())
    header = struct.pack("<HH", 1, 1) + salt + checks
    main, table = doc.streams(text, header=header, flags=_FLAG_ENCRYPTED)
    own = {
        "WordDocument": main[:_PLAIN_START] + _rc4_blocks(base, main)[_PLAIN_START:],
        "1Table": header + _rc4_blocks(base, table)[_RC4_HEADER:],
        **ole_package.summary(dice, title, "Microsoft Office Word"),
        "\x01CompObj": ole_package.comp_obj(doc.CLASS, "Microsoft Word-Document", "Word.Document.8"),
    }
    made = branch(cfb.write(cfb.Storage(clsid=doc.CLASS, streams=own)), doc.MEDIA_TYPE, own=(main, table))
    return made.spoiled("encrypted_doc", ExceptionCode.ENCRYPTED)


def _rc4_base(salt: bytes) -> bytes:
    """2.3.6.2: 40 bits of the password and salt."""
    short = hashlib.md5(PASSWORD.encode("utf-16-le")).digest()[:5]
    return hashlib.md5((short + salt) * 16).digest()[:5]


def _rc4_key(base: bytes, block: int) -> bytes:
    return hashlib.md5(base + struct.pack("<I", block)).digest()


def _rc4_blocks(base: bytes, data: bytes) -> bytes:
    """Each 512 bytes under a key of their own."""
    blocks = (data[at : at + _BLOCK] for at in range(0, len(data), _BLOCK))
    return b"".join(_rc4(_rc4_key(base, number), block) for number, block in enumerate(blocks))
