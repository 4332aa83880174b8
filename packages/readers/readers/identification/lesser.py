"""Items that are read as less than their parent or their name declares them to be: a picture that is a line of text,
S/MIME that is no CMS."""

from __future__ import annotations

from readers.errors import DocumentError, corrupt, unsupported
from readers.modules import MEDIA_TYPES

_LESS = frozenset(("text/plain", "text/html"))
_TEXTS = frozenset(
    media_type for module in ("text.plain", "text.html", "tables.csv") for media_type in MEDIA_TYPES[module]
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
# Programs write web pages under these types, and Office opens them.
_OFFICE = ("application/vnd.ms-", "application/msword", "application/vnd.openxmlformats")
_ELSEWHERE = {
    "message/external-body": "its content is stored elsewhere; this is only a reference",
    "message/partial": "it is one part of a message; join the parts first",
}
# Extensions of formats that are not text, without doc, xls, ppt and their templates (Office opens texts and pages under
# these names), pot (gettext), pub (OpenSSH), key (PEM), vcf (genome variants), odc (pages of Office), msg (catalogues of Tcl), db, dat, a, z, exe.
_NAMED = frozenset(
    (
        b"7z accda accdb accde apk ar avi avif bmp bz bz2 cab cpio dbf dbt deb djv djvu docm docx dotm dotx emf emlx epub flac "
        b"fpt gif gz heic heif hwp ibooks ics idml iso jar jp2 jpeg jpf jpg jpx lwp lzma m4a mbox mbx mda mdb mde mht mhtml mov mp3 "
        b"mp4 msi numbers odb odf odg odm odp ods odt oft ogg one onetoc2 ost otg oth otp ots ott p7m p7s pages pdf png potm "
        b"potx ppsm ppsx pptm pptx pst rar rtf tar tbz tbz2 tgz tif tiff tlz tnef torrent txz tzst vsd vsdm vsdx vssm vssx vstm "
        b"vstx war wav webarchive webp wma wmf wmv wp5 wp6 wpd wps wri xlsb xlsm xlsx xltm xltx xz zip zipx zst zstd"
    ).split()
)
_NAMED_TEXT = frozenset((b"txt", b"csv", b"tsv", b"log", b"htm", b"html", b"md", b"xml", b"json", b"asc", b"eml"))


def read_as_less(declared: str | None, extension: bytes, found: str) -> DocumentError | None:
    """Return why what was `found` is less than was `declared` by the parent or by the extension; None if it is not. A
    name that agrees with what was found counts for more than the declaration: senders call a table
    `application/vnd.ms-excel`."""
    if declared and (elsewhere := _ELSEWHERE.get(declared)) is not None and declared != found:
        return unsupported(f"{declared}: {elsewhere}")
    if found not in _LESS or declared == found or extension in _NAMED_TEXT:
        return None
    if declared and not declared.endswith("+xml") and (declared in _STRUCTURED or declared.startswith(_MEDIA)):
        if found == "text/html" and declared.startswith(_OFFICE):
            return None
        return corrupt(f"declared as {declared}, but read as {found}")
    if extension in _NAMED:
        return corrupt(f"its name ends in .{extension.decode()}, but it was read as {found}")
    return None
