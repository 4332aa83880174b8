"""Small Access databases, of Access 97 (`old`) and newer ones, as HACKING of mdbtools describes them."""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dataset_gen.formats import ole_package
from readers.ciphers import rc4

BYTE, SHORT, LONG, MONEY, SINGLE, DOUBLE, DATE, TEXT, OBJECT, MEMO, NUMERIC = 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 16
TRUTH = 1
SIZES = {TRUTH: 0, BYTE: 1, SHORT: 2, LONG: 4, MONEY: 8, SINGLE: 4, DOUBLE: 8, DATE: 8, NUMERIC: 17}
SPARE = 4  # number of the first spare page
DELETED, MOVED = 0x8000, 0x4000
_STREAM = bytes.fromhex("7b42fb8abc4e")  # of RC4 under c7da396b, from byte 0x3C of the first page on
_KEPT, _MOST = 100, 200  # bytes of a page that rows leave free, rows of a page


class Column(NamedTuple):
    name: str
    kind: int
    scale: int = 0
    reckoned: bool = False  # by an expression; what it gives is told by a property


Row = Sequence[bytes | None]
CATALOG = (*(Column(n, k) for n, k in {"Id": LONG, "Type": SHORT, "Flags": LONG}.items()),
           *(Column(n, TEXT) for n in ("Name", "ForeignName")), Column("Database", MEMO), Column("LvProp", OBJECT))  # fmt: skip


def inline(text: bytes) -> bytes:
    """A memo or object in its own row."""
    return struct.pack("<II4x", len(text) | 0x80000000, 0) + text


def elsewhere(length: int, page: int, row: int, *, one: bool = False) -> bytes:
    """A memo in another row, or in a chain of them."""
    return struct.pack("<II4x", length | (0x40000000 if one else 0), page << 8 | row)


@dataclass(slots=True)
class Maker:
    """Pages of a database, one after the other."""

    old: bool = False
    pages: list[bytes] = field(default_factory=list)

    @property
    def size(self) -> int:
        return 2048 if self.old else 4096

    def text(self, text: str) -> bytes:
        """As a database keeps a name."""
        return text.encode("cp1252" if self.old else "utf-16-le")

    def properties(self, *stated: tuple[str, str, int, bytes]) -> bytes:
        """Of an object or its columns: the column, the name, kind and value of each."""

        def block(kind: int, data: bytes) -> bytes:
            return struct.pack("<IH", 6 + len(data), kind) + data

        def name(text: str) -> bytes:
            return struct.pack("<H", len(self.text(text))) + self.text(text)

        out = (b"KKD\0" if self.old else b"MR2\0") + block(0x80, b"".join(name(called) for _, called, _, _ in stated))
        for number, (of, _, kind, value) in enumerate(stated):
            head = struct.pack("<I", 4 + len(name(of))) + name(of)
            out += block(1, head + struct.pack("<HBBHH", 8 + len(value), 1, kind, number, len(value)) + value)
        return inline(out)

    def row(self, columns: Sequence[Column], values: Row) -> bytes:
        """Fixed values, variable ones, where these lie, and which are there."""
        data = struct.pack("<B" if self.old else "<H", len(columns))
        pairs = list(zip(columns, values, strict=True))
        data += b"".join((value or b"").ljust(SIZES[c.kind], b"\0") for c, value in pairs if c.kind in SIZES)
        places = [len(data)]
        for column, value in pairs:
            if column.kind not in SIZES:
                data += value or b""
                places.append(len(data))
        mask = sum(1 << i for i, value in enumerate(values) if value is not None)
        tail = self._places(places, (len(columns) + 7) // 8) if len(places) > 1 else b""
        return data + tail + mask.to_bytes((len(columns) + 7) // 8, "little")

    def _places(self, places: list[int], mask: int) -> bytes:
        if not self.old:
            return b"".join(struct.pack("<H", place) for place in reversed(places)) + struct.pack("<H", len(places) - 1)
        jumps = 0
        while (places[-1] + len(places) + jumps + 1 + mask - 1) // 256 > jumps:
            jumps += 1
        firsts = [next(i for i, p in enumerate(places) if p >= 256 * k) for k in range(1, places[-1] // 256 + 1)]
        reported = bytes(firsts + [0xFF] * (jumps - len(firsts)))
        return bytes(place & 0xFF for place in reversed(places)) + reported[::-1] + bytes([len(places) - 1])

    def data(self, owner: int | bytes, rows: Sequence[bytes], marks: Sequence[int] = ()) -> bytes:
        """A page of rows, from its end on."""
        own = owner if isinstance(owner, bytes) else struct.pack("<I", owner)
        head = struct.pack("<BBH", 1, 1, 0) + own + (b"" if self.old else bytes(4)) + struct.pack("<H", len(rows))
        places, at = b"", self.size
        for i, row in enumerate(rows):
            at -= len(row)
            places += struct.pack("<H", at | (marks[i] if i < len(marks) else 0))
        return (head + places).ljust(at, b"\0") + b"".join(reversed(rows))

    def definition(self, columns: Sequence[Column], stated: int, pointer: int) -> bytes:
        """Without the head of its page."""
        out = bytearray(43 if self.old else 63)
        variable = sum(column.kind not in SIZES for column in columns)
        struct.pack_into("<I", out, 12 if self.old else 16, stated)
        struct.pack_into("<HH", out, 23 if self.old else 43, variable, len(columns))
        struct.pack_into("<I", out, 35 if self.old else 55, pointer)
        fixed = moving = 0
        for number, (_, kind, scale, reckoned) in enumerate(columns):
            if self.old:
                out += struct.pack(
                    "<BHH4xxB2xBHH", kind, number, moving, scale, kind in SIZES, fixed, SIZES.get(kind, 0)
                )
            else:
                out += struct.pack(
                    "<B4xHH2xxB2xBB4xHH",
                    *(kind, number, moving, scale, kind in SIZES, 0xC0 * reckoned, fixed, SIZES.get(kind, 0)),
                )
            fixed, moving = fixed + SIZES.get(kind, 0), moving + (kind not in SIZES)
        for column in columns:
            name = self.text(column.name)
            out += struct.pack("<B" if self.old else "<H", len(name)) + name
        return bytes(out[8:])

    def put(self, columns: Sequence[Column], rows: Sequence[bytes], *, at: int = 0, stated: int = -1) -> int:
        """A table on pages of its own; the number of the first."""
        number = at or self.reserve()
        mapped = self.reserve()
        first = len(self.pages)
        batch, left = list[bytes](), self.size - _KEPT
        for row in rows:
            if left < len(row) + 2 or len(batch) == _MOST:
                self.pages.append(self.data(number, batch))
                batch, left = [], self.size - _KEPT
            batch.append(row)
            left -= len(row) + 2
        self.pages.append(self.data(number, batch))
        bits = (1 << len(self.pages) - first) - 1
        bitmap = b"\0" + struct.pack("<I", first) + bits.to_bytes(bits.bit_length() // 8 + 1, "little")
        self.pages[mapped] = self.data(0, [bitmap])
        self._define(number, self.definition(columns, len(rows) if stated < 0 else stated, mapped << 8))
        return number

    def _define(self, number: int, whole: bytes) -> None:
        room = self.size - 8
        while whole:
            piece, whole = whole[:room], whole[room:]
            following = self.reserve() if whole else 0
            self.pages[number] = (struct.pack("<BBHI", 2, 1, 0, following) + piece).ljust(self.size, b"\0")
            number = following

    def reserve(self) -> int:
        """The number of a new page."""
        self.pages.append(bytes(self.size))
        return len(self.pages) - 1

    def whole(self, *, key: int = 0, code_page: int = 1252, ace: bool = False) -> bytes:
        """The file, every page but the first under the key."""
        head = bytearray(self.size)
        head[:0x14] = b"\0\1\0\0Standard " + (b"ACE" if ace else b"Jet") + b" DB\0"
        head[0x14] = not self.old
        head[0x3C:0x42] = bytes(a ^ b for a, b in zip(struct.pack("<HI", code_page, key), _STREAM, strict=True))
        rest = self.pages[1:]
        if key:
            rest = [rc4(2 * struct.pack("<I", key ^ n)).update(page) for n, page in enumerate(rest, 1)]
        return bytes(head) + b"".join(rest)


class Given(NamedTuple):
    """A table to be made."""

    name: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    stated: int = -1
    flags: int = 0
    properties: bytes | None = None


def maker(*tables: Given, old: bool = False, spare: Sequence[bytes] = (), others: Sequence[Row] = ()) -> Maker:
    """The pages of these tables and of their catalog; `others` are more of its rows, `spare` pages from SPARE on."""
    made = Maker(old)
    for _ in range(SPARE):
        made.reserve()
    made.pages += spare
    rows = list(others)
    for one in tables:
        page = made.put(one.columns, [made.row(one.columns, row) for row in one.rows], stated=one.stated)
        rows.append(entry(made, page, 1, one.name, flags=one.flags, properties=one.properties))
    made.put(CATALOG, [made.row(CATALOG, row) for row in rows], at=2)
    return made


def entry(
    made: Maker,
    page: int,
    kind: int,
    name: str,
    *,
    flags: int = 0,
    link: tuple[str, str] | None = None,
    properties: bytes | None = None,
) -> Row:
    """A row of the catalog."""
    linked = (made.text(link[0]), inline(made.text(link[1]))) if link else (None, None)
    numbers = (struct.pack("<i", page), struct.pack("<h", kind), struct.pack("<i", flags))
    return (*numbers, made.text(name), *linked, properties)


def ole_object(name: str, data: bytes) -> bytes:
    """A packaged file as a column for objects has it: what Access puts before it, then the object of OLE 1.0."""
    class_name, native = b"Package\0", ole_package.native(name, data)[4:]
    head = struct.pack("<III", 0x501, 2, len(class_name)) + class_name + bytes(8)
    return b"\x15\x1c\x20\0" + bytes(28) + head + struct.pack("<I", len(native)) + native


def attachment(data: bytes, *, packed: bool) -> bytes:
    """As a column for attachments has it: a head in the content too, which says how long it is."""
    content = struct.pack("<III", 20, 1, 4) + b"t\0x\0t\0\0\0" + data
    return struct.pack("<II", packed, len(content)) + (zlib.compress(content) if packed else content)
