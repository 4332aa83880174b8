"""Faulty messages: cut, without their boundary, with damaged base64, without headers, one part of several."""

from __future__ import annotations

import struct
from dataclasses import replace

from dataset_gen.faults.documents import ZIP, member, text
from dataset_gen.formats import eml, images
from dataset_gen.formats.archives import SEVENZ, stored_already
from dataset_gen.formats.eml import MEDIA_TYPE
from dataset_gen.formats.pst import store
from dataset_gen.made import Made, Order, Placed, branch, leaf, placed
from dataset_gen.material.text import planted_token
from dataset_gen.packing import SevenZipWriter, ZipWriter
from readers.errors import ExceptionCode
from readers.mail_form import base64_lines
from readers.records import Kind

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
    """Build a zip that is cut in the middle of the fifth member's data: four whole members, no directory.

    None of the members is a zip itself: a reader that searches for a directory from the end would take a stored inner
    one's for the archive's."""
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
    return made.spoiled("truncated_zip", ExceptionCode.TRUNCATED, failed=1)


def flipped_zip(order: Order) -> Made:
    """Build a zip with one flipped bit in a stored member: its CRC does not match, the other members are whole."""
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
    return made.spoiled("flipped_zip", ExceptionCode.CORRUPT, announced=count, failed=1)


def encrypted_zip(order: Order) -> Made:
    """Build a zip with every member under traditional encryption: none of them gets a row."""
    out = ZipWriter()
    count = order.dice.between(2, 5)
    own = []
    for number in range(count):
        made = text(order, 900)
        own.append(made.data)
        out.add(f"secret {number + 1}.txt".encode(), made.data, encryption=(PASSWORD.encode(), order.dice))
    made = branch(out.finish(), ZIP, own=own, container=True)
    return made.spoiled("encrypted_zip", ExceptionCode.ENCRYPTED, announced=count, failed=count)


def encrypted_7z(order: Order) -> Made:
    """Build a 7z under AES-256 with the password `PASSWORD`; every other one hides the names too, and then announces
    nothing."""
    dice = order.dice
    hidden = dice.chance(0.5)
    count = dice.between(2, 5)
    out = SevenZipWriter(mtime=_MTIME, password=PASSWORD, iv=dice.noise(16), hide_names=hidden)
    pieces = [text(order, 900).data for _ in range(count)]
    out.add([f"secret {number + 1}.txt" for number in range(count)], pieces)
    made = branch(out.finish(), SEVENZ, own=pieces, container=True)
    known = {"failed": 1} if hidden else {"announced": count, "failed": count}
    return made.spoiled("encrypted_7z", ExceptionCode.ENCRYPTED, **known)


def split_zip(order: Order) -> Made:
    """Build the last of three volumes of a split archive, cut between two members; the others are missing (APPNOTE
    8)."""
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
    return made.spoiled("split_zip", ExceptionCode.UNSUPPORTED, failed=1)


def split_7z(order: Order) -> Made:
    """Build the first volume of a split 7z archive: its header is in a volume that is missing."""
    out = SevenZipWriter(mtime=_MTIME)
    out.add([f"minutes {number + 1}.txt" for number in range(4)], [text(order, 3000).data for _ in range(4)])
    data = out.finish()
    data = data[: len(data) * 2 // 3]
    made = branch(data, SEVENZ, own=(data,), container=True)
    return made.spoiled("split_7z", ExceptionCode.UNSUPPORTED, failed=1)


def hostile_names(order: Order) -> Made:
    """Build members whose names may not be used as paths, and some that only look so."""
    out = ZipWriter()
    children = []
    for ordinal, name in enumerate(HOSTILE_NAMES):
        made = text(order, 200)
        out.add(name, made.data, utf8=False)
        children.append(member(name, ordinal, made))
    return branch(out.finish(), ZIP, children=tuple(children), container=True, announced=len(children)).spoiled(
        "hostile_names"
    )


_LINE, _WIDTH = 57, 77  # bytes in a line of base64, and characters with its newline
_FOREIGN = b"!?*%&"  # no characters of base64


def _letter(order: Order, attached: tuple[tuple[str, Made], ...]) -> eml.Letter:
    """Return a plain message with these attachments and no terms."""
    letter = eml.single(replace(order, size=1500, terms=()))
    return replace(letter, attachments=attached, html=False, encoding="7bit", terms=())


def _encoded(data: bytes) -> int:
    """Return the offset of the base64 of the last part."""
    return data.index(b"\n\n", data.rindex(b"Content-Transfer-Encoding: base64")) + 2


def open_multipart(order: Order) -> Made:
    """Build a message that ends without its closing boundary: whether more was to come is unknown."""
    attached = (("notes.txt", text(order, 900)), ("figures.txt", text(order, 700)))
    data = eml.write(_letter(order, attached)).data
    cut = data.rindex(b"\n--=_m")
    made = branch(data[:cut], MEDIA_TYPE, own=(data[:cut],), children=placed(Kind.ATTACHMENT, attached))
    return made.spoiled("open_multipart", ExceptionCode.TRUNCATED, failed=1)


def truncated_eml(order: Order) -> Made:
    """Build a message that is cut in the second attachment's base64, between two lines: the existing part of it
    stays."""
    attached = (("notes.txt", text(order, 900)), ("scan.jpg", images.build_jpeg(replace(order, size=9000))))
    whole = eml.write(_letter(order, attached)).data
    kept = len(attached[1][1].data) // _LINE // 2
    half = attached[1][1].data[: kept * _LINE]
    cut = leaf(half, "image/jpeg").spoiled("truncated_eml", ExceptionCode.TRUNCATED)
    data = whole[: _encoded(whole) + kept * _WIDTH]
    children = placed(Kind.ATTACHMENT, (attached[0], ("scan.jpg", cut)))
    made = branch(data, MEDIA_TYPE, own=(data,), children=children)
    return made.spoiled("truncated_eml", ExceptionCode.TRUNCATED, failed=1)


def broken_base64(order: Order) -> Made:
    """Build an attachment with foreign characters in its base64: readers skip them, and report them on the
    attachment."""
    good = text(order, 2500)
    data = eml.write(_letter(order, (("minutes.txt", good),))).data
    start = _encoded(data)
    place = start + _WIDTH * order.dice.between(3, 12)
    data = data[:place] + _FOREIGN + data[place:]
    spoiled = good.spoiled("broken_base64", ExceptionCode.CORRUPT)
    children = placed(Kind.ATTACHMENT, [("minutes.txt", spoiled)])
    return branch(data, MEDIA_TYPE, own=(data,), children=children).spoiled("broken_base64")


def late_damage(order: Order) -> Made:
    """Build base64 with padding in the middle, then foreign characters: the attachment is cut there."""
    good = text(order, 2500)
    data = eml.write(_letter(order, (("minutes.txt", good),))).data
    start = _encoded(data)
    at = start + _WIDTH * order.dice.between(3, 12)
    data = data[: at - 2] + b"=\n" + _FOREIGN + data[at:]
    kept = good.data[: (at - start) // _WIDTH * _LINE - 1]
    cut = leaf(kept, "text/plain").spoiled("late_damage", ExceptionCode.CORRUPT)
    children = placed(Kind.ATTACHMENT, [("minutes.txt", cut)])
    return branch(data, MEDIA_TYPE, own=(data,), children=children).spoiled("late_damage")


def partial_message(order: Order) -> Made:
    """Build the second of three parts of a message (RFC 2046, 5.2.2); the others are missing."""
    letter = _letter(order, ())
    inside = base64_lines(order.dice.noise(2280))  # the middle of an attachment
    head = (
        f"From: {letter.sender.address}\nTo: {letter.to[0].address}\nSubject: {letter.key[:20]} (2/3)\n"
        f"Date: {eml.mail_date(letter.when)}\nMessage-ID: <{letter.message_id}>\nMIME-Version: 1.0\n"
        f'Content-Type: message/partial; id="{letter.message_id}"; number=2; total=3\n\n'
    )
    data = head.encode() + inside
    children = placed(Kind.ATTACHMENT, [("part-0", leaf(inside, "text/plain"))])
    made = branch(data, MEDIA_TYPE, own=(data,), children=children)
    return made.spoiled("partial_message", ExceptionCode.UNSUPPORTED)


def headless_eml(order: Order) -> Made:
    """Build a message without its header: a plain text, whatever its extension."""
    term = planted_token(order.dice)
    return text(order, 1800, (term,)).spoiled("headless_eml")


def password_pst(order: Order) -> Made:
    """Build a store that Outlook opens only with a password. Other programs need none: everything can be found, without
    exception."""
    return store.build(replace(order, size=30_000), "edbench").spoiled("password_pst")


def padded_base64(order: Order) -> Made:
    """Build base64 in which every character is padded separately: sound, but slow in readers that copy the rest for
    each."""
    count = order.dice.between(25_000, 30_000)
    plain = leaf(b"A" * count, "text/plain")
    letter = _letter(order, (("a.txt", leaf(b"", "text/plain")),))
    data = eml.write(letter).data
    start = data.rindex(b"\n\n--=_m")
    data = data[:start] + b"\n" + b"QQ==\n" * count + data[start:]
    children = placed(Kind.ATTACHMENT, [("a.txt", plain)])
    return branch(data, MEDIA_TYPE, own=(data,), children=children).spoiled("padded_base64")
