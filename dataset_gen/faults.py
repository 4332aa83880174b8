"""The eight kinds of fault, each with the exceptions it has to cause."""

from __future__ import annotations

from dataclasses import replace

from core.errors import ExceptionCode
from core.records import Kind
from dataset_gen.compress import deflated_zeros
from dataset_gen.formats import docx, pdf
from dataset_gen.formats.archives import stored_already
from dataset_gen.formats.order import Order
from dataset_gen.made import Made, Placed, branch, leaf
from dataset_gen.text import planted_token, prose
from dataset_gen.zipwriter import ZipWriter

ZIP = "application/zip"
BOMB_BYTES = 200_000_000
NESTED = 20  # zip archives inside one another
LAST_TEXT = 15  # the deepest text beside them, well above the limit
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


def _text(order: Order, characters: int, terms: tuple[str, ...] = ()) -> Made:
    lines = [f"{term}." for term in terms] + prose().lines(order.dice, characters)
    return leaf(("\n".join(lines) + "\n").encode(), "text/plain", terms=terms)


def _member(name: bytes, ordinal: int, made: Made) -> Placed:
    return Placed(name=name, ordinal=ordinal, kind=Kind.ARCHIVE_MEMBER, truth=made.truth)


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
            children.append(_member(name, number, made))
        elif number == 4:
            cut = start + 30 + len(name) + packed // 2
    made = branch(out.finish()[:cut], ZIP, children=tuple(children), container=True)
    return _container_fault(made, "truncated_zip", ExceptionCode.TRUNCATED, announced=None, failed=1)


def _container_fault(made: Made, fault: str, code: ExceptionCode, *, announced: int | None, failed: int) -> Made:
    truth = replace(made.truth, fault=fault, exceptions=(code.value,), announced=announced, failed=failed)
    return Made(made.data, truth)


def corrupt_docx(order: Order) -> Made:
    """A document whose text part is damaged in the middle; the package's directory is whole."""
    good = docx.build(replace(order, size=5000, terms=()))
    name = b"word/document.xml"
    start = good.data.index(name) + len(name)
    packed = int.from_bytes(good.data[start - len(name) - 12 : start - len(name) - 8], "little")
    middle = start + packed // 2
    data = good.data[:middle] + b"\xff" * 64 + good.data[middle + 64 :]
    return branch(data, docx.MEDIA_TYPE, own=(data,)).spoiled("corrupt_docx", ExceptionCode.CORRUPT.value)


def encrypted_zip(order: Order) -> Made:
    """Every member under traditional encryption: none of them gets a row."""
    out = ZipWriter()
    count = order.dice.between(2, 5)
    own = []
    for number in range(count):
        made = _text(order, 900)
        own.append(made.data)
        out.add(f"secret {number + 1}.txt".encode(), made.data, encryption=(b"edbench", order.dice))
    made = branch(out.finish(), ZIP, own=own, container=True)
    return _container_fault(made, "encrypted_zip", ExceptionCode.ENCRYPTED, announced=count, failed=count)


def zip_bomb(order: Order) -> Made:
    """A harmless member, then one of 200 MB zeros, which the expansion limit has to stop."""
    out = ZipWriter()
    made = _text(order, 800)
    out.add(b"readme.txt", made.data)
    packed, crc = deflated_zeros(BOMB_BYTES)
    out.put(b"zeros.bin", packed, BOMB_BYTES, crc)
    bomb = branch(out.finish(), ZIP, own=(b"zeros",), children=(_member(b"readme.txt", 0, made),), container=True)
    return _container_fault(bomb, "zip_bomb", ExceptionCode.EXPANSION_LIMIT, announced=2, failed=1)


def deep_nesting(order: Order) -> Made:
    """Zip in zip, twenty deep, with a findable text at each depth down to `LAST_TEXT`."""
    inner: Made | None = None
    for depth in range(NESTED - 1, -1, -1):
        out = ZipWriter()
        children = []
        if depth < LAST_TEXT or inner is None:
            text = _text(order, 300, (planted_token(order.dice),))
            name = b"level %d.txt" % (depth + 1)
            out.add(name, text.data)
            children.append(_member(name, 0, text))
        if inner is not None:
            name = b"level %d.zip" % (depth + 1)
            children.append(_member(name, len(children), inner))
            out.add(name, inner.data, store=True)
        inner = branch(out.finish(), ZIP, children=tuple(children), container=True, announced=len(children))
    assert inner is not None
    return inner.spoiled("deep_nesting")


def hostile_names(order: Order) -> Made:
    """Members whose names may not be used as paths, and some that only look so."""
    out = ZipWriter()
    children = []
    for ordinal, name in enumerate(HOSTILE_NAMES):
        made = _text(order, 200)
        out.add(name, made.data, utf8=False)
        children.append(_member(name, ordinal, made))
    return branch(out.finish(), ZIP, children=tuple(children), container=True, announced=len(children)).spoiled(
        "hostile_names"
    )


def zero_bytes(_order: Order) -> Made:
    """Nothing at all; its exception follows from its size."""
    return leaf(b"", "inode/x-empty").spoiled("zero_bytes")


BUILDERS = {
    "truncated_zip": truncated_zip,
    "corrupt_docx": corrupt_docx,
    "encrypted_zip": encrypted_zip,
    "encrypted_pdf": pdf.build_encrypted,
    "zip_bomb": zip_bomb,
    "deep_nesting": deep_nesting,
    "hostile_names": hostile_names,
    "zero_bytes": zero_bytes,
}
# kind → extension of its file name and its bytes, about
FILES = {
    "truncated_zip": ("zip", 10_000),
    "corrupt_docx": ("docx", 5_000),
    "encrypted_zip": ("zip", 2_500),
    "encrypted_pdf": ("pdf", 9_000),
    "zip_bomb": ("zip", 203_000),
    "deep_nesting": ("zip", 10_000),
    "hostile_names": ("zip", 4_500),
    "zero_bytes": ("txt", 0),
}
ATTACHABLE = ("corrupt_docx", "encrypted_zip", "encrypted_pdf", "truncated_zip", "zero_bytes")
