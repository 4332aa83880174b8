"""The zip writer against Python's reader, for any names and contents."""

import io
import shutil
import subprocess
import zipfile
import zlib
from pathlib import Path

import py7zr
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from py7zr.io import BytesIOFactory

from dataset_gen.packing import LEVEL, SevenZipWriter, ZipWriter, deflated, deflated_zeros, number
from dataset_gen.rng import Dice

names = st.text(st.characters(codec="utf-8", exclude_characters="\0/\\"), min_size=1, max_size=30)


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(names, st.binary(max_size=3000), min_size=1, max_size=6), st.booleans())
def test_members_come_back(members: dict[str, bytes], encrypted: bool) -> None:
    out = ZipWriter()
    out.add_directory(b"folder/")
    for name, data in members.items():
        out.add(name.encode(), data, encryption=(b"secret", Dice(1)) if encrypted else None)
    with zipfile.ZipFile(io.BytesIO(out.finish())) as archive:
        archive.setpassword(b"secret")
        assert archive.testzip() is None
        infos = archive.infolist()
        assert infos[0].is_dir()
        assert {i.filename: archive.read(i) for i in infos[1:]} == members
        assert all(bool(i.flag_bits & 1) == encrypted for i in infos[1:])


def test_compression_is_pinned() -> None:
    """The bytes that libdeflate gives for this input at this level; see `dataset_gen.packing`."""
    text = b"".join(b"line %d of %d\n" % (i, i * i) for i in range(2000))
    assert LEVEL == 1
    assert (len(deflated(text)), deflated(text)[:8].hex()) == PINNED
    packed, crc = deflated_zeros(1_000_000)
    assert len(packed) < 2000
    assert crc == zlib.crc32(bytes(1_000_000))


PINNED = (12566, "555d4bce1e370cdb")


def test_more_members_than_the_old_directory_can_count() -> None:
    """70,000 members: zip64 records, and every member is found."""
    out = ZipWriter()
    for member in range(70_000):
        out.put(b"%d" % member, b"", 0, 0, store=True)
    with zipfile.ZipFile(io.BytesIO(out.finish())) as archive:
        assert len(archive.infolist()) == 70_000
        assert archive.read("69999") == b""


def test_more_bytes_than_the_old_directory_can_count(tmp_path: Path) -> None:
    """A member that begins behind 5 GB (of nothing, which takes no disk space) of others, written through a sink."""
    before = 5_000_000_000
    with open(tmp_path / "x.zip", "wb") as file:
        file.truncate(before)
        file.seek(before)
        out = ZipWriter(sink=file.write, size=before)
        out.add(b"late.txt", b"late " * 100)
        assert out.finish() == b""
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        assert archive.infolist()[0].header_offset == before
        assert archive.read("late.txt") == b"late " * 100


SECRET = "Größe 7"
PROGRAM = shutil.which("7zz") or shutil.which("7z")
NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="\0/\\", exclude_categories=("Cs", "Cc")), min_size=1, max_size=30
).filter(lambda name: name not in (".", ".."))
BLOCKS = st.lists(
    st.tuples(st.lists(st.binary(min_size=1, max_size=2000), min_size=1, max_size=4), st.booleans()), max_size=3
)


def sample(**options: object) -> tuple[bytes, dict[str, bytes]]:
    """An archive of three blocks with a directory and an empty file, and what is in it."""
    files = {f"many/{n} größe.txt": b"%d " % n * n * 10 for n in range(1, 40)}
    pictures = {"a.jpg": bytes(range(256)) * 300, "b.jpg": b"\xff\xd8" * 9}
    out = SevenZipWriter(mtime=1_500_000_000, **options)  # type: ignore[arg-type]
    out.add_empty("folder/")
    out.add_empty("folder/zero.txt")
    out.add(list(files), list(files.values()))
    out.add(list(pictures), list(pictures.values()), store=True)
    out.add(["last.txt"], [b"last"])
    return out.finish(), {"folder/zero.txt": b"", **files, **pictures, "last.txt": b"last"}


def by_py7zr(data: bytes, password: str | None = None) -> dict[str, bytes]:
    """All files as py7zr finds them, CRCs checked."""
    factory = BytesIOFactory(10_000_000)
    with py7zr.SevenZipFile(io.BytesIO(data), password=password) as archive:
        archive.extractall(factory=factory)
        names = [entry.filename for entry in archive.list() if not entry.is_directory]
    return {name: factory.get(name).read() for name in names}


@pytest.mark.parametrize("password", [None, SECRET])
@pytest.mark.parametrize("hide_names", [False, True])
def test_py7zr_reads_it(password: str | None, hide_names: bool) -> None:
    """Names in order, bytes and CRCs; with a password only with that password."""
    options = {"password": password, "iv": bytes(range(16)), "hide_names": hide_names} if password else {}
    data, files = sample(**options)
    found = by_py7zr(data, password)
    assert found == files
    assert list(found) == list(files)
    if password:
        assert files["last.txt"] not in data
        with pytest.raises(Exception, match=r"(?i)password|crc|corrupt|bad|invalid|data"):
            by_py7zr(data, "wrong")


@pytest.mark.skipif(PROGRAM is None, reason="7-Zip is not installed")
@pytest.mark.parametrize("password", [None, SECRET])
def test_7_zip_reads_it(password: str | None, tmp_path: Path) -> None:
    options = {"password": password, "iv": bytes(range(16)), "hide_names": True} if password else {}
    data, files = sample(**options)
    (tmp_path / "x.7z").write_bytes(data)
    command = [str(PROGRAM), "x", f"-p{password or ''}", f"-o{tmp_path / 'out'}", str(tmp_path / "x.7z")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Warning" not in done.stdout
    for name, content in files.items():
        assert (tmp_path / "out" / name).read_bytes() == content
    assert (tmp_path / "out" / "folder").is_dir()
    assert int((tmp_path / "out" / "last.txt").stat().st_mtime) == 1_500_000_000


@settings(max_examples=40, deadline=None)
@given(BLOCKS, st.lists(NAMES, min_size=12, max_size=12, unique=True), st.booleans())
def test_any_blocks_come_back(blocks: list[tuple[list[bytes], bool]], names: list[str], empty: bool) -> None:
    out = SevenZipWriter(mtime=0)
    files: dict[str, bytes] = {}
    left = iter(f"{n} {name}" for n, name in enumerate(names))
    if empty:
        files[next(left, "e")] = b""
        out.add_empty("".join(files))
    for pieces, store in blocks:
        mine = {next(left, f"{len(files)}"): piece for piece in pieces}
        out.add(list(mine), list(mine.values()), store=store)
        files |= mine
    assert by_py7zr(out.finish()) == files


@given(st.integers(0, (1 << 64) - 1))
def test_numbers(value: int) -> None:
    raw = number(value)
    extra = next((n for n in range(8) if not raw[0] & 0x80 >> n), 8)
    assert len(raw) == 1 + extra
    high = raw[0] & (0x7F >> extra) if extra < 8 else 0
    assert int.from_bytes(raw[1:], "little") | high << 8 * extra == value
