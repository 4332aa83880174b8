"""Text, XML, contacts and calendars, pictures."""

import plistlib
import struct
import zlib
from collections.abc import Sequence

from metafiles import emf, emr, emr_text, plus, plus_string, wide, wmf, wmr, wmr_font, wmr_text

from shapes.shape import Shape, shapes


def _namespaces(n: int) -> bytes:
    return b"<a %b>" % b" ".join(b'xmlns:a%d="u"' % i for i in range(n)) + b"<a0:b/>" * n + b"</a>"


def _entities(n: int) -> bytes:
    return b'<!DOCTYPE a [<!ENTITY b "%b">]><a>' % (b"c" * n) + b"&b;" * n + b"</a>"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _png(n: int) -> bytes:
    head = _chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + _chunk(b"IDAT", b"") * n + _chunk(b"IEND", b"") + bytes(20)


def _tiff(n: int) -> bytes:
    """A chain of directories, each of which holds those behind it as far as it may."""
    out = bytearray(b"II*\0" + struct.pack("<I", 8))
    count = n
    for i in range(count):
        out += struct.pack("<H", 1) + struct.pack("<HHII", 256, 4, 1, 1) + struct.pack("<I", 26 + 18 * i)
    return bytes(out)


def _overlapping(n: int) -> bytes:
    """Directories of many entries, each beginning a few bytes behind the one before; the next lies where its last entry
    is, which is why they are read at all."""
    entries, step, size = 4000, 8, 0
    size = 8 + step * n + 2 + 12 * entries + 4
    out = bytearray(size + 8)
    out[:8] = b"II*\0" + struct.pack("<I", 8)
    for i in range(n):
        at = 8 + step * i
        out[at : at + 2] = struct.pack("<H", entries)
        end = at + 2 + 12 * entries
        out[end : end + 4] = struct.pack("<I", at + step)
    return bytes(out)


def _jpeg(n: int) -> bytes:
    return b"\xff\xd8" + b"\xff\xe0\0\2" * min(n, 1900) + b"\xff" * n + b"\xc0\0\x0b\x08\0\1\0\1\1\1\x11\0" + bytes(n)


def _heic(n: int) -> bytes:
    boxes = struct.pack(">I", 8) + b"free"
    meta = b"\0\0\0\0" + boxes * n
    return struct.pack(">I", 16) + b"ftypheic" + bytes(4) + struct.pack(">I", 8 + len(meta)) + b"meta" + meta


def _texts_at_one_place(n: int) -> bytes:
    one = struct.pack("<iiIII4iI", 0, 0, 40 * n, 40, 0, 0, 0, 0, 0, 40)
    return emf(emr(97, bytes(16) + struct.pack("<IffI", 1, 1, 1, n) + one * n))


def _plist(value: object) -> bytes:
    return plistlib.dumps(value, fmt=plistlib.FMT_BINARY)


def _array(places: Sequence[int]) -> bytes:
    """The head of a binary property list and an array of these objects; counts and references have four bytes."""
    return b"bplist00" + b"\xaf\x12" + struct.pack(f">{1 + len(places)}I", len(places), *places)


def _property_list(body: bytes, places: Sequence[int]) -> bytes:
    """With the table of where its objects lie."""
    table = struct.pack(f">{len(places)}I", *places)
    return body + table + struct.pack(">6xBBQQQ", 4, 4, len(places), 0, len(body))


def _arrays_in_one_another(n: int) -> bytes:
    """Each object is an array of all objects: their places are the same."""
    return _property_list(_array(range(n)), [8] * n)


def _strings_in_one_another(n: int) -> bytes:
    """An array of strings, each of which begins in the one before it."""
    head = _array(range(1, n + 1))
    strings = (b"\x5f\x12" + struct.pack(">I", n)) * n + bytes(n)
    return _property_list(head + strings, [8, *(len(head) + 6 * i for i in range(n))])


def _card(piece: bytes, head: bytes = b"", tail: bytes = b"") -> object:
    return lambda n: b"BEGIN:VCARD\n" + head + piece * n + tail + b"\nEND:VCARD\n"


def _event(piece: bytes, head: bytes = b"", tail: bytes = b"") -> object:
    return lambda n: b"BEGIN:VCALENDAR\nBEGIN:VEVENT\n" + head + piece * n + tail + b"\nEND:VEVENT\nEND:VCALENDAR\n"


_LINES = (
    ("lines", 3_000, b"N:a\n", b"", b""),
    ("a folded line", 20_000, b"\n a", b"NOTE:", b""),
    ("parameters", 3_000, b";a=b", b"NOTE", b":a"),
    ("parameters without a value", 20_000, b";a", b"NOTE", b""),
    ("parameters in open quotes", 10_000, b';a="', b"NOTE", b":a"),
    ("lines of soft breaks", 10_000, b"a=\n", b"NOTE;ENCODING=QUOTED-PRINTABLE:", b""),
    ("pictures", 1_000, b"PHOTO;ENCODING=b:QUJD\n", b"", b""),
    ("a long picture", 5_000, b"\n QUJDREVG", b"PHOTO;ENCODING=b:", b""),
    ("escapes", 20_000, b"\\n\\", b"NOTE:", b""),
)

SHAPES = [
    *shapes(
        "text/plain",
        ("lines", 50_000, lambda n: b"a\n" * n),
        ("a long line", 50_000, lambda n: b"a" * n),
        ("bytes of no charset", 20_000, lambda n: b"\xe4\xc3" * n),
        ("nested JSON", 20_000, lambda n: b"[" * n),
        ("escapes in JSON", 3_000, lambda n: b'["' + b"\\u00fc" * n + b'"'),
        ("quotation marks that are escaped", 10_000, lambda n: b'{"\n' + b'\\"' * n),
        ("lines of JSON with escapes", 2_000, lambda n: b'{"a": "\\n%d"}\n' * n % tuple(range(n))),
        ("strings of JSON before one with an escape", 5_000, lambda n: b"[" + b'"a",' * n + b'"\\n'),
    ),
    *shapes(
        "application/xml",
        ("elements", 3_000, lambda n: b"<a>" + b"<b>c</b>" * n + b"</a>"),
        ("nesting", 20_000, lambda n: b"<a>" * n),
        ("elements in a sentence", 3_000, lambda n: b"<p>x" + b"<b>c</b><i>d</i>" * n + b"</p>"),
        ("attributes", 3_000, lambda n: b"<a %b/>" % b" ".join(b'a%d="b"' % i for i in range(n))),
        ("attributes of empty elements", 3_000, lambda n: b"<a>x" + b'<b c="de fg" d="1"/>' * n + b"</a>"),
        ("namespaces", 2_000, _namespaces),
        ("entities", 2_000, _entities),
        ("comments", 5_000, lambda n: b"<a>" + b"<!--b-->" * n + b"</a>"),
        ("numbers of letters", 3_000, lambda n: b"<a>" + b"&#55357;" * n),
        ("numbers that do not end", 10_000, lambda n: b"<a>" + b"&#55" * n),
    ),
    *[
        Shape(name=name, media_type=kind, make=make(piece, head, tail), n=n)  # type: ignore[arg-type]
        for kind, make in (("text/vcard", _card), ("text/calendar", _event))
        for name, n, piece, head, tail in _LINES
    ],
    *shapes(
        "application/x-bplist",
        ("numbers", 10_000, lambda n: _plist(list(range(n)))),
        ("a long string everywhere", 10_000, lambda n: _plist(["a" * n] * n)),
        ("a key everywhere", 5_000, lambda n: _plist([{"key": i} for i in range(n)])),
        (
            "resources",
            2_000,
            lambda n: _plist([{"WebResourceData": b"%d" % i, "WebResourceURL": "u"} for i in range(n)]),
        ),
        ("arrays in one another", 10_000, _arrays_in_one_another),
        ("strings in one another", 10_000, _strings_in_one_another),
    ),
    *shapes("text/vcard", ("cards", 500, lambda n: b"BEGIN:VCARD\nFN:a\nEMAIL:b\nEND:VCARD\n" * n)),
    *shapes("text/calendar", ("people", 1_000, _event(b"ATTENDEE;CN=a:mailto:b@c.de\n"))),  # type: ignore[arg-type]
    *shapes(
        "image/png",
        ("chunks", 3_000, _png),
    ),
    *shapes(
        "image/tiff",
        ("frames", 3_000, _tiff),
        ("directories in one another", 1_000, _overlapping),
    ),
    *shapes("image/jpeg", ("fill bytes", 5_000, _jpeg)),
    *shapes("image/heic", ("boxes", 3_000, _heic)),
    *shapes(
        "image/emf",
        ("runs", 3_000, lambda n: emf(wide("run") * n)),
        (
            "runs in bytes that contradict the font",
            1_000,
            lambda n: emf(emr_text(b"\xcf\xf0\xe8" * 9, 27, kind=83) * n),
        ),
        ("texts of one record at one place", 1_000, _texts_at_one_place),
        ("runs of EMF+ in one comment", 3_000, lambda n: emf(plus(plus_string("run") * n))),
        ("states saved", 10_000, lambda n: emf(emr(33) * n, emr(34, b"\xff\xff\xff\xff") * n)),
    ),
    *shapes(
        "image/wmf",
        ("runs", 3_000, lambda n: wmf(wmr_text(b"run") * n)),
        (
            "objects made and deleted",
            3_000,
            lambda n: wmf(wmr_font(204) * n, wmr(0x01F0, b"\0\0") * n, wmr_font(0) * n),
        ),
    ),
]
