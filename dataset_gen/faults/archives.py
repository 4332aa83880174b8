"""Faulty archives: cut, damaged, encrypted, without their other volumes, with hostile names."""

from __future__ import annotations

import struct

from dataset_gen.faults.common import ZIP, container_fault, member, text
from dataset_gen.formats.archives.sevenz import MEDIA_TYPE as SEVENZ
from dataset_gen.formats.archives.zip_tar import stored_already
from dataset_gen.formats.order import Order
from dataset_gen.made import Made, Placed, branch
from dataset_gen.packing.sevenz import SevenZipWriter
from dataset_gen.packing.zip import ZipWriter
from readers.errors import ExceptionCode

PASSWORD = "edbench"
_MTIME = 1_500_000_000
HOSTILE_NAMES = (
    b"../../etc/cron.d/evil.txt",
    b"/absolute/path.txt",
    b"..\\..\\windows\\system32\\evil.txt",
    b"C:\\Users\\Public\\drive.txt",
    b"nul\0inside.txt",
    b"n" * 296 + b".txt",
    b"caf\xe9 \xff\xfe.txt",
    b"folder\\back slash.txt",
    b"-rf *.txt",
    b"ordinary.txt",
)


def truncated_zip(order: Order) -> Made:
    """Cut in the middle of the fifth member's data: four whole members, no directory.

    None of the members is a zip itself: a reader that looks for a directory from the end would take a stored
    inner one's for the archive's.
    """
    out = ZipWriter()
    children = []
    cut = 0
    for number in range(6):
        fmt = ("txt", "html", "csv")[number % 3]
        made = order.child(fmt, number, 12_000)
        name = f"part {number + 1}.{fmt}".encode()
        start = out.size
        packed = out.add(name, made.data, store=stored_already(made.data))
        if number < 4:
            children.append(member(name, number, made))
        elif number == 4:
            cut = start + 30 + len(name) + packed // 2
    made = branch(out.finish()[:cut], ZIP, children=tuple(children), container=True)
    return container_fault(made, "truncated_zip", ExceptionCode.TRUNCATED, announced=None, failed=1)


def flipped_zip(order: Order) -> Made:
    """One bit of one stored member is another: its CRC does not match, the other members are whole."""
    out = ZipWriter()
    children: list[Placed] = []
    count = order.dice.between(3, 6)
    spoiled = order.dice.below(count)
    flipped = 0
    for number in range(count):
        made = text(order, 1500)
        name = b"scan %d.txt" % (number + 1)
        start = out.size + 30 + len(name)
        out.add(name, made.data, store=True)
        if number == spoiled:
            flipped = start + order.dice.below(len(made.data))
        else:
            children.append(member(name, number, made))
    data = bytearray(out.finish())
    data[flipped] ^= 1 << order.dice.below(8)
    made = branch(bytes(data), ZIP, own=(b"%d" % flipped,), children=tuple(children), container=True)
    return container_fault(made, "flipped_zip", ExceptionCode.CORRUPT, announced=count, failed=1)


def encrypted_zip(order: Order) -> Made:
    """Every member under traditional encryption: none of them gets a row."""
    out = ZipWriter()
    count = order.dice.between(2, 5)
    own = []
    for number in range(count):
        made = text(order, 900)
        own.append(made.data)
        out.add(f"secret {number + 1}.txt".encode(), made.data, encryption=(PASSWORD.encode(), order.dice))
    made = branch(out.finish(), ZIP, own=own, container=True)
    return container_fault(made, "encrypted_zip", ExceptionCode.ENCRYPTED, announced=count, failed=count)


def encrypted_7z(order: Order) -> Made:
    """AES-256, its password `PASSWORD`; every other one hides the names too, and then nothing is announced."""
    dice = order.dice
    hidden = dice.chance(0.5)
    count = dice.between(2, 5)
    out = SevenZipWriter(mtime=_MTIME, password=PASSWORD, iv=dice.noise(16), hide_names=hidden)
    pieces = [text(order, 900).data for _ in range(count)]
    out.add([f"secret {number + 1}.txt" for number in range(count)], pieces)
    made = branch(out.finish(), SEVENZ, own=pieces, container=True)
    if hidden:
        return container_fault(made, "encrypted_7z", ExceptionCode.ENCRYPTED, announced=None, failed=1)
    return container_fault(made, "encrypted_7z", ExceptionCode.ENCRYPTED, announced=count, failed=count)


def split_zip(order: Order) -> Made:
    """The last of three volumes of a split archive, cut between two members; the others are missing (APPNOTE 8)."""
    out = ZipWriter()
    start = pieces = 0
    for number in range(4):
        if number == 2:
            start, pieces = out.size, len(out.pieces)
        out.add(b"minutes %d.txt" % (number + 1), text(order, 2000).data)
    whole = bytearray(b"".join((*out.pieces[pieces:], *out.central)))
    length = sum(map(len, out.central))
    at = out.size - start  # of the directory in this volume
    for number in range(4):
        place = at + sum(map(len, out.central[:number]))
        disk, offset = (number, 0) if number < 2 else (2, struct.unpack_from("<L", whole, place + 42)[0] - start)
        struct.pack_into("<H", whole, place + 34, disk)
        struct.pack_into("<L", whole, place + 42, offset)
    whole += struct.pack("<LHHHHLLH", 0x06054B50, 2, 2, 4, 4, length, at, 0)
    data = bytes(whole)
    made = branch(data, ZIP, own=(data,), container=True)
    return container_fault(made, "split_zip", ExceptionCode.UNSUPPORTED, announced=None, failed=1)


def split_7z(order: Order) -> Made:
    """The first volume of a split 7z archive: its header lies in one that is missing."""
    out = SevenZipWriter(mtime=_MTIME)
    out.add([f"minutes {number + 1}.txt" for number in range(4)], [text(order, 3000).data for _ in range(4)])
    data = out.finish()
    data = data[: len(data) * 2 // 3]
    made = branch(data, SEVENZ, own=(data,), container=True)
    return container_fault(made, "split_7z", ExceptionCode.UNSUPPORTED, announced=None, failed=1)


def hostile_names(order: Order) -> Made:
    """Members whose names may not be used as paths, and some that only look so."""
    out = ZipWriter()
    children = []
    for ordinal, name in enumerate(HOSTILE_NAMES):
        made = text(order, 200)
        out.add(name, made.data, utf8=False)
        children.append(member(name, ordinal, made))
    return branch(out.finish(), ZIP, children=tuple(children), container=True, announced=len(children)).spoiled(
        "hostile_names"
    )
