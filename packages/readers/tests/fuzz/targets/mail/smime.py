"""S/MIME: signed objects, in both encodings of their lengths."""

import datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs7
from cryptography.x509.oid import NameOID
from reading import handler


def _signed() -> list[bytes]:
    key = ec.derive_private_key(7, ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "fuzz")])
    begin = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    certificate = x509.CertificateBuilder(name, name, key.public_key(), 1, begin, begin.replace(year=2034)).sign(
        key, hashes.SHA256()
    )
    builder = pkcs7.PKCS7SignatureBuilder().set_data(b"Subject: inside\r\n\r\ntext\r\n")
    builder = builder.add_signer(certificate, key, hashes.SHA256())
    return [builder.sign(serialization.Encoding.DER, options) for options in ([], [pkcs7.PKCS7Options.NoAttributes])]


read = handler("application/pkcs7-mime", b"smime.p7m")
SEEDS = [
    *_signed(),
    bytes.fromhex(
        "3080 06092a864886f70d010702 a080 3080 020101 3100 3080 06092a864886f70d010701 a080 2480 0403616263 0000 0000 0000 0000 0000 0000"
    ),
]
