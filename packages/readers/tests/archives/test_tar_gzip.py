"""readers.archives.tar.handler and readers.archives.compressed: streamed archives, links, truncation, several gzip members."""

import gzip
import io
import random
import tarfile

import pytest
from archive_files import tarred
from as_found import Found
from hypothesis import given
from hypothesis import strategies as st

from core.records import Limits
from readers.archives.compressed import GzipHandler
from readers.archives.tar.handler import TarHandler
from readers.base import MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.records import TextState

LIMITS = Limits()
TAR, GZIP = TarHandler(), GzipHandler()
FORMATS = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
NOISE = random.Random(5).randbytes(200_000)


def special() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, kind in (("d", tarfile.DIRTYPE), ("s", tarfile.SYMTYPE), ("h", tarfile.LNKTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "target"
            archive.addfile(info)
        for name, kind in (("f", tarfile.FIFOTYPE), ("c", tarfile.CHRTYPE)):
            info = tarfile.TarInfo(name)
            info.type = kind
            archive.addfile(info)
        info = tarfile.TarInfo("last")
        info.size = 4
        archive.addfile(info, io.BytesIO(b"data"))
    return out.getvalue()


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("packed", [False, True])
def test_members_position_names_and_bytes(fmt: int, packed: bool) -> None:
    long = "folder/" * 20 + "name.txt" if fmt != tarfile.USTAR_FORMAT else "folder/" * 14 + "n.txt"
    members = [("a.txt", b"hello"), (long, b"x" * 513), ("empty", b""), ("block", b"y" * 512)]
    data = tarred(members, fmt)
    found = Found(GZIP, gzip.compress(data)) if packed else Found(TAR, data)
    assert found.error is None
    assert found.members == [(i, name.encode(), body) for i, (name, body) in enumerate(members)]


def test_names_come_as_raw_bytes() -> None:
    data = tarred([("../../etc/passwd", b"1"), ("/abs", b"2")])
    assert [name for _, name, _ in Found(TAR, data).members] == [b"../../etc/passwd", b"/abs"]
    data = tarred([("\xfcber", b"")], charset="latin-1")
    assert [name for _, name, _ in Found(TAR, data).members] == [b"\xfcber"]


def test_links_and_special_files_are_marked() -> None:
    found = Found(TAR, special())
    assert found.failed == [
        (1, ExceptionCode.SYMLINK, True),
        (2, ExceptionCode.SYMLINK, True),
        (3, ExceptionCode.SPECIAL_FILE, True),
        (4, ExceptionCode.SPECIAL_FILE, True),
    ]
    assert found.members == [(5, b"last", b"data")]


def test_large_members_are_streams() -> None:
    """A member over 8 MB is handed out as a stream, plain and compressed; the next one is found after it."""
    body = NOISE * 45
    data = tarred([("big", body), ("small", b"s")])
    for handler, stored in ((TAR, data), (GZIP, gzip.compress(data, 1))):
        child = next(iter(handler.children(MemorySource(b"", stored), LIMITS)))
        assert child.data is None
        assert child.size_hint == len(body)
        assert Found(handler, stored).members == [(0, b"big", body), (1, b"small", b"s")]


def test_unread_streams_are_skipped() -> None:
    data = tarred([("big", NOISE * 45), ("small", b"s")])
    for handler, stored in ((TAR, data), (GZIP, gzip.compress(data, 1))):
        assert [child.name for child in handler.children(MemorySource(b"", stored), LIMITS)] == [b"big", b"small"]


@pytest.mark.parametrize("packed", [False, True])
def test_a_cut_tar_keeps_complete_members(packed: bool) -> None:
    """Complete members stay, then `truncated`."""
    members = [(f"{i}", NOISE[i * 5000 : i * 5000 + 5000]) for i in range(20)]
    data = tarred(members)
    cut = data[: 512 * 11 * 12 + 700]
    found = Found(GZIP, gzip.compress(data)[:60_000]) if packed else Found(TAR, cut)
    assert found.code is ExceptionCode.TRUNCATED
    assert 5 < len(found.members) < 20
    assert found.members == [(i, name.encode(), body) for i, (name, body) in enumerate(members[: len(found.members)])]


def test_a_tar_cut_between_two_members_is_cut() -> None:
    data = tarred([("a", b"1"), ("b", b"2" * 512), ("c", b"3")])
    for end in (1024, 2048, 3072):
        found = Found(TAR, data[:end])
        assert len(found.members) == end // 1024
        assert found.code is ExceptionCode.TRUNCATED


def test_a_damaged_header_costs_its_member() -> None:
    """Members before it and after it stay, as GNU tar reads them, then `corrupt`."""
    data = bytearray(tarred([("a", b"1"), ("b", b"2"), ("c", b"3")]))
    data[1024 + 3] ^= 0xFF
    found = Found(TAR, bytes(data))
    assert [name for _, name, _ in found.members] == [b"a", b"c"]
    assert found.code is ExceptionCode.CORRUPT
    assert "513 bytes were not read" in str(found.error)  # a block, and the one that is not zero of the next


def test_one_compressed_file() -> None:
    """One child with the name from the header, else the own name without its ending."""
    packed = io.BytesIO()
    with gzip.GzipFile("inner.txt", "wb", fileobj=packed) as file:
        file.write(b"hello")
    assert Found(GZIP, packed.getvalue(), b"outer.gz").members == [(0, b"inner.txt", b"hello")]
    bare = gzip.compress(b"hello")
    assert Found(GZIP, bare, b"report.csv.GZ").members == [(0, b"report.csv", b"hello")]
    assert Found(GZIP, bare, b"").members == [(0, b"content", b"hello")]
    assert GZIP.text(MemorySource(b"", bare), LIMITS).state is TextState.EMPTY
    assert TAR.text(MemorySource(b"", bare), LIMITS).state is TextState.EMPTY


def test_damage_is_corrupt() -> None:
    """A broken stream is distinguished from truncation; a file of nothing but a header is truncated."""
    broken = Found(GZIP, b"\x1f\x8b\x08\0\0\0\0\0\0\0\xff\xff\xff\xff\xff")
    assert broken.code is ExceptionCode.CORRUPT
    short = Found(GZIP, b"\x1f\x8b\x08\0")
    assert short.code is ExceptionCode.TRUNCATED


NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=("Cs",)), min_size=1, max_size=200
)


@given(st.lists(st.tuples(NAMES, st.binary(max_size=1500)), max_size=6), st.sampled_from(FORMATS[1:]))
def test_what_the_standard_library_writes_is_read_back(members: list[tuple[str, bytes]], fmt: int) -> None:
    members = [(name, body) for name, body in members if not name.endswith("/")]
    data = tarred(members, fmt)
    expected = [(i, name.encode(), body) for i, (name, body) in enumerate(members)]
    assert Found(TAR, data).members == expected


def test_an_unread_member_is_decompressed_up_to_a_bound() -> None:
    data = gzip.compress(tarred([("bomb", bytes(30_000_000)), ("behind", b"words")]), 9)
    left = GZIP.children(MemorySource(b"a.tgz", data), Limits(expansion_floor=1_000_000))
    assert next(left).name == b"bomb"  # and nobody reads it
    with pytest.raises(DocumentError, match=r"^expansion_limit:"):
        next(left)


def test_padding_is_not_counted_as_skipped() -> None:
    data = gzip.compress(tarred([(f"{n}", b"x") for n in range(1500)]), 9)
    assert (
        sum(1 for _ in GZIP.children(MemorySource(b"a.tgz", data), Limits(expansion_floor=1000, expansion_ratio=1)))
        == 1500
    )
