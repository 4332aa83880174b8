"""readers.archives.sevenz.handler: archives that py7zr writes, encrypted, damaged and hostile ones."""

import base64
import io
import random
import struct
import zlib
from functools import cache, partial

import inflate64
import py7zr
import pytest
from archive_files import sevenz_with as with_header
from archive_files import sevenzipped
from as_found import Found
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given, settings
from hypothesis import strategies as st
from unpacking import unpack

from core.records import JobOptions, Limits
from readers.archives.sevenz.handler import SevenZipHandler, unlock
from readers.archives.sevenz.header import AES, START, Coder, Folder, is_header
from readers.base import MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.passwords import Passwords, TryBudget
from readers.records import TextState

SEVENZ = SevenZipHandler()
found_in = partial(Found, SEVENZ)
NOISE = random.Random(7).randbytes(120_000)
FILES = {
    "a.txt": b"hello world\n" * 400,
    "folder/noise.bin": NOISE,
    "empty.txt": b"",
    "größe.csv": b"a;b\n" * 3000,
    "samples.raw": bytes(i * 7 & 0xFF for i in range(30_001)),
}
BCJ = py7zr.FILTER_X86
CHAINS = {
    "copy": [{"id": py7zr.FILTER_COPY}],
    "deflate": [{"id": py7zr.FILTER_DEFLATE}],
    "bzip2": [{"id": py7zr.FILTER_BZIP2}],
    "zstd": [{"id": py7zr.FILTER_ZSTD, "level": 3}],
    "lzma": [{"id": py7zr.FILTER_LZMA, "preset": 1}],
    "lzma2": [{"id": py7zr.FILTER_LZMA2, "preset": 1}],
    "bcj and lzma": [{"id": BCJ}, {"id": py7zr.FILTER_LZMA, "preset": 1}],
    "bcj and lzma2": [{"id": BCJ}, {"id": py7zr.FILTER_LZMA2, "preset": 1}],
    "delta and lzma2": [{"id": py7zr.FILTER_DELTA, "dist": 3}, {"id": py7zr.FILTER_LZMA2, "preset": 1}],
    "ppmd": [{"id": py7zr.FILTER_PPMD, "order": 6, "mem": 24}],
}


def packed(files: dict[str, bytes], chain: str = "deflate", password: str | None = None, hide: bool = False) -> bytes:
    """A solid archive."""
    filters = None if password else CHAINS[chain]
    return sevenzipped(list(files.items()), filters, password=password, header_encryption=hide)


def files_of(chain: str) -> dict[str, bytes]:
    """py7zr's encoder of PPMd makes of noise what 7-Zip cannot read either."""
    return {name: data for name, data in FILES.items() if chain != "ppmd" or data is not NOISE}


@cache
def sample(chain: str) -> bytes:
    return packed(files_of(chain), chain)


@pytest.mark.parametrize("chain", CHAINS)
def test_every_method(chain: str) -> None:
    found, files = found_in(sample(chain)), files_of(chain)
    assert (found.error, found.failed) == (None, [])
    assert SEVENZ.announced(MemorySource(b"x", sample(chain))) == len(files)
    assert list(found.by_name.items()) == list(files.items())
    assert identify(MemorySource(b"x", sample(chain))) == "application/x-7z-compressed"
    assert SEVENZ.text(MemorySource(b"", b""), Limits()).state is TextState.EMPTY


def test_large_members_are_streams_and_may_be_left() -> None:
    """Over 8 MB a member is a stream; one that is not read is skipped, and the next is right."""
    files = {"big": NOISE * 70, "small": b"s"}
    data = packed(files, "copy")
    first = next(iter(SEVENZ.children(MemorySource(b"", data), Limits())))
    assert (first.data, first.size_hint) == (None, len(files["big"]))
    assert found_in(data).by_name == files
    assert [child.name for child in SEVENZ.children(MemorySource(b"", data), Limits())] == [b"big", b"small"]


def test_a_bomb_is_not_decoded_to_reach_the_next_member() -> None:
    """A member that the caller leaves because it is over the limit fails the members after it in its block."""
    limits = Limits(expansion_floor=1_000_000, expansion_ratio=10)
    source = MemorySource(b"", packed({"zeros": bytes(12_000_000), "behind": b"x"}, "lzma2"))
    zeros, behind = SEVENZ.children(source, limits)
    assert zeros.size_hint == 12_000_000
    assert behind.error is not None
    assert (behind.error.code, behind.emit) == (ExceptionCode.EXPANSION_LIMIT, False)


def test_a_hidden_header_without_a_crc_is_opened_by_its_password() -> None:
    source = MemorySource(b"x.7z", packed(FILES, password="secret", hide=True), Passwords({"wrong": 1, "secret": 2}))
    assert [child.name.decode() for child in SEVENZ.children(source, Limits())] == list(FILES)


def test_what_a_wrong_password_gives_is_no_header() -> None:
    """One wrong password in 256 gives something that begins like one, packed or not."""
    random_ = random.Random(5)
    for first in (b"\x01", b"\x17"):
        assert not any(is_header(first + random_.randbytes(104)) for _ in range(2_000))


# As 7-Zip 26.02 packs a program: BCJ2, which has four streams.
PROGRAM = base64.b64decode(
    "N3q8ryccAASuKgTs1gAAAAAAAAB2AAAAAAAAABf1H6HgA8UAHF0AJpaG106o2PEf58mXuO3qu8rnHqToKRjeKRJNoAAA/////v///dtVrQAAAGAO"
    "lT+L7+pCOAAAAGgGgOvjocLnf/QVZj3DKOq0bbKcxRzitU/ICt8km+R8qffo0pWcIaWuuRKd2R9d3Ps84oZwtsGAdvax8ntXQ8YQqpZtWQ1lW6Ew"
    "N4jBKk04CVLa1n0UobqnRpL9P1D/InhWljljtIoVHpMvLzy6nzeROV+ZAT8jf35sR5BhBXVT3wbtscI8r1VXDoLoTfFnyy8z90SZAqIAAQQGAAQJ"
    "JAwMgJoABwsBAAQjAwEBBWwAEAAAIwMBAQVsABAAACEhAQAUAwMBGwQBBQAEAQMCAgYBAAyB3IHgg8aHggAICgEciVocAAAFARkMAAAAAAAAAAAA"
    "AAAAEQ0AcwAuAGUAeABlAAAAFQYBACCApIEAAA=="
)


def test_a_program_as_7zip_packs_it() -> None:
    calls = (b"\x55\x8b\xec\xe8" + struct.pack("<i", 0x400 - i * 16) for i in range(120))
    assert found_in(PROGRAM).by_name == {"s.exe": b"MZ" + b"".join(c + b"\x0f\x84\x10\0\0\0\x5d\xc3" for c in calls)}


def test_damage_in_what_libarchive_decodes_stays_in_its_folder() -> None:
    out = io.BytesIO(sample("ppmd"))
    with py7zr.SevenZipFile(out, "a", filters=CHAINS["ppmd"]) as archive:
        archive.writef(io.BytesIO(FILES["a.txt"]), "last.txt")
    data = bytearray(out.getvalue())
    data[START.size + 2 : START.size + 200] = bytes(198)
    found = found_in(bytes(data))
    assert found.by_name == {"last.txt": FILES["a.txt"]}
    assert {code for _, code, _ in found.failed} <= {ExceptionCode.CORRUPT, ExceptionCode.TRUNCATED}
    assert len(found.children) == SEVENZ.announced(MemorySource(b"x", bytes(data))) == 5


def test_methods_without_a_reader_are_named() -> None:
    """ARM64: `unsupported` by its number, not damaged."""
    streams = b"\x04\x06\x00\x01\x09\x01\x00\x07\x0b\x01\x00\x01\x01\x0a\x0c\x01\x00\x08\x00\x00"
    found = found_in(with_header(b"\x01" + streams + b"\x05\x01\x11\x05\x00a\0\0\0\0\0", b"x"))
    assert [code for _, code, _ in found.failed] == [ExceptionCode.UNSUPPORTED]


def test_a_cut_archive_is_truncated() -> None:
    data = sample("deflate")
    for cut in (5, 40, len(data) // 2, len(data) - 1):
        assert found_in(data[:cut]).code is ExceptionCode.TRUNCATED
    assert found_in(data[:9000], b"x.7z.001").code is ExceptionCode.UNSUPPORTED


def test_damage_costs_the_members_behind_it() -> None:
    files = {str(i): NOISE[i * 10_000 : (i + 1) * 10_000] for i in range(8)}
    data = bytearray(packed(files, "lzma2"))
    data[START.size + 1 : START.size + 5] = b"\xff" * 4
    broken = found_in(bytes(data))
    assert {(child.error.code, child.error.missing) for child in broken.children if child.error} == {
        (ExceptionCode.CORRUPT, 1)
    }
    assert len(broken.children) == SEVENZ.announced(MemorySource(b"x", bytes(data))) == 8
    data = bytearray(packed(files, "copy"))
    data[START.size + 25_000] ^= 1
    flipped = found_in(bytes(data))
    assert [(ordinal, code) for ordinal, code, _ in flipped.failed] == [(2, ExceptionCode.CORRUPT)]
    assert len(flipped.members) == 7


def _one_stream(method: bytes, body: bytes, size: int) -> Found:
    """What is found in an archive of a member `a` with no CRC."""
    streams = b"\x04\x06\x00\x01\x09\xe0" + struct.pack("<L", len(body))[:3] + b"\x00\x07\x0b\x01\x00\x01\x03" + method
    streams += b"\x0c\xe0" + struct.pack("<L", size)[:3] + b"\x00\x00"
    return found_in(with_header(b"\x01" + streams + b"\x05\x01\x11\x05\x00a\0\0\0\0\0", body))


def test_deflate64() -> None:
    """What Windows and 7-Zip make of large files; py7zr does not write it."""
    deflater = inflate64.Deflater()
    body = deflater.deflate(FILES["a.txt"] * 50) + deflater.flush()
    assert _one_stream(b"\x04\x01\x09", body, len(FILES["a.txt"]) * 50).by_name == {"a": FILES["a.txt"] * 50}


def test_what_follows_deflated_data_is_no_further_stream() -> None:
    """Else bytes that no member has would be decoded into its text."""
    deflated = zlib.compress(FILES["a.txt"])[2:-4]
    found = _one_stream(b"\x04\x01\x08", deflated * 2, 2 * len(FILES["a.txt"]))
    assert found.by_name == {}
    assert [code for _, code, _ in found.failed] == [ExceptionCode.CORRUPT]


HUGE = b"\xff" + b"\xff" * 6 + b"\x7f\0"  # a number of nine bytes


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"\x01",
        b"\x01\x05" + HUGE,  # files
        b"\x01\x05\x01\x0e" + HUGE,  # a property longer than the header
        b"\x01\x04\x06\x00" + HUGE + b"\x09",  # packed streams
        b"\x01\x04\x07\x0b" + HUGE + b"\x00",  # folders
        b"\x01\x04\x07\x0b\x01\x00" + HUGE,  # coders
        b"\x01\x04\x07\x0b\x01\x00\x02\x01\x00\x01\x00\x00\x00\x0c\x01\x01\x00",  # a coder that feeds itself
        b"\x17\x06\x00\x01\x09\x00\x00\x07\x0b\x01\x00\x01\x01\x00\x0c\x00\x00\x00",  # a header packed in nothing
        b"\x01\x04\x06\x00\x01\x09\x01\x00\x07\x0b\x01\x00\x01\x01\x00\x0c\x01\x00\x08\x0d" + HUGE,  # files of a folder
    ],
)
def test_counts_in_the_header_are_not_trusted(header: bytes) -> None:
    found = found_in(with_header(header, b"x"))
    assert found.by_name in ({}, {"bytes after the end": b"x"})
    assert found.code in (ExceptionCode.CORRUPT, None)
    assert found.error is not None or SEVENZ.announced(MemorySource(b"x", with_header(header, b"x"))) == 0


def test_sizes_beyond_limits() -> None:
    assert found_in(sample("copy"), limits=Limits(parse_bytes=20)).code is ExceptionCode.TOO_LARGE
    size = b"\xf8" + struct.pack("<L", 0xF0000000)
    coder = b"\x01\x23\x03\x01\x01\x05\x5d" + struct.pack("<L", 0xFFFFFFFF)
    streams = b"\x04\x06\x00\x01\x09\x01\x00\x07\x0b\x01\x00" + coder + b"\x0c\xf0" + size[1:] + b"\x00\x00"
    header = b"\x01" + streams + b"\x05\x01\x11\x05\x00a\0\0\0\0\0"
    assert [code for _, code, _ in found_in(with_header(header, b"x")).failed] == [ExceptionCode.TOO_LARGE]


def test_a_big_archive_is_handed_on_in_pieces() -> None:
    inner = packed({"deep.txt": b"deep", "noise": NOISE[:40_000]}, "copy")
    data = packed({"inner.7z": inner, "a.txt": b"text " * 900, "noise": NOISE}, "lzma2")
    alone = unpack(b"x.7z", data)
    shared = unpack(b"x.7z", data, options=JobOptions(split_bytes=20_000), defer=True)
    assert shared.deferred > 1
    assert shared.by_path == alone.by_path
    assert shared.counts() == alone.counts()
    assert alone.count("x.7z") == (3, 3, 0, False)
    assert ("x.7z", "inner.7z", "deep.txt") in alone.by_path


# As `7z a -p` of 7-Zip 26.02 writes it when nothing is typed at its question.
EMPTY_PASSWORD = base64.b64decode(
    "N3q8ryccAASqf4usEAAAAAAAAABiAAAAAAAAANmUl9dnxICNe/PvVeyyz+SYWXgzAQQGAAEJEAAHCwEAAiQG8QcBElMPGFIwJy4LNQbtUmjINSIA"
    "iiEhAQABAAwQDAAICgEtOwivAAAFARkBABENAGYALgB0AHgAdAAAABQKAQBF1RgJ73ndARUGAQAggKSBAAA="
)


def test_an_archive_locked_with_nothing_opens_without_a_bank() -> None:
    """7-Zip takes an empty password for a password: such an archive is encrypted and opens without one."""
    found = found_in(EMPTY_PASSWORD)
    assert found.by_name == {"f.txt": b"hello world\n"}
    assert found.error is None


NO_ROUNDS = b"\x3f"  # the password itself is the key
SECRET = "geheim"
GUESSES = 2_000  # one in 256 gives a file of one byte its CRC


def locked(*files: bytes) -> tuple[bytes, Folder]:
    """Files stored one behind the other under the secret, filled up with zeros as 7-Zip does it."""
    plain = b"".join(files)
    key = SECRET.encode("utf-16-le").ljust(32, b"\0")
    data = Cipher(algorithms.AES(key), modes.CBC(bytes(16))).encryptor().update(plain + bytes(-len(plain) % 16))
    folder = Folder((Coder(AES, NO_ROUNDS, len(plain)),), 0, len(data), len(plain), None)
    folder.sizes, folder.crcs = [len(file) for file in files], [zlib.crc32(file) for file in files]
    return data, folder


@pytest.mark.parametrize(
    "files",
    [
        pytest.param((b"c",), id="alone"),
        pytest.param((b"c", b"d" * 90), id="before a longer one"),
        pytest.param((b"c", b"d", b"e"), id="among short ones"),
        pytest.param((b"c", b"d" * 31), id="to the end of a block"),
    ],
)
def test_the_checksum_of_a_short_file_is_not_enough(files: tuple[bytes, ...]) -> None:
    data, folder = locked(*files)
    bank = Passwords({f"guess {n}": n for n in range(GUESSES)} | {SECRET: GUESSES})
    opened = unlock(io.BytesIO(data), folder, len(data), bank, TryBudget(Limits()))
    assert opened.line == GUESSES
    assert b"".join(iter(lambda: opened.value.read(1 << 20), b"")) == b"".join(files)


def test_a_short_stream_that_breaks_off_opens_with_nothing() -> None:
    data, folder = locked(b"c")
    with pytest.raises(DocumentError):
        unlock(io.BytesIO(data[:7]), folder, 16, Passwords({SECRET: 1}), TryBudget(Limits()))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(CHAINS)), st.integers(0, 1 << 30), st.integers(0, 3))
def test_mutants_add_up(chain: str, seed: int, flips: int) -> None:
    random_ = random.Random(seed)
    data = bytearray(sample(chain))
    for _ in range(flips):
        data[random_.randrange(len(data))] = random_.randrange(256)
    found = found_in(bytes(data), limits=Limits(parse_bytes=2_000_000))
    if found.error is None:
        assert len(found.children) <= (SEVENZ.announced(MemorySource(b"x", bytes(data))) or 0)


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=120), st.booleans())
def test_any_header(body: bytes, encoded: bool) -> None:
    found = found_in(with_header((b"\x17" if encoded else b"\x01") + body, b"some packed bytes"))
    assert found.error is None or found.members == []
