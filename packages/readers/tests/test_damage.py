"""Handlers under damage: whatever the bytes, only DocumentError comes out, in time and in bounds, and what comes out can be stored.
`make test-mutants` reads thousands of damaged files through the whole unpacking path."""

import bz2
import contextlib
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from functools import cache

import py7zr
import pytest
from effort import takes_at_most
from fuzz_targets import FORMATS, PARSERS, load
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from outlook_forms import SAMPLE

from core.records import Limits
from dataset_gen.formats import msg, tnef
from dataset_gen.formats.mapi_mail import message_of
from dataset_gen.profile import load_profile
from dataset_gen.workshop import Workshop, extension
from readers.base import Handler, MemorySource
from readers.errors import DocumentError
from readers.identification.identify import identify
from readers.records import TextState
from readers.registry import handler_for
from traces.blocks import zstd

LIMITS = Limits(expansion_floor=1_000_000, parse_bytes=2_000_000, text_characters=1_000_000)
SECONDS = 5.0  # of CPU time, for files of a few KB; undamaged ones take milliseconds
MOST_BYTES = 40_000_000  # that come out of one
GENERATED = (
    *("docx", "xlsx", "pptx", "odt", "ods", "doc", "xls", "ppt", "pdf", "html", "txt", "xml", "csv"),
    *("vcf", "ics", "png", "jpg", "gif", "tif", "bmp", "webp"),
)
RTF = (
    rb"{\rtf1\ansi\ansicpg1252\uc1{\fonttbl{\f0 A;}{\f1\fcharset128 B;}}{\info{\title T}{\creatim\yr2020}}"
    rb"\f1\'93\'fa{\*\shppict{\pict\pngblip 8950}}\u8364?{\object{\*\objdata 0105000002000000080000005061636b61676500"
    rb"000000000000000010000000020061000000030000000000010000ff}{\result x}}\par text}"
)
MHTML = (
    b"From: <Saved by Blink>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=B\r\n\r\n--B\r\n"
    b"Content-Type: text/html\r\n\r\n<p>text</p>\r\n--B\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n"
    b"Content-Location: http://a/b.png\r\n\r\nAAEC\r\n--B--\r\n"
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


def tarred() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in ("a.txt", "ü" * 120, "b"):
            info = tarfile.TarInfo(name)
            info.size = 700
            archive.addfile(info, io.BytesIO(bytes(700)))
    return out.getvalue()


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for i, method in enumerate((0, 8, 12, 14)):
            file.writestr(f"member{i}", b"some data " * 30, compress_type=method)
    return out.getvalue()


MADE: dict[str, Callable[[], bytes]] = {
    "message/rfc822": message,
    "application/mbox": lambda: b"".join(b"From a@b Mon Jan  1 00:00:00 2024\n" + message(1) + b"\n" for _ in range(3)),
    "application/zip": zipped,
    "application/x-tar": lambda: tarred()[:6144],
    "application/gzip": lambda: gzip.compress(tarred()) + gzip.compress(b"more"),
    "application/x-bzip2": lambda: bz2.compress(tarred(), 1) + bz2.compress(b"more"),
    "application/x-xz": lambda: lzma.compress(tarred(), preset=0),
    "application/zstd": lambda: zstd.compress(tarred()) + zstd.compress(b"more"),
    "application/x-7z-compressed": sevenz,
    "application/rtf": lambda: RTF,
    "multipart/related": lambda: MHTML,
    "application/vnd.ms-outlook": lambda: msg.write_item(message_of(SAMPLE)),
    "application/vnd.ms-tnef": lambda: tnef.write(message_of(SAMPLE)),
}
WRITTEN = {
    f"{name} {number}": (media_type, data)
    for name, (media_type, _, *written) in FORMATS.items()
    for number, data in enumerate(written)
}


@cache
def samples() -> Mapping[str, tuple[Handler, bytes]]:
    """An undamaged sample of each format with its handler. Not made while tests are collected: each process of a run does that."""
    shop = Workshop(load_profile("reference"), 1, 0.01)
    out = {media_type: (handler_for(media_type), make()) for media_type, make in MADE.items()}
    out |= {name: (handler_for(media_type), data) for name, (media_type, data) in WRITTEN.items()}
    for name in GENERATED:
        data = shop.document(name, "damage", 1_500).data
        out[name] = (handler_for(identify(MemorySource(f"x.{extension(name)}".encode(), data))), data)
    return out


SAMPLES = pytest.mark.parametrize("name", [*MADE, *WRITTEN, *GENERATED])


def exercise(handler: Handler, data: bytes) -> None:
    """Everything that the pipeline asks of a handler."""
    source, total, shown = MemorySource(b"damaged", data), 0, list[str]()
    identify(source)
    handler.announced(source)
    for part in [None, *handler.parts(source, 1_000)[:5]]:
        try:
            for child in handler.children(source, LIMITS, part):
                assert child.error is not None or (child.data is None) != (child.stream is None)
                assert isinstance(child.name, bytes)
                total += len(child.data or b"")
                while child.stream is not None and (piece := child.stream.read(1 << 16)):
                    total += len(piece)
        except DocumentError as error:
            shown.append(error.detail)
    try:
        out = handler.text(source, LIMITS)
        out.text.encode("utf-8")
        assert len(out.text) <= LIMITS.text_characters
        assert "\0" not in repr(sorted(out.metadata.items()))
        repr(out.metadata).encode("utf-8")
    except DocumentError as error:
        shown.append(error.detail)
    handler.message_hashes(source, LIMITS)
    assert total < MOST_BYTES
    assert all(detail and "\n" not in detail for detail in shown), "one line says why"


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """The bytes with a few flips, cuts, and pieces moved, doubled, replaced or taken from another format."""
    out = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(out) - 1)))
        kind = draw(st.sampled_from(["flip", "cut", "drop", "double", "junk", "splice"]))
        length = draw(st.integers(1, 64))
        if kind == "flip" and out:
            out[at] ^= draw(st.integers(1, 255))
        elif kind == "cut":
            del out[at:]
        elif kind == "drop":
            del out[at : at + length]
        elif kind == "double":
            out[at:at] = out[at : at + length]
        elif kind == "splice":
            other = samples()[draw(st.sampled_from(list(samples())))][1]
            out[at:at] = other[length : length + 400]
        else:
            out[at : at + length] = draw(st.binary(min_size=1, max_size=16))
    return bytes(out)


@SAMPLES
def test_damaged_bytes_give_document_errors_only(name: str) -> None:
    """No damage makes a handler raise anything but DocumentError, or take long."""
    handler, sample = samples()[name]

    @given(damaged(sample))
    @settings(suppress_health_check=list(HealthCheck))
    def check(data: bytes) -> None:
        takes_at_most(SECONDS, lambda: exercise(handler, data))

    check()


@SAMPLES
def test_every_truncation(name: str) -> None:
    """A sample cut after any byte (a spread of 150 of them) is read or refused with a code."""
    handler, sample = samples()[name]
    for length in range(0, len(sample), max(1, len(sample) // 150)):
        exercise(handler, sample[:length])


@SAMPLES
def test_each_handler_survives_the_other_formats(name: str) -> None:
    handler, _ = samples()[name]
    for _, other in samples().values():
        exercise(handler, other)


@pytest.mark.parametrize("name", PARSERS)
def test_damaged_parts_give_document_errors_only(name: str) -> None:
    target = load(name)

    @given(damaged(min(target.seeds, key=len)))
    @settings(suppress_health_check=list(HealthCheck))
    def check(data: bytes) -> None:
        with contextlib.suppress(DocumentError):
            takes_at_most(SECONDS, lambda: target.read(data))

    check()


@SAMPLES
def test_text_is_cut_at_the_limit(name: str) -> None:
    handler, sample = samples()[name]
    whole = handler.text(MemorySource(b"x", sample), Limits()).text
    half = max(1, len(whole) // 2)
    found = handler.text(MemorySource(b"x", sample), Limits(text_characters=half))
    assert whole.startswith(found.text)
    assert half - 1 <= len(found.text) <= half or not whole
    assert len(whole) < 2 or found.state is TextState.TRUNCATED_BY_LIMIT
