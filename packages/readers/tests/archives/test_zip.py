"""readers.archives.zip.handler: members by the central directory, ranges, salvage, bombs and damage."""

import io
import itertools
import lzma
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import BinaryIO

import inflate64
import py7zr
import pytest
from archive_files import sevenzipped, zip_entry, zip_member, zip_whole
from archive_files import zipped as archive
from as_found import Found
from hypothesis import given, settings
from hypothesis import strategies as st
from unpacking import make_zip, unpack

from core.records import JobOptions, Limits
from readers.archives.zip.directory import LOCAL
from readers.archives.zip.handler import RANGES_A_TARGET, ZipHandler
from readers.base import MemorySource, Part
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.records import TextState
from readers.registry import handler_for
from traces.blocks import zstd

HANDLER = ZipHandler()
LIMITS = Limits()
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
NOISE = random.Random(3).randbytes(3000)
found_in = partial(Found, HANDLER)


class Unseekable(io.RawIOBase):
    """Makes zipfile write data descriptors, as programs that write to a pipe do."""

    def __init__(self) -> None:
        super().__init__()
        self.data = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        self.data += bytes(data)  # type: ignore[arg-type]
        return len(bytes(data))  # type: ignore[arg-type]


@pytest.mark.parametrize("method", METHODS)
def test_members_with_their_index_and_bytes(method: int) -> None:
    data = archive({"a.txt": b"alpha" * 100, "folder/": b"", "folder/noise": NOISE, "empty": b""}, method)
    found = found_in(data)
    assert found.members == [(0, b"a.txt", b"alpha" * 100), (2, b"folder/noise", NOISE), (3, b"empty", b"")]
    assert HANDLER.announced(MemorySource(b"", data)) == 3
    assert HANDLER.text(MemorySource(b"", data), LIMITS).state is TextState.EMPTY


def test_large_members_are_streams() -> None:
    """A member over 8 MB is never held whole; its CRC is checked as well."""
    body = NOISE * 4000
    data = archive({"big": body}, zipfile.ZIP_STORED)
    (child,) = HANDLER.children(MemorySource(b"", data), LIMITS)
    assert child.data is None
    assert child.size_hint == len(body)
    assert found_in(data).members == [(0, b"big", body)]
    damaged = bytearray(data)
    damaged[9_000_000] ^= 1
    assert found_in(bytes(damaged)).error is not None


@pytest.mark.parametrize(
    "name",
    [
        b"../../etc/passwd",
        b"/etc/passwd",
        b"nul\0name",
        b"n" * 300,
        b"\xff\xfe bad utf-8",
        b"C:\\windows\\x",
        b"a//b",
        b"",
    ],
)
def test_names_come_as_raw_bytes(name: bytes) -> None:
    plain = archive({"P" * max(1, len(name)): b"data"}, zipfile.ZIP_STORED)
    data = plain.replace(b"P" * len(name), name) if name else plain
    if name:
        assert found_in(data).members == [(0, name, b"data")]


def test_encrypted_members_fail_and_the_others_come_out() -> None:
    data = bytearray(archive({"a": b"one", "b": b"two"}, zipfile.ZIP_STORED))
    central = data.index(b"PK\x01\x02")
    data[central + 8] |= 1
    found = found_in(bytes(data))
    assert found.failed == [(0, ExceptionCode.ENCRYPTED, False)]
    assert found.members == [(1, b"b", b"two")]


def test_damaged_members_fail_and_the_others_come_out() -> None:
    data = bytearray(archive({"crc": b"one" * 50, "deflate": NOISE, "size": b"three" * 50, "fine": b"four"}))
    at = [i for i in range(len(data)) if data.startswith(b"PK\x01\x02", i)]
    data[at[0] + 16] ^= 1
    local = data.index(b"deflate") + 7
    data[local : local + 4] = b"\xff\xff\xff\xff"
    struct.pack_into("<L", data, at[2] + 24, 10)
    found = found_in(bytes(data))
    assert found.failed == [(i, ExceptionCode.CORRUPT, False) for i in range(3)]
    assert found.members == [(3, b"fine", b"four")]


def test_unknown_methods_are_unsupported() -> None:
    data = bytearray(archive({"a": b"one"}))
    struct.pack_into("<H", data, data.index(b"PK\x01\x02") + 10, 98)
    assert found_in(bytes(data)).failed == [(0, ExceptionCode.UNSUPPORTED, False)]


def deflate64(data: bytes) -> bytes:
    deflater = inflate64.Deflater()
    return bytes(deflater.deflate(data) + deflater.flush())


@pytest.mark.parametrize(("method", "pack"), [(9, deflate64), (93, zstd.compress), (95, lzma.compress)])
def test_methods_that_pythons_writer_does_not_know(method: int, pack: Callable[[bytes], bytes]) -> None:
    """Deflate64 (Windows), Zstandard and xz (WinZip, 7-Zip); damage in them is damage."""
    body = NOISE * 40 + b"text " * 5000
    packed = pack(body)
    data = bytearray(archive({"a": packed}, zipfile.ZIP_STORED))
    for at in (data.index(b"PK\x03\x04") + 8, data.rindex(b"PK\x01\x02") + 10):
        struct.pack_into("<H4xLLL", data, at, method, zlib.crc32(body), len(packed), len(body))
    assert found_in(bytes(data)).members == [(0, b"a", body)]
    data[len(packed) // 2] ^= 0x55
    assert found_in(bytes(data)).failed == [(0, ExceptionCode.CORRUPT, False)]


def test_links_have_no_bytes_and_an_exception() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        info = zipfile.ZipInfo("link")
        info.create_system, info.external_attr = 3, 0o120777 << 16
        file.writestr(info, "/etc/passwd")
        file.writestr("a", b"one")
    link, _ = HANDLER.children(MemorySource(b"", out.getvalue()), LIMITS)
    assert (link.name, link.data, link.stream, link.emit, link.media_type) == (
        b"link",
        None,
        None,
        True,
        "inode/symlink",
    )
    assert (link.error and link.error.code) is ExceptionCode.SYMLINK


def test_split_archives_are_unsupported() -> None:
    data = bytearray(archive({"a": b"one"}))
    struct.pack_into("<HH", data, data.index(b"PK\x05\x06") + 4, 3, 3)
    found = found_in(bytes(data))
    assert found.code is ExceptionCode.UNSUPPORTED


def test_the_first_volume_of_a_split_archive_gives_its_members() -> None:
    data = b"PK\x07\x08" + archive({"a": b"one" * 50, "b": NOISE})[:1500]
    found = found_in(data)
    assert found.members == [(0, b"a", b"one" * 50)]
    assert found.code is ExceptionCode.UNSUPPORTED


def test_zip64_and_a_program_in_front() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file, file.open("wide", "w", force_zip64=True) as member:
        member.write(NOISE)
    assert found_in(out.getvalue()).members == [(0, b"wide", NOISE)]
    assert found_in(b"MZ program" * 100 + archive({"a": b"one"})).members == [(0, b"a", b"one")]
    wide = bytearray(archive({"a": b"one"}))
    end = wide.index(b"PK\x05\x06")
    entries, length, offset = struct.unpack_from("<HLL", wide, end + 10)
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, entries, entries, length, offset)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1)
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    assert found_in(bytes(wide[:end]) + record + locator + tail).members == [(0, b"a", b"one")]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_cut_archive_gives_its_complete_members(streamed: bool) -> None:
    """Without a directory, members come by their local headers, data descriptors or not, then `truncated`."""
    members = {f"{i}.bin": NOISE[: 500 * i] + b"text" * 50 for i in range(6)}
    if streamed:
        raw = Unseekable()
        with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as file:  # type: ignore[call-overload]
            for name, body in members.items():
                file.writestr(name, body)
        data = bytes(raw.data)
    else:
        data = archive(members)
    assert found_in(data).error is None
    cut = data[: data.index(b"4.bin") + 100]
    found = found_in(cut)
    assert (found.code, found.error and found.error.missing) == (ExceptionCode.TRUNCATED, None)
    assert [(i, n.decode(), b) for i, n, b in found.members] == [
        (i, name, body) for i, (name, body) in enumerate(members.items()) if i < 4
    ]
    assert HANDLER.announced(MemorySource(b"", cut)) is None
    assert HANDLER.parts(MemorySource(b"", cut), 10) == []


def test_an_archive_inside_a_cut_archive_is_not_taken_for_it() -> None:
    inner = archive({"inner": b"x" * 50})
    data = archive({"inner.zip": inner, "cut": NOISE}, zipfile.ZIP_STORED)
    found = found_in(data[: data.index(b"cut") + 500])
    assert found.members == [(0, b"inner.zip", inner)]
    assert found.code is ExceptionCode.TRUNCATED


def test_a_broken_directory_gives_what_it_lists() -> None:
    """Members before the damage, then `corrupt` with the number of those that are lost."""
    data = bytearray(archive({str(i): b"x" for i in range(10)}))
    at = [i for i in range(len(data)) if data.startswith(b"PK\x01\x02", i)]
    data[at[6]] = 0
    found = found_in(bytes(data))
    assert len(found.members) == 6
    assert (found.code, found.error and found.error.missing) == (ExceptionCode.CORRUPT, 4)
    assert HANDLER.announced(MemorySource(b"", bytes(data))) == 10


def test_a_streamed_bomb_is_bounded() -> None:
    raw = Unseekable()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as file, file.open("bomb", "w") as member:  # type: ignore[call-overload]
        for _ in range(40):
            member.write(bytes(1 << 20))
    cut = bytes(raw.data)[:-40]
    found = found_in(cut, limits=Limits(expansion_floor=1_000_000))
    assert found.code is ExceptionCode.EXPANSION_LIMIT


def test_overlapping_members_fail() -> None:
    plain = archive({f"{i}": b"data" * 100 for i in range(50)}, zipfile.ZIP_STORED)
    data = bytearray(plain)
    for i in range(len(data)):
        if data.startswith(b"PK\x01\x02", i):
            struct.pack_into("<L", data, i + 42, 0)
    found = found_in(bytes(data))
    assert len(found.members) == 1
    assert found.failed == [(i, ExceptionCode.CORRUPT, False) for i in range(1, 50)]


@pytest.mark.parametrize("target", [1, 2000, 10_000, 1 << 40])
def test_ranges_give_every_member_once(target: int) -> None:
    data = bytearray(archive({f"{i}": NOISE[: 100 * (i % 7)] for i in range(60)}))
    at = [i for i in range(len(data)) if data.startswith(b"PK\x01\x02", i)]
    data[at[13] + 16] ^= 1
    parts = HANDLER.parts(MemorySource(b"", bytes(data)), target)
    whole = found_in(bytes(data))
    several = [found_in(bytes(data), part=part) for part in parts] or [whole]
    assert [member for found in several for member in found.members] == whole.members
    assert [failure for found in several for failure in found.failed] == whole.failed
    if parts:
        assert parts[-1].stop == 60


def test_a_member_beyond_the_end_is_corrupt() -> None:
    data = bytearray(archive({"a": b"one", "b": b"two"}))
    struct.pack_into("<L", data, data.rindex(b"PK\x01\x02") + 42, 0x7FFFFFFF)
    found = found_in(bytes(data))
    assert found.members[0] == (0, b"a", b"one")
    assert found.members[1][1] == b"bytes between members"  # that of the member is there
    assert found.failed == [(1, ExceptionCode.CORRUPT, False)]


def test_bytes_between_members_in_ranges_and_in_another_order() -> None:
    data = archive({name: 90 * name.encode() for name in "abc"}, zipfile.ZIP_STORED)
    directory, last = data.index(b"PK\x01\x02"), data.rindex(b"PK\x01\x02")
    turned = data[:directory] + data[last:-22] + data[directory:last] + data[-22:]
    assert (found_in(turned).error, len(found_in(turned).members)) == (None, 3)
    for whole, place in ((turned, None), (b"hidden" * 900 + data, 0), (b"hidden" * 900 + turned, 2)):
        errors = [found_in(whole, part=part).error for part in HANDLER.parts(MemorySource(b"", whole), 90)]
        assert [error is not None for error in errors] == [number == place for number in range(3)]


@settings(max_examples=40)
@given(
    st.dictionaries(st.text("abcdé/ .", min_size=1, max_size=12), st.binary(max_size=400), max_size=6),
    st.sampled_from(METHODS),
    st.integers(0, 100_000),
)
def test_any_cut_keeps_complete_members(members: dict[str, bytes], method: int, at: int) -> None:
    """Wherever an archive is cut, the members whose bytes are all there come out right, in order, and nothing else."""
    data = archive(members, method)
    cut = at % (len(data) + 1)
    files = [(i, n, b) for i, (n, b) in enumerate(members.items()) if b or not n.endswith("/")]
    found = found_in(data[:cut])
    complete = []
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        for info, (i, name, body) in zip(
            [x for x in file.infolist() if x.file_size or not x.is_dir()], files, strict=True
        ):
            if info.header_offset + LOCAL.size + len(info.filename.encode()) + info.compress_size <= cut:
                complete.append((i, name.encode(), body))
    if cut == len(data):
        assert found.error is None
        assert [body for _, _, body in found.members] == [body for _, _, body in files]
    else:
        assert found.error is not None
        assert [body for _, _, body in found.members] == [body for _, _, body in complete]


TARGET = 64_000


def _parts(data: bytes, target: int = TARGET) -> tuple[list[Part], "CountingSource"]:
    source = CountingSource(b"a.zip", data)
    return ZipHandler().parts(source, target), source  # type: ignore[arg-type]


@pytest.mark.parametrize("shared", [True, False])
def test_announced_sizes_make_no_ranges(shared: bool) -> None:
    """4,000 entries that announce a range each: as many ranges as the archive has bytes for."""
    data = announcing_zip(4_000, TARGET, shared=shared)
    parts, _ = _parts(data)
    assert 2 <= len(parts) <= RANGES_A_TARGET * len(data) // TARGET
    assert [p.start for p in parts] == [0, *(p.stop for p in parts[:-1])]
    assert parts[-1].stop == sum(p.announced or 0 for p in parts) == 4_000


def test_the_directory_is_read_a_few_times_however_many_ranges() -> None:
    """All ranges together read little more of the archive than one reading of it, plus a tail and a chunk each."""
    data = announcing_zip(40_000, 1_000_000, shared=False)
    parts, source = _parts(data, 1_000_000)
    assert len(parts) >= 10
    for part in parts:
        for child in ZipHandler().children(source, Limits(), part):  # type: ignore[arg-type]
            assert part.start <= child.ordinal < part.stop
    assert source.read < 4 * len(data) + len(parts) * ((1 << 16) + 2 * (1 << 18))


def test_many_overlaps_or_repeats_are_read_in_one_go() -> None:
    """What a range would have to know of the others is not handed on without end."""
    assert len(_parts(announcing_zip(9_000, TARGET, shared=True))[0]) >= 2
    assert _parts(announcing_zip(11_000, TARGET, shared=True))[0] == []
    assert _parts(announcing_zip(11_000, TARGET, shared=False, name=b"same%.0a"))[0] == []


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_ranges_know_overlaps_and_repeated_names() -> None:
    repeated = make_zip([("same.txt" if n % 2 else f"{n}.txt", b"%d" % n * 400) for n in range(60)], stored=True)
    for data in (repeated, announcing_zip(300, 100, shared=True)):
        whole = unpack(b"a.zip", data)
        parts = unpack(b"a.zip", data, options=JobOptions(split_bytes=2_000), defer=True)
        assert parts.deferred > 2
        assert sorted(map(repr, parts.out.items)) == sorted(map(repr, whole.out.items))
        assert parts.counts() == whole.counts()


NOISE_SPLIT_PART = random.Random(8).randbytes(60_000)


ZIPPED = archive({"a.txt": b"small", "b.bin": NOISE_SPLIT_PART}, zipfile.ZIP_STORED)


def read(source: MemorySource) -> None:
    """Its text, then its children."""
    handler = handler_for(identify(source))
    handler.text(source, Limits())
    list(handler.children(source, Limits()))


@pytest.mark.parametrize(
    ("name", "whole"),
    [("x.zip", ZIPPED), ("x.7z", sevenzipped([("b.bin", NOISE_SPLIT_PART)], [{"id": py7zr.FILTER_COPY}]))],
    ids=["zip", "7z"],
)
def test_pieces_as_7_zip_cuts_them(name: str, whole: bytes) -> None:
    pieces = [whole[:25_000], whole[25_000:50_000], whole[50_000:]]
    first = unpack(f"{name}.001".encode(), pieces[0])
    assert first.codes(f"{name}.001") == ["unsupported"]
    assert any("join the parts" in e.detail for e in first.out.exceptions)
    for number, piece in enumerate(pieces[1:], start=2):
        source = MemorySource(f"{name}.{number:03}".encode(), piece)
        with pytest.raises(DocumentError) as caught:
            read(source)
        assert caught.value.code is ExceptionCode.UNSUPPORTED
        assert "join the parts" in caught.value.detail


def test_the_pieces_of_a_spanned_zip() -> None:
    """`.z01` begins with a mark of its own, `.z02` anywhere; `.zip` is the last and has the directory of all."""
    whole = ZIPPED
    end = whole.rfind(b"PK\5\6")
    directory = whole[:end] + struct.pack("<4sHHHHLLH", b"PK\5\6", 2, 2, 2, 2, end - whole.rfind(b"PK\1\2"), 100, 0)
    last = directory[50_000:]
    for name, data in (("x.z01", b"PK\7\b" + whole[:20_000]), ("x.z02", whole[20_000:50_000]), ("x.zip", last)):
        source = MemorySource(name.encode(), data)
        with pytest.raises(DocumentError) as caught:
            read(source)
        assert caught.value.code is ExceptionCode.UNSUPPORTED
        assert "join the parts" in caught.value.detail


def test_the_name_alone_makes_no_part() -> None:
    assert identify(MemorySource(b"notes.zip.002", b"plain words, nothing else\n" * 9)) == "text/plain"
    assert identify(MemorySource(b"scan.z02", b"%PDF-1.7\n")) == "application/pdf"
    assert identify(MemorySource(b"noise.zip", NOISE_SPLIT_PART)) == "application/octet-stream"


def announcing_zip(entries: int, announced: int, *, shared: bool, name: bytes = b"m%07d") -> bytes:
    """A zip whose directory announces `announced` bytes for each of its entries. `shared`: all of them are the same
    bytes of the archive; else each has a tiny member of its own."""
    packed, crc = zlib.compress(b"x", 9)[2:-4], zlib.crc32(b"x")
    members = [zip_member(name % n, packed, 0, 8, crc, announced) for n in range(1 if shared else entries)]
    places = [0] * entries if shared else itertools.accumulate(map(len, members[:-1]), initial=0)
    directory = (zip_entry(name % n, at, len(packed), announced, 8, crc) for n, at in enumerate(places))
    return zip_whole(b"".join(members), b"".join(directory), entries)


class CountingSource:
    """A source in memory that counts what is read of it."""

    def __init__(self, name: bytes, data: bytes) -> None:
        self.name, self.data, self.size, self.read = name, data, len(data), 0

    @property
    def head(self) -> bytes:
        return self.data[:4096]

    def open(self) -> BinaryIO:
        return _Counting(self)

    def chunks(self) -> Iterator[bytes]:
        yield self.data


class _Counting(io.BytesIO):
    def __init__(self, source: CountingSource) -> None:
        super().__init__(source.data)
        self._source = source

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self._source.read += len(data)
        return data
