"""Handlers under mutation: whatever the bytes, only DocumentError comes out, in time and in bounds."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import tarfile
import zipfile
from email.message import EmailMessage
from functools import partial

import py7zr
import pytest
from effort import takes_at_most

from core.records import Limits
from core.zstandard import zstd
from readers.base import Handler, MemorySource
from readers.errors import DocumentError
from readers.identification.identify import identify
from readers.registry import handler_for

LIMITS = Limits(expansion_floor=1_000_000, parse_bytes=2_000_000)
OWN = (
    *("message/rfc822", "application/mbox", "application/zip", "application/x-tar", "application/gzip"),
    *("application/x-bzip2", "application/x-xz", "application/zstd", "application/x-7z-compressed"),
)


def message(files: int = 2) -> bytes:
    out = EmailMessage()
    out["From"], out["Subject"] = "Jürgen <a@example.org>", "Größe " * 20
    out["Date"], out["Message-ID"] = "Tue, 02 Jan 2024 10:00:00 +0200", "<one@example.org>"
    out.set_content("Text with ünïcode\n" * 3)
    out.add_alternative("<p>HTML</p>", subtype="html")
    for i in range(files):
        out.add_attachment(bytes(range(200)) * 2, maintype="application", subtype="x", filename=f"näme {i}.bin")
    inner = EmailMessage()
    inner["Subject"] = "inner"
    inner.set_content("x")
    out.add_attachment(inner)
    return out.as_bytes()


def sevenz() -> bytes:
    """Two folders, with a plain header."""
    out = io.BytesIO()
    for filters in ([{"id": py7zr.FILTER_LZMA2, "preset": 0}], [{"id": py7zr.FILTER_COPY}]):
        mode = "a" if out.tell() else "w"
        with py7zr.SevenZipFile(out, mode, filters=filters) as archive:
            archive.set_encoded_header_mode(False)
            for name in ("a", "b"):
                archive.writef(io.BytesIO(name.encode() * 400), mode + name)
    return out.getvalue()


def samples() -> dict[str, bytes]:
    mbox = b"".join(b"From a@b Mon Jan  1 00:00:00 2024\n" + message(1) + b"\n" for _ in range(3))
    tar, zipped = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in ("a.txt", "ü" * 120, "b"):
            info = tarfile.TarInfo(name)
            info.size = 700
            archive.addfile(info, io.BytesIO(bytes(700)))
    with zipfile.ZipFile(zipped, "w") as file:
        for i, method in enumerate((0, 8, 12, 14)):
            file.writestr(f"member{i}", b"some data " * 30, compress_type=method)
    return {
        "message/rfc822": message(),
        "application/mbox": mbox,
        "application/zip": zipped.getvalue(),
        "application/x-tar": tar.getvalue()[:6144],
        "application/gzip": gzip.compress(tar.getvalue()) + gzip.compress(b"more"),
        "application/x-bzip2": bz2.compress(tar.getvalue(), 1) + bz2.compress(b"more"),
        "application/x-xz": lzma.compress(tar.getvalue(), preset=0),
        "application/zstd": zstd.compress(tar.getvalue()) + zstd.compress(b"more"),
        "application/x-7z-compressed": sevenz(),
    }


SAMPLES = samples()
SECONDS = 3.0  # of processor time, for files of a few KB


def mutate(random_: random.Random, data: bytes) -> bytes:
    """A few flips, a cut, a splice from elsewhere, or all of them."""
    out = bytearray(data)
    for _ in range(random_.choice((0, 1, 1, 3, 20))):
        at = random_.randrange(len(out))
        out[at] = random_.choice((0, 0xFF, 0x7F, out[at] ^ 1 << random_.randrange(8), random_.randrange(256)))
    if random_.random() < 0.3:
        del out[random_.randrange(len(out)) :]
    if random_.random() < 0.3:
        other = random_.choice(list(SAMPLES.values()))
        start = random_.randrange(len(other))
        at = random_.randrange(len(out) + 1)
        out[at:at] = other[start : start + random_.randrange(400)]
    if random_.random() < 0.2 and out:
        start = random_.randrange(len(out))
        del out[start : start + random_.randrange(1, 64)]
    return bytes(out)


def exercise(handler: Handler, source: MemorySource) -> int:
    """Everything the pipeline asks of a handler; how many bytes came out."""
    total = lines = 0
    handler.announced(source)
    parts = handler.parts(source, 1000)
    for part in [None, *parts[:5]]:
        try:
            for child in handler.children(source, LIMITS, part):
                assert (child.data is None) != (child.stream is None)
                assert isinstance(child.name, bytes)
                total += len(child.data or b"")
                while child.stream is not None and (piece := child.stream.read(1 << 16)):
                    total += len(piece)
        except DocumentError as error:
            lines = max(lines, error.detail.count("\n"))
    try:
        text = handler.text(source, LIMITS)
        str(text.metadata).encode()
    except DocumentError:
        pass
    handler.message_hashes(source, LIMITS)
    assert lines == 0, "a detail must be one line"
    return total


def _bounded(handler: Handler, source: MemorySource) -> None:
    assert exercise(handler, source) < 40_000_000
    identify(source)


@pytest.mark.parametrize("media_type", OWN)
def test_mutated_samples_raise_document_errors_only(media_type: str) -> None:
    """A hundred damaged files of each kind, of which `make test-mutants` reads thousands: nothing unforeseen, no hang."""
    random_ = random.Random(media_type)
    handler = handler_for(media_type)
    for _ in range(100):
        source = MemorySource(b"damaged", mutate(random_, SAMPLES[media_type]))
        takes_at_most(SECONDS, partial(_bounded, handler, source))


@pytest.mark.parametrize("media_type", OWN)
@pytest.mark.parametrize("other", OWN)
def test_each_handler_survives_the_other_formats(media_type: str, other: str) -> None:
    exercise(handler_for(media_type), MemorySource(b"wrong", SAMPLES[other]))


@pytest.mark.parametrize("media_type", OWN)
def test_every_cut_of_a_sample(media_type: str) -> None:
    data = SAMPLES[media_type]
    for cut in range(0, len(data), max(1, len(data) // 150)):
        exercise(handler_for(media_type), MemorySource(b"cut", data[:cut]))
