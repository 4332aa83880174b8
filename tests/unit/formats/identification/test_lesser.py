"""readers.identification.lesser: what is read as less than its parent declares has an exception."""

from __future__ import annotations

import pytest

from readers.errors import ExceptionCode
from readers.identification.lesser import read_as_less


@pytest.mark.parametrize(
    ("declared", "extension", "found", "code"),
    [
        ("application/pdf", b"pdf", "text/plain", ExceptionCode.CORRUPT),
        ("application/pdf", b"pdf", "text/html", ExceptionCode.CORRUPT),
        ("application/zip", b"zip", "text/plain", ExceptionCode.CORRUPT),
        ("image/jpeg", b"jpg", "text/plain", ExceptionCode.CORRUPT),
        ("image/png", b"", "text/html", ExceptionCode.CORRUPT),
        ("application/ms-tnef", b"dat", "text/plain", ExceptionCode.CORRUPT),
        ("application/pkcs7-mime", b"p7m", "text/plain", ExceptionCode.CORRUPT),
        ("application/x-pkcs7-signature", b"p7s", "text/plain", ExceptionCode.CORRUPT),
        ("text/calendar", b"ics", "text/plain", ExceptionCode.CORRUPT),
        ("text/x-vcard", b"vcf", "text/html", ExceptionCode.CORRUPT),
        ("text/rtf", b"", "text/plain", ExceptionCode.CORRUPT),
        ("message/external-body", b"", "message/rfc822", ExceptionCode.UNSUPPORTED),
        ("message/partial", b"", "text/plain", ExceptionCode.UNSUPPORTED),
        ("application/vnd.ms-excel", b"csv", "text/csv", None),  # as browsers declare it
        ("application/msword", b"txt", "text/plain", None),
        ("application/vnd.ms-excel", b"xls", "text/html", None),
        ("application/pdf", b"pdf", "application/pdf", None),
        ("application/octet-stream", b"", "text/plain", None),
        ("message/delivery-status", b"", "text/plain", None),
        ("text/html", b"", "text/plain", None),
        ("image/svg+xml", b"", "text/plain", None),
        (None, b"pdf", "text/plain", None),
    ],
)
def test_what_was_declared_counts(
    declared: str | None, extension: bytes, found: str, code: ExceptionCode | None
) -> None:
    error = read_as_less(declared, extension, found)
    assert (error and error.code) == code
