"""Identification of text formats by their first bytes: mail, mbox, HTML, XML, JSON, calendars … or plain text."""

from __future__ import annotations

import re

from readers.charset_guess import readable
from readers.charset_labels import by_mark
from readers.charset_mixed import first_wide, parts
from readers.mail.boundary import unlabelled_boundary
from readers.mail.inline import BINHEX, UUENCODE, YENC, inline_files
from readers.mail.mbox.from_line import is_quoted, starts_message
from readers.mail.smime.content_type import is_in_base64

# Controls that text does not contain; tab, newlines, form feed, backspace, escape and Ctrl-Z (DOS end of file) may occur.
_CONTROLS = bytes(c for c in range(32) if c not in b"\t\n\v\f\r\b\x1b\x1a") + b"\x7f"
_NUL, _LINE_FEED, _RETURN = b"\0\n\r"
_FIRST_CONTROL = re.compile(b"[" + re.escape(_CONTROLS) + b"]")

# RFC 5322, 2045 and the trace fields every mail system adds (RFC 5321, 2369, 3834, Outlook's).
_STRONG = frozenset(
    b"received return-path message-id mime-version delivered-to x-mailer content-transfer-encoding dkim-signature "
    b"references in-reply-to x-received arc-seal list-unsubscribe reply-to x-mozilla-status user-agent "
    b"authentication-results thread-index thread-topic content-type errors-to x-uid x-originating-ip envelope-to "
    b"received-spf precedence sender resent-from newsgroups".split()
)
_COMMON = _STRONG | frozenset(b"from to cc bcc subject date status importance priority content-disposition".split())
_HEADER = re.compile(rb"([!-9;-~]{1,76})[ \t]*:")
# A field with its continuation lines
_WHOLE_FIELD = re.compile(rb"([!-9;-~]{1,76}+)[ \t]*+:[^\n]*+\n(?:[ \t][^\n]*+\n|(?!))*+")
_WHOLE_HEADER = re.compile(rb"(?:%b){1,39}(?=\r*+\n)" % _WHOLE_FIELD.pattern.replace(b"(", b"(?:", 1))
_NOT_MAIL_NAMES = frozenset((b"txt", b"csv", b"tsv", b"html", b"htm", b"log", b"md", b"json", b"xml"))

# Parts of reports about mail (RFC 3462, 3464, 3798, 5965): fields that look like a message's, and are the text.
_REPORTS = frozenset(
    (
        "message/delivery-status",
        "message/disposition-notification",
        "message/feedback-report",
        "message/tracking-status",
    )
)
FILES_IN_TEXT = {UUENCODE: "text/x-uuencode", YENC: "text/x-yenc", BINHEX: "application/mac-binhex40"}
MHTML = "multipart/related"  # a page that a browser saved with its resources (RFC 2557)

_STORE_NAMES = (b"mbox", b"mbx", b"")
_FOLDED = re.compile(rb"\r?\n[ \t]")  # in a vCard or a calendar, where any line may be folded
_CMS_NAMES = frozenset((b"p7m", b"p7s", b"p7c", b"p7b", b"p7z"))
_CMS_TYPES = ("application/pkcs7-", "application/x-pkcs7-")

_HTML_START = re.compile(
    rb"<(?:!doctype\s+html|html|head|body|title|script|style|meta|link|table|h[1-6]|p|div|span|font|br|center|a|b|ul|pre"
    rb"|form|img|base)[\s>/]",
    re.IGNORECASE,
)
_HTML_ROOT = re.compile(rb"<(?:!doctype\s+html|html)[\s>]", re.IGNORECASE)
_TAG = re.compile(rb"<[a-z][a-z0-9]*[\s/>]", re.IGNORECASE)
_COMMENT = re.compile(rb"(?:\s+|<!--.*?-->)*", re.DOTALL)


def as_text(head: bytes) -> bytes | None:
    """Return the head in an encoding whose ASCII is ASCII (UTF-16 and UTF-32 are recoded, byte-order marks dropped);
    None if these are not the first bytes of a text."""
    encoding, length = by_mark(head)
    head = head[length:]
    if encoding and encoding != "utf-8":
        return _recode(head, encoding)
    if _NUL not in head:
        return head if _plain(head) else None
    for encoding, zeros in (
        ("utf-32-le", (1, 2, 3)),
        ("utf-32-be", (0, 1, 2)),
        ("utf-16-le", (1,)),
        ("utf-16-be", (0,)),
    ):
        if _mostly_ascii(head, encoding, zeros) or ("32" in encoding and len(head) >= 16 and readable(head, encoding)):
            return _recode(head, encoding)
    return _recode(head, "") if first_wide(head) else None


def _plain(head: bytes) -> bool:
    """Return whether there are at most one in 200 control characters (old mail and logs contain a stray one)."""
    return len(head) - len(head.translate(None, _CONTROLS)) <= len(head) // 200


def _mostly_ascii(head: bytes, encoding: str, zeros: tuple[int, ...]) -> bool:
    """Return whether the bytes at these positions of each code unit are nearly all zero and the others are not."""
    width = 4 if "32" in encoding else 2
    units = len(head) // width
    if units < 4:
        return False
    at = [head[i::width][:units].count(0) for i in range(width)]
    return all(at[i] >= units * 0.9 for i in zeros) and all(
        at[i] <= units * 0.05 for i in range(width) if i not in zeros
    )


def _recode(head: bytes, encoding: str) -> bytes | None:
    head = head[: len(head) // 4 * 4]
    if "32" in encoding:
        text = head.decode(encoding, "replace")
    else:
        text = "".join(part.decode(codec or "latin-1", "replace") for codec, part in parts((head,), encoding))
    if "\0" in text or text.count("\ufffd") > max(1, len(text) // 50):
        return None
    recoded = text.encode("utf-8", "replace")
    return recoded if _plain(recoded) else None


def text_type(head: bytes, extension: bytes, declared: str | None) -> str:
    """Return the media type of a text with these first bytes; `extension` (lower case, no dot) and the type that a
    parent `declared` only break ties."""
    if _RETURN in head and _LINE_FEED not in head:  # of a Macintosh
        head = head.replace(b"\r", b"\n")
    start = head.lstrip()[:64].lower()
    if start.startswith(b"from ") and starts_message(head.lstrip(b"\r\n"), 0, after_blank=True):
        if _GIT_PATCH.match(head.lstrip()) and (
            extension in (b"patch", b"diff") or declared in ("text/x-patch", "text/x-diff")
        ):
            return "text/plain"
        return "message/rfc822" if extension == b"eml" or declared == "message/rfc822" else "application/mbox"
    if start.startswith(b">from ") and extension in _STORE_NAMES and declared != "message/rfc822" and is_quoted(head):
        return "application/mbox"
    if start.startswith(b"<"):
        return _markup(head, extension)
    if kind := _by_first_word(_FOLDED.sub(b"", start) if start.startswith(b"b") else start):
        return kind
    named = extension in _CMS_NAMES or (declared or "").startswith(_CMS_TYPES)
    if (named or start.startswith(b"-----begin")) and is_in_base64(head, named=named):
        return "application/pkcs7-signature" if extension == b"p7s" else "application/pkcs7-mime"
    if start[:1].isdigit() and _is_emlx(head):
        return "message/x-emlx"
    if declared in _REPORTS:
        return "text/plain"
    if is_mail(head, extension) or (start.startswith(_ENTITY_STARTS) and _is_entity(head)):
        return MHTML if extension in (b"mht", b"mhtml") or start.startswith(b"from: <saved by ") else "message/rfc822"
    return _by_tie(head, extension, declared)


_FIRST_WORDS = {
    b"{\\rtf": "application/rtf",
    b"begin:vcard": "text/vcard",
    b"begin:vcalendar": "text/calendar",
    b"%pdf-": "application/pdf",
    b"%!ps": "application/postscript",
    b"#!": "text/x-script",
}
_ANY_FIRST_WORD = tuple(_FIRST_WORDS)


def _by_first_word(start: bytes) -> str | None:
    if not start.startswith(_ANY_FIRST_WORD):
        return None
    return next(media_type for word, media_type in _FIRST_WORDS.items() if start.startswith(word))


def mail_type(head: bytes, extension: bytes, declared: str | None) -> str | None:
    """Return the media type of a message or mail store with binary bytes among its first ones (BINARYMIME of RFC 3030,
    stray NULs), by the whole lines before them; None if these are not its first bytes."""
    control = _FIRST_CONTROL.search(head)
    lines = head[: control.start() if control else len(head)]
    lines = lines[: lines.rfind(b"\n") + 1].lstrip(b"\r\n")
    if starts_message(lines, 0, after_blank=True):
        return text_type(lines, extension, declared)
    declared_mail = extension == b"eml" or declared == "message/rfc822"
    return "message/rfc822" if is_mail(lines, extension) or (declared_mail and _header_names(lines)[0]) else None


def page_type(head: bytes, extension: bytes) -> str | None:
    """Return the media type of a web page with binary bytes among its first ones, by its extension; None for others."""
    named = extension in (b"html", b"htm", b"xhtml")
    return "text/html" if named and _HTML_START.match(head.lstrip()[:64]) else None


def _by_tie(head: bytes, extension: bytes, declared: str | None) -> str:
    """Return the type by the name, then by the parent, for bytes that show nothing."""
    if extension == b"csv" or (declared == "text/csv" and extension not in (b"txt", b"log")):
        return "text/csv"
    if extension == b"tsv":
        return "text/tab-separated-values"
    if extension == b"json" and head.lstrip()[:1] in (b"{", b"["):
        return "application/json"
    if extension in (b"html", b"htm", b"xhtml") or declared in ("text/html", "application/xhtml+xml"):
        if _TAG.search(head):
            return "text/html"
    elif not extension and _HTML_ROOT.search(head[:1024]):
        return "text/html"
    if declared == "message/rfc822" or (extension == b"eml" and _header_names(head)[0]):
        return "message/rfc822"
    if files := inline_files(head, 0, len(head)):
        return FILES_IN_TEXT[files[0].encoding]
    return "text/plain"


def office_xml(head: bytes, extension: bytes = b"") -> str | None:
    """Return the media type of an office document in one XML file, by its root's namespace; else None."""
    root = _ROOT.search(head)
    if root is None or (known := _OFFICE_XML.get(root[1])) is None or known[0] not in root[0]:
        return None
    if known[1] != _FLAT_ODF:
        return known[1]
    kind = _FLAT_KIND.search(root[0]) or _FLAT_EXTENSION.match(extension)
    return _FLAT_ODF % (_FLAT_KINDS[kind[1][:1]] if kind else "text")


def _markup(head: bytes, extension: bytes) -> str:
    space = _COMMENT.match(head)
    rest = head[space.end() :] if space else head
    if rest[:5].lower() == b"<?xml":
        if _HTML_ROOT.search(head[:2048]):
            return "text/html"
        return office_xml(head, extension) or ("image/svg+xml" if b"<svg" in head[:2048] else "application/xml")
    if rest[:4].lower() == b"<svg":
        return "image/svg+xml"
    if _HTML_START.match(rest) or _HTML_ROOT.search(head[:2048]):
        return "text/html"
    if extension in (b"html", b"htm", b"xhtml"):
        return "text/html"
    if kind := office_xml(head, extension):
        return kind
    if extension == b"xml" or _XML_BEGIN.match(rest):
        return "application/xml"
    return "text/plain"


_GIT_PATCH = re.compile(rb"From [0-9a-f]{40} Mon Sep 17 00:00:00 2001")  # a constant of `git format-patch`
_ROOT = re.compile(rb"<(?:[\w.-]+:)?([a-zA-Z][\w.-]*)(?:\s[^<>]*)?")
_XML_BEGIN = re.compile(rb"<(?:!DOCTYPE\s|[a-zA-Z][^<>]*\sxmlns(?::[\w.-]+)?\s*=)")
_FLAT_ODF = "application/vnd.oasis.opendocument.%s-flat-xml"
_OFFICE_XML = {  # by the name of the root: its namespace, which one of its attributes declares
    b"package": (b"http://schemas.microsoft.com/office/2006/xmlPackage", "application/vnd.ms-word2006ml"),
    b"wordDocument": (b"http://schemas.microsoft.com/office/word/2003/wordml", "application/vnd.ms-wordml"),
    b"Workbook": (b"urn:schemas-microsoft-com:office:spreadsheet", "application/vnd.ms-spreadsheetml"),
    b"document": (b"urn:oasis:names:tc:opendocument:xmlns:office:1.0", _FLAT_ODF),
}
_FLAT_KIND = re.compile(
    rb"mimetype\s*=\s*[\"']application/vnd\.oasis\.opendocument\.(text|spreadsheet|presentation|graphics)"
)
_FLAT_EXTENSION = re.compile(rb"fod([tspg])\Z")
_FLAT_KINDS = {kind[:1].encode(): kind for kind in ("text", "spreadsheet", "presentation", "graphics")}
_HEADER_LINES = 40
_MOST_ODD = _HEADER_LINES // 3  # of these lines; with more odd ones, fewer than twice as many are fields


def _header_names(head: bytes, most_odd: int = _HEADER_LINES) -> tuple[list[bytes], int]:
    """Return the lower-case names of the header fields at the start, and the number of other lines; stop when these are
    more than `most_odd`."""
    whole = _WHOLE_HEADER.match(head)
    if whole is not None:  # the usual case: no odd lines
        return [name.lower() for name in _WHOLE_FIELD.findall(head, 0, whole.end())], 0
    names: list[bytes] = []
    odd = 0
    for line in head.split(b"\n"):
        if not line.strip(b"\r"):
            break
        if line[0] in b" \t":
            if not names:
                odd += 1
            continue
        field = _HEADER.match(line)
        if field:
            names.append(field[1].lower())
        else:
            odd += 1
        if len(names) + odd >= _HEADER_LINES or odd > most_odd:
            break
    return names, odd


def is_mail(head: bytes, extension: bytes = b"eml") -> bool:
    """Return whether these are the first bytes of a message: at least two known fields before anything else.

    With the name of a text file (`.txt`, `.csv` …) other lines among them ("Sent:", prose) require a field that only
    mail systems write: people keep printed mail as text that starts with "From:" and "To:"."""
    names, odd = _header_names(head.lstrip(b"\r\n"), _MOST_ODD)
    known = _COMMON.intersection(names)
    if len(known) < 2 or odd > len(names) // 2:
        return False
    if extension in _NOT_MAIL_NAMES and not known & _STRONG:
        return odd == 0 and known.issuperset(names)
    return True


_ENTITY_STARTS = (b"content-", b"this is a", b"--")  # in lower case
# A header without fields that only messages have (a signed entity of RFC 8551, 3.1, which Outlook attaches).
_ENTITY = re.compile(
    rb"\s*+(?:content-[a-z-]+[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n)*){0,9}?content-type[ \t]*:\s*[\"']?multipart\b",
    re.IGNORECASE,
)


def _is_entity(head: bytes) -> bool:
    """Return whether these are the first bytes of a multipart, with or without a header of content fields."""
    return (_ENTITY.match(head) is not None and b"\n--" in head) or unlabelled_boundary(head, 0, len(head)) != b""


def _is_emlx(head: bytes) -> bool:
    """Return whether this is a file of Apple Mail: a line with a byte count, then a message, then a property list."""
    first, _, rest = head.partition(b"\n")
    return first.strip().isdigit() and is_mail(rest)
