"""readers.archives.compressed: bzip2, gzip, xz, lzma and Zstandard, alone and around a tar, in several streams, cut, damaged."""

import bz2
import gzip
import io
import lzma
import random
from collections.abc import Callable

import pytest
from archive_files import tarred
from as_found import Found

from readers.archives.compressed import StreamReader, bare_name
from readers.base import MemorySource
from readers.errors import ExceptionCode
from readers.identification.identify import identify
from readers.registry import handler_for
from traces.blocks import zstd

NOISE = random.Random(3).randbytes(60_000)
LARGE = random.Random(4).randbytes(1_300_000)
PROGRAMS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "bz2": (lambda data: bz2.compress(data, 1), "application/x-bzip2"),
    "gz": (gzip.compress, "application/gzip"),
    "xz": (lzma.compress, "application/x-xz"),
    "lzma": (lambda data: lzma.compress(data, lzma.FORMAT_ALONE), "application/x-lzma"),
    "zst": (lambda data: zstd.compress(data, 3), "application/zstd"),
}
EACH = pytest.mark.parametrize("ending", PROGRAMS)


def found(data: bytes, name: bytes) -> tuple[list[tuple[bytes, bytes]], ExceptionCode | None]:
    """Names and bytes of the children, and how it ended."""
    came = Found(handler_for(identify(MemorySource(name, data))), data, name)
    return [(child.name, body) for child, body in zip(came.children, came.bodies, strict=True)], came.code


@EACH
def test_one_file(ending: str) -> None:
    pack, media_type = PROGRAMS[ending]
    for body in (b"hello", LARGE):
        data = pack(body)
        assert identify(MemorySource(b"", data)) == media_type
        assert found(data, b"report.csv." + ending.encode()) == ([(b"report.csv", body)], None)


@EACH
def test_a_tar_is_opened_with_it(ending: str) -> None:
    members = {"a.txt": b"hello", "folder/noise": NOISE}
    data = PROGRAMS[ending][0](tarred(members))
    assert found(data, b"x.tar." + ending.encode()) == ([(n.encode(), b) for n, b in members.items()], None)


@EACH
def test_a_cut_file_keeps_what_came_out(ending: str) -> None:
    """What could be decompressed is handed out, then `truncated`."""
    data = PROGRAMS[ending][0](LARGE)
    ((_, body),), code = found(data[: len(data) // 2], b"x")
    assert code is ExceptionCode.TRUNCATED
    assert len(body) > 20_000
    assert (LARGE).startswith(body)


@pytest.mark.parametrize("ending", ["bz2", "gz", "xz", "zst"])
def test_several_streams_and_junk(ending: str) -> None:
    pack = PROGRAMS[ending][0]
    joined = pack(b"one") + pack(NOISE) + pack(b"three")
    assert found(joined, b"x")[0][0][1] == b"one" + NOISE + b"three"
    assert ending != "gz" or found(pack(b"one") + bytes(700) + pack(NOISE), b"x")[0][0][1] == b"one" + NOISE
    assert found(pack(b"one") + bytes(8), b"x") == ([(b"x", b"one")], None)
    children, error = found(pack(b"one") + bytes(8) + b"junk behind", b"x")
    assert (children, error) == ([(b"x", b"one"), (b"bytes after the end", b"junk behind")], ExceptionCode.CORRUPT)


def test_frames_of_other_data_between_zstandard_frames() -> None:
    """RFC 8878, 3.1.2: they are skipped, wherever they are, and are nothing that follows the end."""
    pack = PROGRAMS["zst"][0]
    other = b"\x5a\x2a\x4d\x18" + (6).to_bytes(4, "little") + b"seeks."
    assert found(pack(b"one") + other + pack(b"two") + other, b"x") == ([(b"x", b"onetwo")], None)


@pytest.mark.parametrize(("ending", "place"), [("bz2", 650_000), ("gz", -6), ("xz", 650_000)])
def test_damage_is_corrupt(ending: str, place: int) -> None:
    """That of a gzip file in its CRC."""
    data = bytearray(PROGRAMS[ending][0](LARGE))
    data[place] ^= 0x55
    assert found(bytes(data), b"x")[1] is ExceptionCode.CORRUPT


def test_a_window_no_slot_can_hold() -> None:
    """Unsupported, without an attempt: the frame says how much it takes (RFC 8878, 3.1.1.1.2)."""
    frame = b"\x28\xb5\x2f\xfd" + b"\x00" + bytes([(31 - 10) << 3]) + b"\x01\x00\x00"
    assert found(frame, b"x")[1] is ExceptionCode.UNSUPPORTED


class Counted(io.BytesIO):
    """Counts what is read of it."""

    count = 0

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        self.count += len(data)
        return data


def test_many_tiny_streams_cost_little_more_than_their_bytes() -> None:
    file = Counted(bz2.compress(b"") * 3_000 + bz2.compress(b"end"))
    assert StreamReader(file, bz2.BZ2Decompressor, b"BZh", "bzip2").piece() == b"end"
    assert file.count < 3_001 * 5_000


def test_names() -> None:
    """The ending goes, whatever its case; a name that is nothing but an ending stays."""
    assert bare_name(b"Mail.TBZ2", (b".bz2", b".tbz2")) == b"Mail"
    assert bare_name(b".xz", (b".xz",)) == b".xz"
    assert bare_name(b"", (b".xz",)) == b"content"
