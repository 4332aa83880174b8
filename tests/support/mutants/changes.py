"""The ways in which a mutant differs from its file; all decided by the random numbers given."""

import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Sequence
from random import Random

_INTERESTING = (0, 1, 0x7F, 0x80, 0xFF)
_DIGITS = re.compile(rb"[0-9]{1,11}")
_LOOKED_AT = 4096  # bytes after a chosen place in which a plausible length is looked for
_LARGEST_INSIDE = 4_000_000  # bytes of a member that is unpacked to be changed

Change = Callable[[Random, bytearray, Sequence[bytes]], None]


def _place(random: Random, data: bytearray) -> int:
    """Somewhere; headers and directories, at both ends, oftener than the rest."""
    size = len(data)
    draw = random.random()
    if draw < 0.35:
        return random.randrange(min(size, 1024))
    if draw < 0.5:
        return size - 1 - random.randrange(min(size, 1024))
    return random.randrange(size)


def flip(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    """Some bits or bytes."""
    for _ in range(random.choice((1, 1, 2, 8, 40))):
        at = _place(random, data)
        data[at] = random.choice((*_INTERESTING, data[at] ^ 1 << random.randrange(8), random.randrange(256)))


def truncate(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    """The end is missing."""
    del data[max(1, _place(random, data)) :]


def splice(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    """A piece of another file, put between or over."""
    other = random.choice(others)
    length = random.choice((8, 64, 512, 4096))
    start = random.randrange(max(1, len(other) - length))
    at = _place(random, data)
    piece = other[start : start + length]
    data[at : at + random.choice((0, len(piece)))] = piece


def move(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    """A piece left out, or there twice or many times."""
    at, length = _place(random, data), random.choice((1, 7, 64, 512, 2048))
    piece = bytes(data[at : at + length])
    data[at : at + length] = piece * random.choice((0, 0, 2, 3, 50))


def blank(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    """A sector of one byte."""
    at, length = _place(random, data), random.choice((4, 16, 512, 4096))
    end = min(len(data), at + length)
    data[at:end] = bytes([random.choice(_INTERESTING)]) * (end - at)


def length(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    """An integer that could be a size, an offset or a count of this file, made something else."""
    for _ in range(random.choice((1, 1, 1, 3))):
        width, order = random.choice((1, 2, 2, 4, 4, 4, 8)), random.choice(("little", "little", "big"))
        start, limit = _place(random, data), (1 << 8 * width) - 1
        for at in range(start, min(start + _LOOKED_AT, len(data) - width)):
            value = int.from_bytes(data[at : at + width], order)  # type: ignore[arg-type]
            if 1 < value <= len(data):
                new = random.choice(
                    (0, 1, limit, limit >> 1, limit - 15, value - 1, value + 1, value * 2, len(data), at, 0x10000)
                )
                data[at : at + width] = min(max(new, 0), limit).to_bytes(width, order)  # type: ignore[arg-type]
                break


def digits(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    """A number in text (tar, mail, PDF, RTF), made something else."""
    found = _DIGITS.search(data, _place(random, data))
    if found is not None:
        value = int(found[0])
        new = random.choice((0, 1, value + 1, max(0, value - 1), value * 1000, -1, 2**31 - 1, 2**32, 2**63, 10**40))
        text = b"%d" % new
        if random.random() < 0.5:  # fields of fixed width
            text = text[: len(found[0])].rjust(len(found[0]), b"0")
        data[found.start() : found.end()] = text


def nest(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    """An opening that never closes, many times over."""
    opening = random.choice(
        (b"{", b"<a>", b"[", b"(", b"<div>", b"<<", b"begin 644 a\n", b"BEGIN:VEVENT\n", b"\x30\x80")
    )
    at = _place(random, data)
    data[at:at] = opening * random.choice((50, 1000, 20_000))


def inside(random: Random, data: bytearray, others: Sequence[bytes]) -> None:
    """What is compressed is changed before it is compressed; of other files, one or two of the other changes."""
    raw = bytes(data)
    changed: bytes | None = None
    try:
        if raw.startswith(b"PK\x03\x04"):
            changed = _repacked(random, raw, others)
        elif raw.startswith(b"\x1f\x8b"):
            changed = gzip.compress(mutated(random, gzip.decompress(raw)[:_LARGEST_INSIDE], others), 1)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, NotImplementedError, ValueError):
        changed = None
    data[:] = changed if changed is not None else mutated(random, raw, others, deep=False)


def _repacked(random: Random, raw: bytes, others: Sequence[bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as archive, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        members = [m for m in archive.infolist() if not m.filename.endswith("/") and 0 < m.file_size < _LARGEST_INSIDE]
        chosen = random.choice(members) if members else None
        for member in archive.infolist():
            content = archive.read(member)
            if member is chosen:
                content = mutated(random, content, others, deep=False)
            new.writestr(zipfile.ZipInfo(member.filename), content, zipfile.ZIP_DEFLATED, 1)
    return out.getvalue()


_CHANGES: tuple[tuple[Change, int], ...] = (
    (flip, 5),
    (length, 6),
    (truncate, 2),
    (splice, 3),
    (move, 2),
    (blank, 2),
    (digits, 2),
    (nest, 1),
    (inside, 4),
)


def mutated(random: Random, data: bytes, others: Sequence[bytes], *, deep: bool = True) -> bytes:
    """The file with one to three changes; `deep`: also in what it holds compressed."""
    chosen = _CHANGES if deep else _CHANGES[:-1]
    changes, weights = [change for change, _ in chosen], [weight for _, weight in chosen]
    out = bytearray(data)
    for change in random.choices(changes, weights, k=random.choice((1, 1, 2, 3))):
        if not out:
            break
        change(random, out, others)
    return bytes(out)
