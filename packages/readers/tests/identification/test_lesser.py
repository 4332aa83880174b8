"""readers.identification.lesser: what is read as less than its parent or its name declares has an exception."""

from __future__ import annotations

import pytest

from readers.errors import ExceptionCode
from readers.identification.lesser import read_as_less
from readers.registry import all_handlers


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
        (None, b"docx", "text/plain", ExceptionCode.CORRUPT),
        (None, b"pdf", "text/html", ExceptionCode.CORRUPT),
        (None, b"mbox", "text/plain", ExceptionCode.CORRUPT),
        ("application/octet-stream", b"jpg", "text/plain", ExceptionCode.CORRUPT),
        (None, b"jpg", "application/zip", None),  # all of it is read
        (None, b"xls", "text/plain", None),  # Office opens it
        (None, b"doc", "text/html", None),
        (None, b"pot", "text/plain", None),
        (None, b"", "text/plain", None),
    ],
)
def test_what_was_declared_counts(
    declared: str | None, extension: bytes, found: str, code: ExceptionCode | None
) -> None:
    error = read_as_less(declared, extension, found)
    assert (error and error.code) == code


def test_every_extension_of_a_reader_is_judged() -> None:
    """One that a reader declares counts for its format, or is listed here because texts have it as well."""
    texts = set(
        b"a atom c css csv dat db doc dot eml exe fodg fodp fods fodt hqx htm html ifb ini js json ical key log md msg ndjson odc "
        b"p7b plist pot pps ppt pub py rdf rss sh sql svg tab tsv txt uu uue vcard vcf vcs vst wp xhtml xlc xlm xls xlt xlw xml xsl "
        b"yenc z 7z.002 zip.002 z02".split()
    )
    declared = {one.encode() for handler in all_handlers() for of in handler.declared for one in of.extensions}
    named = {one for one in declared if read_as_less(None, one, "text/plain")}
    assert declared - named == texts & declared
