"""Whether an item was read as less than its parent declares it to be: a picture that is a line of text, S/MIME that is no CMS."""

from __future__ import annotations

from readers.errors import DocumentError, ExceptionCode
from readers.modules import MEDIA_TYPES

_LESS = frozenset(("text/plain", "text/html"))
_TEXTS = frozenset(
    media_type for module in ("text.plain", "text.html.handler", "tables.csv") for media_type in MEDIA_TYPES[module]
)
# Names of types that have a reader, and further names that senders give them.
_STRUCTURED = frozenset(media_type for types in MEDIA_TYPES.values() for media_type in types) - _TEXTS | frozenset(
    (
        *("application/ms-tnef", "application/x-pdf", "application/x-zip-compressed", "application/x-zip"),
        *(
            "application/x-pkcs7-mime",
            "application/x-pkcs7-signature",
            "application/x-gzip",
            "application/x-rar-compressed",
        ),
        *("text/x-vcard", "text/x-vcalendar", "application/ics", "message/global", "application/mac-binhex"),
    )
)
_MEDIA = ("image/", "audio/", "video/", "font/")
# Programs write pages under these names, and Office opens them.
_OFFICE = ("application/vnd.ms-", "application/msword", "application/vnd.openxmlformats")
_ELSEWHERE = {
    "message/external-body": "its content is elsewhere, and this is the reference",
    "message/partial": "it is one part of a message; join the parts first",
}
_NAMED_TEXT = frozenset((b"txt", b"csv", b"tsv", b"log", b"htm", b"html", b"md", b"xml", b"json", b"asc", b"eml"))


def read_as_less(declared: str | None, extension: bytes, found: str) -> DocumentError | None:
    """Why what was `found` is less than was `declared`; None where it is not. A name that agrees with what was found counts for
    more than the declaration: senders call a table `application/vnd.ms-excel`."""
    if not declared or declared == found:
        return None
    if (elsewhere := _ELSEWHERE.get(declared)) is not None:
        return DocumentError(ExceptionCode.UNSUPPORTED, f"{declared}: {elsewhere}")
    if found not in _LESS or extension in _NAMED_TEXT or declared.endswith("+xml"):
        return None
    if declared not in _STRUCTURED and not declared.startswith(_MEDIA):
        return None
    if found == "text/html" and declared.startswith(_OFFICE):
        return None
    return DocumentError(ExceptionCode.CORRUPT, f"declared as {declared}, and read as {found}")
