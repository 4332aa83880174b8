"""The parts of a message, read by our own parser.

No library is used: `fast-mail-parser` refuses whole messages for one bad character of base64 and flattens the parts;
the standard library's parser decodes to text first (embedded messages do not come back byte for byte), is quadratic on
some hostile input and costs ten times as much. Splitting the bytes at boundaries (RFC 2046, 5.1) keeps every embedded
message as stored and the parts in order, and leaves only header values to be decoded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from readers.charset import Detected, by_zeros, decode
from readers.charset_labels import by_label, by_mark, is_placeholder
from readers.last import LARGEST, remembered
from readers.mail import transfer
from readers.mail.base64 import footer_after, sound_base64
from readers.mail.boundary import Ranges, likely_boundary, ranges, unlabelled_boundary
from readers.mail.header_lines import UNREAD, has_unread_fields
from readers.mail.headers import Fields, file_name, media_type, parameters, parse_fields, raw_text, unfolded
from readers.mail.inline import inline_files, is_piece_of_file
from readers.mail.transfer import BASE64, NONE, QUOTED_PRINTABLE, encoding_of, unlabelled

# The charset that the texts of a message suggest for its eight-bit file names and header fields that declare none.

SAMPLE = 1 << 14  # bytes of a text that are examined
_MOST_TEXTS = 20
_DECLARED_BY_HABIT = ("", "utf-8", "cp1252")  # for a text in ASCII
MOST_NAMES = 50  # names that are examined together


def charset_around(texts: Iterable[tuple[bytes, str]]) -> str:
    """Return the charset of the first of these texts (bytes and declaration) that is neither ASCII nor UTF-8, else the
    one that an ASCII text declares; "" without evidence."""
    declared = ""
    for data, label in islice(texts, _MOST_TEXTS):
        if data.isascii():
            codec = "" if is_placeholder(label) else by_label(label)
            declared = declared or ("" if codec in _DECLARED_BY_HABIT else codec)
            continue
        detected = decode(data, label)[1]
        if detected.charset != "utf-8" and not detected.guessed:
            return detected.charset
    return declared


def charset_of_names(fields: Iterable[bytes]) -> str:
    """Return the likeliest charset of fields with file names in eight bitstogether; "" if that is a guess."""
    detected = decode(b"\n".join(islice((field for field in fields if not field.isascii()), MOST_NAMES)))[1]
    return "" if detected.guessed else detected.charset


MAX_PARTS = 100_000  # of a message: each takes some 500 bytes of memory, and as few as five bytes of the message
MAX_DEPTH = 64  # multiparts inside one another; a deeper one is a leaf, so its words are kept
NESTED = f"multiparts are nested more than {MAX_DEPTH} deep"
_NONE: Mapping[str, str] = {}
_FIRST_TOKEN = re.compile(r"[\s\"']*([A-Za-z0-9_-]*)")
_UNSPLIT = "its parts cannot be separated: no line begins with its boundary"
_UNITS = 8  # bytes at the start in which a header in UTF-16 or UTF-32 has a NUL
_HEADER = 1 << 12  # bytes at the start in which every message has a line end
_OTHER_LINE_END = re.compile(rb"(?<!\r\r)\n")
_LONE_CR = re.compile(rb"\r(?!\n)")
_NO_RANGES = Ranges([], closed=False, seen=False)
_MOST_AFTER = 1 << 14  # bytes of text after a closing delimiter
_CONTROLS = bytes(c for c in range(32) if c not in b"\t\n\f\r\x1b")
_REFERENCE = "message/external-body"
_BODY_TYPES = ("text/plain", "text/html", "text/enriched", "text/richtext")


@remembered
def _declared(
    type_field: bytes, disposition_field: bytes, default: str, hint: str = ""
) -> tuple[str, str, str, str, bytes]:
    """Return the declarations of the two fields, as stored, about a part: media type, disposition, file name, charset,
    boundary of a multipart. The hint is a charset that eight-bit characters in them may be in."""
    content_type, disposition = raw_text(unfolded(type_field), hint), raw_text(unfolded(disposition_field), hint)
    declared = parameters(content_type) if "=" in content_type else _NONE
    given = parameters(disposition) if "=" in disposition else _NONE
    kind = media_type(content_type, default)
    boundary = (
        declared.get("boundary", "").rstrip().encode("utf-8", "replace") if kind.startswith("multipart/") else b""
    )
    return (
        kind,
        token[1].lower() if (token := _FIRST_TOKEN.match(disposition)) else "",
        file_name(given, declared) if given or declared else "",
        declared.get("charset", ""),
        boundary,
    )


class MailPart:
    """One MIME part: its header fields and the range of its content in `data`."""

    __slots__ = (
        "_decoded",
        "boundary",
        "charset",
        "children",
        "damage",
        "data",
        "detected",
        "disposition",
        "encoding",
        "end",
        "fields",
        "file_name",
        "media_type",
        "start",
    )

    def __init__(self, data: bytes, fields: Fields, start: int, end: int, default: str) -> None:
        self.data = data
        self.fields = fields
        self.start = start
        self.end = end
        self.children: list[MailPart] = []
        self.detected: Detected | None = None  # charset of its text, once it was read
        self.damage: str | None = None  # lost content, once it was decoded
        self._decoded: tuple[bytes, str | None] | None = None
        declared = _declared(fields.stored(b"content-type"), fields.stored(b"content-disposition"), default)
        self.encoding = encoding_of(fields.raw(b"content-transfer-encoding"))
        if (
            fields.repeats
            and len(types := fields.all_stored(b"content-type")) > 1
            and not declared[0].startswith("multipart/")
        ):
            others = (_declared(other, b"", default) for other in types)  # a relay may have added one before it
            declared = next((other for other in others if other[0].startswith("multipart/")), declared)
        self.media_type, self.disposition, self.file_name, self.charset, self.boundary = declared
        if (
            fields.repeats
            and self.encoding == NONE
            and len(labels := fields.all_stored(b"content-transfer-encoding")) > 1
        ):
            encodings = map(encoding_of, map(unfolded, labels))
            likely = next((encoding for encoding in encodings if encoding != NONE), NONE)
            self.encoding = likely if likely != BASE64 or sound_base64(data[start:end]) is not None else NONE

    @property
    def naming_fields(self) -> tuple[bytes, bytes]:
        """Fields that may contain a file name, as stored."""
        return self.fields.stored(b"content-type"), self.fields.stored(b"content-disposition")

    def rename(self, hint: str) -> None:
        """Read the file name again, which is in eight bits and may be in this charset."""
        self.file_name = _declared(*self.naming_fields, "", hint)[2] or self.file_name

    @property
    def is_body(self) -> bool:
        """Whether it is (an alternative of) the message's text rather than a child; a multipart that could not be split
        (no boundary declared, or none found) is read as plain text."""
        if self.disposition == "attachment" or self.file_name:
            return False
        return self.media_type in _BODY_TYPES or self.media_type.startswith("multipart/")

    def content(self) -> bytes:
        """Return the bytes after transfer decoding; damaged encodings give what can be read."""
        return self.decoded()[0]

    def decoded(self) -> tuple[bytes, str | None]:
        """Return the same, and what was lost in decoding; None if nothing was lost, as far as the encoding shows it."""
        if self._decoded is not None:
            return self._decoded
        decoded = transfer.decoded(self.encoding, self.data[self.start : self.end])
        self.damage = self.damage or decoded[1]
        if len(self.data) <= LARGEST:
            self._decoded = decoded  # hashes and children need it too
        return decoded

    def note_unread_fields(self) -> None:
        """Record as damage of a text that it contains fields that declare how the rest should have been read."""
        if self.is_body and not self.boundary and has_unread_fields(self.data, self.start, self.end):
            self.damage = UNREAD

    def replace(self, data: bytes) -> None:
        """Replace the content, without an encoding."""
        self.data, self.start, self.end = data, 0, len(data)
        self.encoding, self._decoded = NONE, None


class Message:
    """A parsed message."""

    __slots__ = ("_child_parts", "_left", "_oddly_named", "limited", "root", "truncated")

    def __init__(self, data: bytes) -> None:
        self._child_parts: list[MailPart] | None = None
        self._left = MAX_PARTS
        self._oddly_named: list[MailPart] = []  # parts with names in eight bits
        self.limited = False  # there are more parts, which are omitted
        self.truncated = False  # a multipart that runs to the end has no closing boundary
        if 0 in data[:_UNITS] and (codec := by_mark(data)[0] or by_zeros(data[:_HEADER])):
            data = data.decode(codec, "replace").lstrip("\ufeff").encode("utf-8", "replace")
        newline = data.find(b"\n", 0, _HEADER)
        if newline < 0 and data.find(b"\r", 0, _HEADER) >= 0:
            data = _LONE_CR.sub(b"\n", data)  # line ends of a Macintosh
        elif newline > 1 and data[newline - 2] == 13 and not _OTHER_LINE_END.search(data, 0, _HEADER):
            data = data.replace(b"\r\r\n", b"\r\n")  # line ends that were converted twice
        start = 3 if data.startswith(b"\xef\xbb\xbf") else 0
        while data.startswith((b"\n", b"\r\n"), start):
            start += 1 if data[start] == 10 else 2
        self.root = self._part(data, start, len(data), "text/plain", 0, last=True)
        if not self.root.fields.stored(b"content-type") and data[self.root.start : self.root.start + 1] in b"CcMm":
            self.root.note_unread_fields()  # a blank line within the header
        if self._oddly_named or not (self.root.data is data and data[: self.root.start].isascii()):
            self._read_eight_bits()

    def _read_eight_bits(self) -> None:
        """Decode 8-bit file names and fields: in the texts' charset, else that of all names or fields."""
        texts = ((part.content()[:SAMPLE], part.charset) for part in self.leaves() if part.is_body)
        fields = self.root.fields
        fields.around = charset_around(texts)
        if self._oddly_named:
            naming = (field for part in self._oddly_named for field in part.naming_fields)
            hint = fields.around or fields.likely() or charset_of_names(naming)
            for part in self._oddly_named if hint else ():
                part.rename(hint)

    def leaves(self) -> Iterator[MailPart]:
        """Yield every part that contains no others, in order."""
        stack = [self.root]
        while stack:
            part = stack.pop()
            if part.children:
                stack.extend(reversed(part.children))
            elif not part.boundary or part.start < part.end:
                yield part

    def child_parts(self) -> list[MailPart]:
        """Return the parts that are items: every leaf but the text."""
        if self._child_parts is None:
            self._child_parts = [part for part in self.leaves() if not part.is_body]
        return self._child_parts

    @property
    def ends_in_text(self) -> bool:
        """Whether the last part, in which a truncated message ends, is text of it."""
        last = self.root
        while last.children:
            last = last.children[-1]
        return last.is_body

    def _part(self, data: bytes, start: int, end: int, default: str, depth: int, *, last: bool) -> MailPart:
        fields, body = parse_fields(data, start, end)
        part = MailPart(data, fields, body, end, default)
        if part.media_type == _REFERENCE and depth:
            part.start, part.encoding = start, NONE  # the address is in its header
        if not (part.file_name.isascii() or all(map(bytes.isascii, part.naming_fields))):
            self._oddly_named.append(part)
        if fields.odd_end:
            part.note_unread_fields()
        if not part.media_type.startswith("multipart/"):
            stored = fields.stored(b"content-type")
            if part.media_type in _BODY_TYPES and (part.is_body or b"boundary" in stored.lower()):
                part.boundary = unlabelled_boundary(data, body, end)
            if not part.boundary:
                _undo_unlabelled(part)
                if part.encoding == BASE64 and part.is_body:
                    _take_footer(part)
                self._left -= _take_out_files(part) if self._left > 0 else 0
                return part
            part.media_type = "multipart/mixed"
        if depth >= MAX_DEPTH:
            part.damage = NESTED
        else:
            self._split(part, depth, last=last)
        return part

    def _split(self, part: MailPart, depth: int, *, last: bool) -> None:
        declared = part.boundary
        found = self._ranges_of(part)
        if not found.seen:
            part.boundary = declared
            if declared and last:
                self.truncated = True
            elif not part.file_name or part.content().strip():
                part.damage = _UNSPLIT
            return
        default = "message/rfc822" if part.media_type == "multipart/digest" else "text/plain"
        self._left -= len(found.parts)
        self.limited = self.limited or self._left <= 0
        for i, (start, end) in enumerate(found.parts):
            inner_last = last and not found.closed and i == len(found.parts) - 1
            part.children.append(self._part(part.data, start, end, default, depth + 1, last=inner_last))
        if found.parts and found.after >= 0:
            _take_after(part, found.after)
        if not found.parts:  # only a closing boundary: a multipart without parts
            before = part.data.rfind(b"--" + part.boundary, part.start, found.after)
            if part.data[part.start : before].strip():
                part.end, part.damage = before, _UNSPLIT
            else:
                part.start = part.end
        if last and not found.closed:
            self.truncated = True

    def _ranges_of(self, part: MailPart) -> Ranges:
        """Return the positions of its parts: by the declared boundary, then after decoding (an encoded multipart is
        forbidden by RFC 2045, 6.4, but occurs), then with the line ends of a Macintosh; or by one that its lines
        show."""
        most = max(0, self._left)
        for prepare in (None, _without_encoding, _with_line_feeds):
            if prepare is not None and not prepare(part):
                continue
            for shown in (False, True):
                boundary = likely_boundary(part.data, part.start, part.end) if shown else part.boundary
                found = ranges(part.data, part.start, part.end, boundary, most) if boundary else _NO_RANGES
                if found.parts or (found.seen and boundary == part.boundary):
                    part.boundary = boundary
                    return found
        return _NO_RANGES


def _take_after(part: MailPart, start: int) -> None:
    """Take the bytes after the closing delimiter, which are no part (RFC 2046, 5.1.1), as text, because lists and
    scanners put words there; as damage if they are not a short text."""
    after = part.data[start : part.end].strip()
    if not after:
        return
    if len(after) <= _MOST_AFTER and not after.startswith(b"--") and after == after.translate(None, _CONTROLS):
        part.children.append(_piece(part, start, part.end))
    else:
        part.damage = part.damage or f"{len(after):,} bytes after its closing boundary were not read"


def _without_encoding(part: MailPart) -> bool:
    """Decode a part, if it is encoded."""
    if part.encoding == NONE:
        return False
    part.replace(part.content())
    return True


def _undo_unlabelled(part: MailPart) -> None:
    """Decode a body whose encoding no field declares, if its lines can be nothing else; record that as damage. The
    bytes of an attachment stay, because it may be a file in base64."""
    if part.encoding not in (NONE, QUOTED_PRINTABLE) or part.media_type.startswith("message/"):
        return
    encoding = unlabelled(part.data, part.start, part.end)
    if encoding in (NONE, part.encoding) or not (part.is_body or encoding == BASE64):
        return
    part.damage = f"it is encoded in {encoding.decode()}, which no header field declares"
    if part.is_body:
        part.encoding = encoding
        part.replace(part.content())


def _with_line_feeds(part: MailPart) -> bool:
    """Replace carriage returns without a line feed, if a line that they end begins like a delimiter."""
    if part.data.find(b"\r--", part.start, part.end) < 0:
        return False
    part.replace(_LONE_CR.sub(b"\n", part.data[part.start : part.end]))
    return True


def text_with_files(data: bytes) -> MailPart:
    """Return a text outside of a message, with its files as parts."""
    root = MailPart(data, Fields(), 0, len(data), "text/plain")
    _take_out_files(root)
    return root


def _take_footer(part: MailPart) -> None:
    """Make the text after base64 a part: a mailing list added it without regard to the encoding."""
    end = footer_after(part.data, part.start, part.end)
    if end < part.end:
        body = _piece(part, part.start, end)
        body.encoding, body.media_type = BASE64, part.media_type
        part.children += (body, _piece(part, end, part.end))


def _take_out_files(part: MailPart) -> int:
    """Make files in a plain text parts between the pieces of the text; return the number of these parts."""
    if part.media_type != "text/plain" or not part.is_body or part.children:
        return len(part.children)
    if part.encoding != NONE:
        decoded = part.content()
        if not (files := inline_files(decoded, 0, len(decoded))):
            return 0
        part.replace(decoded)
    else:
        files = inline_files(part.data, part.start, part.end)
        if not files and is_piece_of_file(part.data, part.start, part.end):
            part.damage = part.damage or "it contains part of a file, without the beginning"
    at = part.start
    for file in files:
        if at < file.start:
            part.children.append(_piece(part, at, file.start))
        taken = _piece(part, file.start, file.end)
        taken.encoding = file.encoding
        taken.media_type = "application/octet-stream"
        taken.file_name = decode(file.name, part.charset)[0]
        part.children.append(taken)
        at = file.end
    if part.children and at < part.end:
        part.children.append(_piece(part, at, part.end))
    return len(part.children)


def _piece(part: MailPart, start: int, end: int) -> MailPart:
    piece = MailPart(part.data, Fields(), start, end, "text/plain")
    piece.charset = part.charset
    return piece
