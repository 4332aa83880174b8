"""Archives: zip, tar, tar.gz, gz and 7z, with what archives usually contain."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from dataset_gen.formats import eml
from dataset_gen.made import Made, Order, Placed, branch, placed
from dataset_gen.material.people import file_stem, folder
from dataset_gen.packing import SevenZipWriter, ZipWriter, crc32, deflated
from readers.records import Kind

EXTENSIONS = {"tgz": "tar.gz", "zip_mail": "zip", "tnef": "dat"}
_SKIP_COMPRESSION = (b"\xff\xd8", b"GIF8", b"\x89PNG", b"PK\x03\x04", b"\x1f\x8b", b"7z\xbc\xaf")


def stored_already(data: bytes) -> bool:
    """Return whether packing the data again would not reduce it enough."""
    return data.startswith(_SKIP_COMPRESSION)


@dataclass(slots=True)
class Members:
    """Source of an archive's members, one after the other, until `target` packed bytes are reached."""

    order: Order
    target: int
    folders: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        dice = self.order.dice
        self.folders = list(dict.fromkeys([""] + [folder(dice) for _ in range(dice.below(4))]))

    def fill(self, put: Callable[[str, Made], int]) -> None:
        """Call `put(path, made)`, which returns packed bytes, until there is enough."""
        dice, maker = self.order.dice, self.order.maker
        left, number = self.target, 0
        while left > 400 and number < 4000:
            own = f"{self.order.key}/{number}"
            fmt, key, size = maker.member(dice, own, self.order.level, max(2000, int(left * 0.7)))
            left -= put(self.path(fmt), maker.document(fmt, key, size, self.order.level + 1)) + 130
            number += 1
        if number == 0:
            put(self.path("txt"), self.order.child("txt", 0, 600))

    def path(self, fmt: str) -> str:
        """Return a new path inside the archive."""
        dice = self.order.dice
        where = dice.pick(self.folders)
        stem, ext = file_stem(dice)[:70], EXTENSIONS.get(fmt, fmt)
        name = f"{where}/{stem}.{ext}" if where else f"{stem}.{ext}"
        while name in self.taken:
            name = f"{name.removesuffix('.' + ext)} ({len(self.taken)}).{ext}"
        self.taken.add(name)
        return name


def build_zip(order: Order) -> Made:
    """Build a zip archive; one in three has directory entries."""
    out = ZipWriter(dos_time=order.dice.below(24) << 11, dos_date=0x4E21 + (order.dice.below(8) << 9))
    children: list[tuple[str, Made]] = []
    members = Members(order, order.size)
    if order.dice.chance(0.33):
        for name in filter(None, members.folders):
            out.add_directory(f"{name}/".encode())
    folders = len(out.central)

    def put(path: str, made: Made) -> int:
        children.append((path, Made(b"", made.truth)))
        return out.add(path.encode(), made.data, store=stored_already(made.data))

    members.fill(put)
    within = placed(Kind.ARCHIVE_MEMBER, children, folders)
    return branch(out.finish(), "application/zip", children=within, container=True, announced=len(children))


def tar_header(name: bytes, size: int, mtime: int, kind: bytes = b"0") -> bytes:
    """Return a ustar header (POSIX.1-1988); `name` has at most 100 bytes."""
    mode = b"0000755\0" if kind == b"5" else b"0000644\0"
    fields = (
        name.ljust(100, b"\0"), mode, b"0001750\0", b"0001750\0", b"%011o\0" % size, b"%011o\0" % mtime, b" " * 8,
        kind, b"\0" * 100, b"ustar\00000", b"user".ljust(32, b"\0"), b"user".ljust(32, b"\0"),
        b"0000000\0", b"0000000\0", b"\0" * 155, b"\0" * 12,
    )  # fmt: skip
    block = b"".join(fields)
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def _tar(order: Order, target: int) -> tuple[bytes, tuple[Placed, ...]]:
    pieces: list[bytes] = []
    children: list[tuple[str, Made]] = []
    members = Members(order, target)
    mtime = 1_420_000_000 + order.dice.below(250_000_000)
    for name in filter(None, members.folders):
        pieces.append(tar_header(f"{name}/".encode(), 0, mtime, b"5"))
    folders = len(pieces)

    def put(path: str, made: Made) -> int:
        if len(path.encode()) > 100:
            path = f"member {folders + len(children)}.{path.rpartition('.')[2]}"
        pieces.append(tar_header(path.encode(), len(made.data), mtime))
        pieces.append(made.data)
        pieces.append(bytes(-len(made.data) % 512))
        children.append((path, Made(b"", made.truth)))
        return len(made.data)

    members.fill(put)
    data = b"".join(pieces) + bytes(1024)
    return data + bytes(-len(data) % 10_240), placed(Kind.ARCHIVE_MEMBER, children, folders)


def build_tar(order: Order) -> Made:
    """Build a tar archive with directory entries."""
    data, children = _tar(order, order.size)
    return branch(data, "application/x-tar", children=children, container=True)


def gzip_member(data: bytes, name: bytes, mtime: int) -> bytes:
    """Return a gzip member (RFC 1952); without FNAME where `name` is empty."""
    flags = 8 if name else 0
    head = struct.pack("<BBBBIBB", 0x1F, 0x8B, 8, flags, mtime, 0, 3)
    tail = struct.pack("<II", crc32(data), len(data) & 0xFFFFFFFF)
    return b"".join((head, name + b"\0" if name else b"", deflated(data), tail))


def build_tgz(order: Order) -> Made:
    """Build a gzipped tar archive: one item whose children are the tar's members."""
    data, children = _tar(order, int(order.size * 1.1))
    packed = gzip_member(data, b"", 1_420_000_000 + order.dice.below(250_000_000))
    return branch(packed, "application/gzip", children=children, container=True)


def build_gz(order: Order) -> Made:
    """Build one gzipped text, table or mail store, with its name in the header."""
    dice = order.dice
    fmt = "csv" if dice.chance(0.4) else "txt"
    made = order.child(fmt, 0, max(500, int(order.size * 2.15)))
    name = f"log_{dice.below(100_000)}.{fmt}"
    data = gzip_member(made.data, name.encode(), 1_420_000_000 + dice.below(250_000_000))
    return branch(data, "application/gzip", children=placed(Kind.ARCHIVE_MEMBER, [(name, made)]), container=True)


_STORES = ("mbox", "pst")  # mail stores that may be next to the messages
_MOST = 4000  # members
_ZIP_IN_MAIL = 0.15
_STORE = 0.06


def build_zip_mail(order: Order) -> Made:
    """Build a zip of loose messages, by folders; one message in seven carries a zip, so that there is zip in mail in
    zip."""
    dice = order.dice
    out = ZipWriter(dos_time=dice.below(24) << 11, dos_date=0x4E21 + (dice.below(8) << 9))
    stores = [fmt for fmt in _STORES if fmt in order.maker.profile.formats]
    year = 2015 + dice.below(9)
    children: list[tuple[str, Made]] = []
    left = order.size
    while not children or (left > 400 and len(children) < _MOST):
        number = len(children)
        if left > 30_000 and stores and dice.chance(_STORE):
            fmt = dice.pick(stores)
            made = order.child(fmt, number, min(int(left * 1.2), order.maker.profile.size_of(dice, fmt, 50_000_000)))
            name = f"Mail stores/{file_stem(dice)[:60]} {number}.{fmt}"
        else:
            made = _message(order, number, left)
            name = f"{dice.pick(('Inbox', 'Sent', 'Projects'))} {year}/{number:05d}.eml"
        left -= out.add(name.encode(), made.data, store=stored_already(made.data)) + 130
        children.append((name, Made(b"", made.truth)))
    members = placed(Kind.ARCHIVE_MEMBER, children)
    return branch(out.finish(), "application/zip", children=members, container=True, announced=len(children))


def _message(order: Order, number: int, left: int) -> Made:
    """Build a message; now and then with a zip attached."""
    dice = order.dice
    part = order.part(number, min(left * 2, order.maker.profile.size_of(dice, "eml", 2_000_000)))
    letter = eml.single(part)
    if left > 20_000 and dice.chance(_ZIP_IN_MAIL):
        inner = order.child("zip", _MOST + number, min(left // 2, 400_000))
        letter = replace(letter, attachments=((f"{file_stem(dice)[:60]}.zip", inner),))
    return eml.write(letter, crlf=True)


SEVENZ = "application/x-7z-compressed"
_7Z_BLOCK = 8_000_000  # bytes of files in a solid block
_7Z_SAMPLE = 32_768  # bytes that show how well a file packs
_7Z_EPOCH = 1_420_000_000


class _Blocks:
    """Collector of files until a block is full; a file's position in the header follows from its block."""

    def __init__(self, out: SevenZipWriter) -> None:
        self._out = out
        self._waiting: dict[bool, list[tuple[str, Made]]] = {False: [], True: []}  # by: stored
        self._bytes = {False: 0, True: 0}
        self.written: list[tuple[str, Made]] = []  # files with bytes, in the order of the header
        self.empty: list[tuple[str, Made]] = []

    def put(self, path: str, made: Made) -> int:
        """Add a file; return its approximate packed bytes."""
        if not made.data:
            self._out.add_empty(path)
            self.empty.append((path, made))
            return 0
        store = stored_already(made.data)
        self._waiting[store].append((path, made))
        self._bytes[store] += len(made.data)
        if self._bytes[store] >= _7Z_BLOCK:
            self._flush(store)
        if store:
            return len(made.data)
        sample = made.data[:_7Z_SAMPLE]
        return len(deflated(sample)) * len(made.data) // len(sample)

    def _flush(self, store: bool) -> None:
        files = self._waiting[store]
        if files:
            self._out.add([path for path, _ in files], [made.data for _, made in files], store=store)
            self.written += [(path, Made(b"", made.truth)) for path, made in files]
        self._waiting[store], self._bytes[store] = [], 0

    def finish(self) -> None:
        """Write the blocks that are not full."""
        self._flush(False)
        self._flush(True)


def build_7z(order: Order) -> Made:
    """Build a 7z archive; one in three has directory entries."""
    dice = order.dice
    out = SevenZipWriter(mtime=_7Z_EPOCH + dice.below(250_000_000))
    members = Members(order, order.size)
    if dice.chance(0.33):
        for name in filter(None, members.folders):
            out.add_empty(f"{name}/")
    folders = len(out.empty)
    blocks = _Blocks(out)
    members.fill(blocks.put)
    blocks.finish()
    children = placed(Kind.ARCHIVE_MEMBER, [*blocks.empty, *blocks.written], folders)
    return branch(out.finish(), SEVENZ, children=children, container=True, announced=len(children))
