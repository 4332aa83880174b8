"""The parts of a message: an own walk over its bytes.

Why not a library: `fast-mail-parser` refuses whole messages for one bad character of base64 and flattens the parts;
the standard library's parser decodes to text first (embedded messages do not come back byte for byte), is quadratic on
hostile input in places and costs ten times as much. Splitting at boundaries (RFC 2046, 5.1) over the bytes keeps
every embedded message as stored and the parts in order, and leaves only header values to be decoded.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator, Mapping

from formats.charset import Detected, decode
from formats.last import LARGEST, remembered
from formats.mail.around import SAMPLE, charset_around, charset_of_names
from formats.mail.header_lines import UNREAD, has_unread_fields
from formats.mail.headers import (
    BASE64_ALPHABET,
    Fields,
    file_name,
    from_base64,
    media_type,
    parameters,
    parse_fields,
    raw_text,
    unfolded,
)
from formats.mail.inline import YENC, decode_yenc, inline_files

MAX_PARTS = 100_000  # of a message: each takes some 500 bytes of memory and may take five of the message
MAX_DEPTH = 64  # multiparts inside one another; a deeper one is a leaf, so nothing of it is lost
_DELIMITER_REST = re.compile(rb"(--)?[ \t]*\r?(?:\n|\Z)")
_NONE: Mapping[str, str] = {}
_SPACE = b"\r\n \t"
_BASE64_LINE = re.compile(rb"^[A-Za-z0-9+/]{40,}={0,2}\r?$", re.MULTILINE)
_PADDED_BLOCKS = re.compile(rb"(?:(?:[^=]{4}|(?!))*+(?:[^=]{2}==|[^=]{3}=)|(?!))*+(?:[^=]{4}|(?!))*+(?:[^=]{2,3}=*)?")
_PADDED_WITHIN = re.compile(rb"^(?=.{76}\r?$)[A-Za-z0-9+/]+=+[A-Za-z0-9+/]", re.MULTILINE)
_HEADER = 1 << 12  # bytes in which every message has an end of a line
_LONE_CR = re.compile(rb"\r(?!\n)")
_BODY_TYPES = ("text/plain", "text/html")


@remembered
def _declared(
    type_field: bytes, disposition_field: bytes, default: str, hint: str = ""
) -> tuple[str, str, str, str, bytes]:
    """What the two fields, as they stand, say of a part: media type, disposition, file name, charset, boundary of a multipart. The
    hint is a charset that eight-bit characters in them may be in."""
    content_type, disposition = raw_text(unfolded(type_field), hint), raw_text(unfolded(disposition_field), hint)
    declared = parameters(content_type) if ";" in content_type else _NONE
    given = parameters(disposition) if ";" in disposition else _NONE
    kind = media_type(content_type, default)
    boundary = (
        declared.get("boundary", "").rstrip().encode("utf-8", "replace") if kind.startswith("multipart/") else b""
    )
    return (
        kind,
        disposition.partition(";")[0].strip().lower(),
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
        self.detected: Detected | None = None  # of its text, once it was read
        self.damage: str | None = None  # what of its content was lost, once it was decoded
        self._decoded: tuple[bytes, str | None] | None = None
        declared = _declared(fields.stored(b"content-type"), fields.stored(b"content-disposition"), default)
        self.media_type, self.disposition, self.file_name, self.charset, self.boundary = declared
        self.encoding = fields.raw(b"content-transfer-encoding").lower()

    @property
    def naming_fields(self) -> tuple[bytes, bytes]:
        """The fields that may hold a file name, as they stand."""
        return self.fields.stored(b"content-type"), self.fields.stored(b"content-disposition")

    def rename(self, hint: str) -> None:
        """Read the file name again, which is in eight bits: they may be in this charset."""
        self.file_name = _declared(*self.naming_fields, "", hint)[2] or self.file_name

    @property
    def is_body(self) -> bool:
        """Whether it is (an alternative of) the message's text rather than a child; a multipart that could not be
        split (no boundary declared, or none found) is read as plain text."""
        if self.disposition == "attachment" or self.file_name:
            return False
        return self.media_type in _BODY_TYPES or self.media_type.startswith("multipart/")

    def content(self) -> bytes:
        """The bytes after transfer decoding; damaged encodings give what can be read."""
        return self.decoded()[0]

    def decoded(self) -> tuple[bytes, str | None]:
        """The same, and what was lost on the way; None where nothing was, as far as the encoding can tell."""
        if self._decoded is not None:
            return self._decoded
        raw = self.data[self.start : self.end]
        if not self.encoding.startswith(b"base64"):
            decoded: tuple[bytes, str | None] = self._without_encoding(raw), None
        elif (sound := sound_base64(raw)) is not None:
            decoded = sound, None
        else:
            decoded = decode_base64(raw), base64_damage(raw)
            self.damage = self.damage or decoded[1]
        if len(self.data) <= LARGEST:
            self._decoded = decoded  # hashes and children want the same
        return decoded

    def note_unread_fields(self) -> None:
        """Tell as damage of a text that there are fields in it which say how the rest should have been read."""
        if self.is_body and not self.boundary and has_unread_fields(self.data, self.start, self.end):
            self.damage = UNREAD

    def replace(self, data: bytes) -> None:
        """Give it other content, without an encoding."""
        self.data, self.start, self.end = data, 0, len(data)
        self.encoding, self._decoded = b"", None

    def _without_encoding(self, raw: bytes) -> bytes:
        encoding = self.encoding
        if not encoding or encoding in (b"7bit", b"8bit", b"binary"):
            return raw
        if encoding.startswith(b"quoted-printable"):
            return binascii.a2b_qp(raw)
        if encoding in (b"x-uuencode", b"uuencode", b"x-uue", b"uue"):
            return decode_uu(raw)
        if encoding == YENC:
            return decode_yenc(raw)
        return raw


class Message:
    """A message taken apart."""

    __slots__ = ("_child_parts", "_left", "_oddly_named", "limited", "root", "truncated")

    def __init__(self, data: bytes) -> None:
        self._child_parts: list[MailPart] | None = None
        self._left = MAX_PARTS
        self._oddly_named: list[MailPart] = []  # in eight bits
        self.limited = False  # there are more parts, which are left out
        self.truncated = False  # a multipart that runs to the end has no closing boundary
        if data.find(b"\n", 0, _HEADER) < 0 and data.find(b"\r", 0, _HEADER) >= 0:
            data = _LONE_CR.sub(b"\n", data)  # of a Macintosh
        start = 3 if data.startswith(b"\xef\xbb\xbf") else 0
        while data.startswith((b"\n", b"\r\n"), start):
            start += 1 if data[start] == 10 else 2
        self.root = self._part(data, start, len(data), "text/plain", 0, last=True)
        if not self.root.fields.stored(b"content-type") and data[self.root.start : self.root.start + 1] in b"CcMm":
            self.root.note_unread_fields()  # a blank line within the header
        if self._oddly_named or not (self.root.data is data and data[: self.root.start].isascii()):
            self._read_eight_bits()

    def _read_eight_bits(self) -> None:
        """File names and header fields in eight bits: in what the texts are in, else in what all names, or all fields, together are."""
        texts = ((part.content()[:SAMPLE], part.charset) for part in self.leaves() if part.is_body)
        fields = self.root.fields
        fields.around = charset_around(texts)
        if self._oddly_named:
            naming = (field for part in self._oddly_named for field in part.naming_fields)
            hint = fields.around or fields.likely() or charset_of_names(naming)
            for part in self._oddly_named if hint else ():
                part.rename(hint)

    def leaves(self) -> Iterator[MailPart]:
        """Every part that holds no others, in order."""
        stack = [self.root]
        while stack:
            part = stack.pop()
            if part.children:
                stack.extend(reversed(part.children))
            elif not part.boundary or part.start < part.end:
                yield part

    def child_parts(self) -> list[MailPart]:
        """The parts that are items: every leaf but the text."""
        if self._child_parts is None:
            self._child_parts = [part for part in self.leaves() if not part.is_body]
        return self._child_parts

    @property
    def ends_in_text(self) -> bool:
        """Whether the last part, which a message that is cut ends in, is text of it."""
        last = self.root
        while last.children:
            last = last.children[-1]
        return last.is_body

    def _part(self, data: bytes, start: int, end: int, default: str, depth: int, *, last: bool) -> MailPart:
        fields, body = parse_fields(data, start, end)
        part = MailPart(data, fields, body, end, default)
        boundary = part.boundary
        if not (part.file_name.isascii() or all(map(bytes.isascii, part.naming_fields))):
            self._oddly_named.append(part)
        if fields.odd_end:
            part.note_unread_fields()
        if not boundary or depth >= MAX_DEPTH:
            self._left -= _take_out_files(part) if self._left > 0 else 0
            return part
        if part.encoding.startswith((b"base64", b"quoted")) and data.find(b"--" + boundary, body, end) < 0:
            part.replace(part.content())  # an encoded multipart: forbidden by RFC 2045 section 6.4, and done
        self._split(part, boundary, depth, last=last)
        return part

    def _split(self, part: MailPart, boundary: bytes, depth: int, *, last: bool) -> None:
        default = "message/rfc822" if part.media_type == "multipart/digest" else "text/plain"
        ranges, closed, seen = _ranges(part.data, part.start, part.end, boundary, max(0, self._left))
        self._left -= len(ranges)
        self.limited = self.limited or self._left <= 0
        for i, (start, end) in enumerate(ranges):
            inner_last = last and not closed and i == len(ranges) - 1
            part.children.append(self._part(part.data, start, end, default, depth + 1, last=inner_last))
        if seen and not ranges:
            part.start = part.end  # only a closing boundary: a multipart without parts
        if last and not closed:
            self.truncated = True


def _take_out_files(part: MailPart) -> int:
    """Files that lie in a plain text become parts between the pieces of the text; how many these are together."""
    if part.media_type != "text/plain" or part.encoding not in (b"", b"7bit", b"8bit", b"binary") or not part.is_body:
        return 0
    at = part.start
    for file in inline_files(part.data, part.start, part.end):
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


def _ranges(data: bytes, start: int, end: int, boundary: bytes, most: int) -> tuple[list[tuple[int, int]], bool, bool]:
    """Where the parts lie between the delimiter lines, up to so many; whether the closing delimiter is there, or they
    end before it; whether any is."""
    delimiter = b"--" + boundary
    ranges: list[tuple[int, int]] = []
    opened = -1
    at = start
    while (at := data.find(delimiter, at, end)) >= 0:
        if at != start and data[at - 1] != 10:
            at += len(delimiter)
            continue
        rest = _DELIMITER_REST.match(data, at + len(delimiter), end)
        if rest is None:
            at += len(delimiter)
            continue
        if opened >= 0:
            ranges.append((opened, max(opened, _before_newline(data, at))))
        if rest[1] or len(ranges) >= most:
            return ranges, True, True
        opened = at = rest.end()
    if opened >= 0:
        ranges.append((opened, end))
    return ranges, False, opened >= 0


def _before_newline(data: bytes, at: int) -> int:
    """The newline before a delimiter belongs to the delimiter."""
    if at >= 2 and data[at - 2] == 13:
        return at - 2
    return at - 1


def sound_base64(raw: bytes) -> bytes | None:
    """What base64 as RFC 2045 has it stands for; None for any other, which `decode_base64` reads as far as it can."""
    packed = raw.translate(None, _SPACE)
    if len(packed) % 4 or packed.endswith(b"==="):
        return None
    try:
        return binascii.a2b_base64(packed, strict_mode=True)
    except binascii.Error:
        return None


def decode_base64(raw: bytes) -> bytes:
    """Base64 with whatever lies between: junk is skipped, missing padding tolerated. What follows the padding is
    decoded too if it is nothing but base64 (encoders that pad each block), else dropped (footers of mailing lists)."""
    at = raw.find(b"=")
    if at < 0 or not raw[at:].strip(b"=\r\n \t"):
        try:
            return binascii.a2b_base64(raw)  # skips junk by itself, twice as fast
        except binascii.Error:
            pass  # padding is missing
    head, _, rest = raw.partition(b"=")
    rest = rest.translate(None, _SPACE)
    if rest.translate(None, BASE64_ALPHABET + b"="):
        return from_base64(head)
    return b"".join(from_base64(block) for block in (head, *rest.split(b"=")) if block)


def base64_damage(raw: bytes) -> str | None:
    """What is wrong with base64 so that the decoded bytes are not what was encoded; None when it is sound.

    Missing padding loses nothing. What follows the padding is a mailing list's as a rule, but no list puts whole lines
    of base64 there, nor anything into the line that was padded.
    """
    head, pad, rest = raw.partition(b"=")
    foreign = head.translate(None, BASE64_ALPHABET + _SPACE)
    if foreign:
        return f"{len(foreign)} characters in it are not base64"
    digits = len(head.translate(None, _SPACE))
    if digits % 4 == 1:
        return "its base64 ends in the middle of a byte"
    if pad and digits % 4 == 0:
        return "its base64 is padded where no padding can be"
    return _late_damage(raw, rest.lstrip(b"=")) if rest.strip(b"=" + _SPACE) else None


def _late_damage(raw: bytes, rest: bytes) -> str | None:
    """What is wrong with bytes behind the first padding. Blocks that are padded each are sound (some encoders write
    them), but not in the middle of a line of the usual length."""
    packed = raw.translate(None, _SPACE)
    if not packed.translate(None, BASE64_ALPHABET + b"="):
        if _PADDED_BLOCKS.fullmatch(packed) is None or _PADDED_WITHIN.search(raw):
            return "its base64 is padded where no padding can be"
        return None
    if not rest.startswith((b"\r", b"\n", b" ", b"\t")) or _BASE64_LINE.search(rest):
        return "its base64 goes on behind its padding"
    return None


def decode_uu(raw: bytes) -> bytes:
    """uuencode: the lines between `begin` and `end`; lines that are too long are cut as their count says."""
    out: list[bytes] = []
    inside = False
    for line in raw.splitlines():
        if not inside:
            inside = line.startswith(b"begin ")
        elif line.strip() == b"end":
            break
        elif line:
            try:
                out.append(binascii.a2b_uu(line))
            except binascii.Error:
                wanted = (((line[0] - 32) & 63) * 4 + 5) // 3
                try:
                    out.append(binascii.a2b_uu(line[:wanted]))
                except binascii.Error:
                    continue  # not a line of uuencode
    return b"".join(out)
