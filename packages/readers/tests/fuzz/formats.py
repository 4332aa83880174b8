"""Targets that read as the handler of a media type does."""

from plistlib import FMT_BINARY, dumps

from archive_files import cabinet, cpio
from djvu_file import djvu
from hwp_file import hwp

_AR = (
    b"!<arch>\n//                                              12        `\nlong-name/\n\n"
    b"/0              0           0     0     100644  5         `\nhello\n"
    b"#1/4            0           0     0     100644  6         `\nnameab"
)
_CABINET = cabinet([("a.txt", b"some content")])
_LINK = b'(maparea "https://example.org" "seen" (rect 0 0 5 5) (xor))'
_ENCODED = (
    b"text\nbegin 644 a.txt\n#0V%T\n`\nend\n",
    b"> begin-base64 644 a.txt\n> Q2F0\n> ====\n",
    b"=ybegin line=128 size=3 name=a.bin\n=}}\x8e\n=yend size=3\n",
    b"(This file must be converted with BinHex 4.0)\n:#P*PF'pbG#jdH(3!9%9B9(4dH(3!:\n",
)
_PAGE = {"WebResourceData": b"page", "WebResourceURL": "http://e/x", "WebResourceMIMEType": "text/html"}
_LISTS = ({"key": ["value", 1, 2.5], "x": "ü"}, {"WebMainResource": _PAGE})
# By target: the media type, how the names of files end that it begins with, and further bytes to begin with.
FORMATS = {
    "ar": ("application/x-archive", (), _AR),
    "cab": ("application/vnd.ms-cab-compressed", (), _CABINET),
    "cpio": ("application/x-cpio", (), cpio([("a.txt", b"content")])),
    "csv": ("text/csv", (".csv",)),
    "djvu": ("image/vnd.djvu", (".djvu",), djvu("one \x1ftwo", _LINK), djvu()),
    "doc": ("application/msword", (".doc",)),
    "eml": ("message/rfc822", (".eml",)),
    "emlx": ("message/x-emlx", (".emlx",)),
    "encoded": ("text/x-uuencode", (), *_ENCODED),
    "gzip": ("application/gzip", (".tgz", ".gz")),
    "html": ("text/html", (".html", ".htm")),
    "hwp": ("application/x-hwp", (".hwp",), hwp("one", "two", flags=0, BIN0001_png=b"\x89PNG"), hwp("packed")),
    "ics": ("text/calendar", (".ics", ".ical")),
    "mbox": ("application/mbox", (".mbox",)),
    "mhtml": ("multipart/related", (".mht", ".eml")),
    "msg": ("application/vnd.ms-outlook", (".msg",)),
    "ole_storage": ("application/x-ole-storage", (".doc", ".msg", ".xls")),
    "plist": ("application/x-bplist", (), *(dumps(one, fmt=FMT_BINARY) for one in _LISTS)),
    "ppt": ("application/vnd.ms-powerpoint", (".ppt",)),
    "program": ("application/x-dosexec", (), b"MZ".ljust(64, b"\0") + _CABINET),
    "pst": ("application/vnd.ms-outlook-pst", (".pst",)),
    "rar": ("application/vnd.rar", (".rar",)),
    "rtf": ("application/rtf", (".rtf",)),
    "sevenz": ("application/x-7z-compressed", (".7z",)),
    "tar": ("application/x-tar", (".tar",)),
    "tnef": ("application/vnd.ms-tnef", (".tnef", ".dat")),
    "vcf": ("text/vcard", (".vcf",)),
    "xls": ("application/vnd.ms-excel", (".xls",)),
    "xls_old": (
        "application/vnd.ms-excel.sheet.4",
        (),
        bytes.fromhex("0904060000001000000004020b0000000000000003006162630a000000"),
    ),
    "xml": ("text/xml", (".xml", ".svg", ".xhtml")),
    "zip_archive": ("application/zip", (".zip",)),
}
