"""readers.archives.libarchive, ar and cpio, and the binding to libarchive under them: archives by independent programs and by hand."""

import importlib.util
import locale
import random
import subprocess
from functools import partial
from pathlib import Path

import pytest
from archive_files import cabinet as cabinet_of
from debian_programs import program
from unpacking import unpack

from core.errors import SourceFileError
from core.records import Limits
from readers.archives import libarchive
from readers.archives.libarchive import ArchiveReader, ArHandler, CabHandler
from readers.base import MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify

FILES = {"a.txt": b"some words\n" * 200, "noise.bin": random.Random(3).randbytes(70_000), "größe.csv": b"a;b\n" * 9000}
cabinet = partial(cabinet_of, packed=True)
_PACKAGES = {"bsdtar": "libarchive-tools", "cpio": "cpio", "ar": "binutils", "gcab": "gcab"}


def run(name: str, *arguments: str, at: Path, text: bytes = b"") -> bytes:
    """Return what the program prints."""
    command = [program(name, _PACKAGES[name]), *arguments]
    return subprocess.run(command, cwd=at, input=text, capture_output=True, check=True, timeout=300).stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


def members(data: bytes) -> dict[str, bytes | None]:
    """Name → bytes of what comes out, links as None."""
    found = unpack(b"x", data)
    return {path[1]: found.store.kept.get(item.id) for path, item in found.by_path.items() if len(path) == 2}


@pytest.mark.parametrize("form", ["newc", "odc", "bin", "crc"])
def test_cpio(folder: Path, form: str) -> None:
    (folder / "below").mkdir()
    (folder / "below/link").symlink_to("../a.txt")
    names = "\n".join((*FILES, "below", "below/link")) + "\n"
    data = run("cpio", "-o", "-H", form, "--quiet", at=folder, text=names.encode())
    assert identify(MemorySource(b"x", data)) == "application/x-cpio"
    assert members(data) == {**FILES, "below/link": None}


def test_digits_are_no_cpio() -> None:
    assert (
        identify(MemorySource(b"numbers.txt", b"070701 is the number of the day, and 070707 is not\n" * 9))
        == "text/plain"
    )


def test_ar(folder: Path) -> None:
    (folder / "a-name-that-is-longer-than-sixteen-bytes.txt").write_bytes(b"long")
    run("ar", "rcD", "x.a", *FILES, "a-name-that-is-longer-than-sixteen-bytes.txt", at=folder)
    data = (folder / "x.a").read_bytes()
    assert identify(MemorySource(b"x", data)) == "application/x-archive"
    assert members(data) == {**FILES, "a-name-that-is-longer-than-sixteen-bytes.txt": b"long"}


def test_bsd_names_and_symbol_table(folder: Path) -> None:
    run("bsdtar", "--format=arbsd", "-cf", "x.ar", *FILES, at=folder)
    data = (folder / "x.ar").read_bytes()
    head = f"{'__.SYMDEF':16}{0:<12}{0:<6}{0:<6}{'100644':8}{4:<10}`\n".encode()
    table = b"!<arch>\n" + head + bytes(4) + data[8:]
    assert members(table) == FILES
    assert [child.ordinal for child in ArHandler().children(MemorySource(b"x", table), Limits())] == [1, 2, 3]


@pytest.mark.parametrize("compressed", [True, False])
def test_cab(folder: Path, compressed: bool) -> None:
    run("gcab", *(("-z",) if compressed else ()), "-c", "x.cab", *FILES, at=folder)
    data = (folder / "x.cab").read_bytes()
    assert identify(MemorySource(b"x", data)) == "application/vnd.ms-cab-compressed"
    assert members(data) == FILES
    assert CabHandler().announced(MemorySource(b"x", data)) == len(FILES)


def test_cabinet_over_many_blocks() -> None:
    files = {f"{n}.bin": random.Random(n).randbytes(20_000) + b"same" * 5000 for n in range(4)}
    assert members(cabinet(files)) == files


def test_names_do_not_depend_on_the_locale() -> None:
    before = locale.setlocale(locale.LC_CTYPE)
    locale.setlocale(locale.LC_CTYPE, "C")
    libarchive.library.cache_clear()
    try:
        assert members(cabinet({"größe.txt": b"x"})) == {"größe.txt": b"x"}
    finally:
        locale.setlocale(locale.LC_CTYPE, before)


def test_a_cabinet_of_a_set_reports_it() -> None:
    found = unpack(b"a.cab", cabinet({"cut.bin": b"x" * 100}, flags=2, folder=0xFFFE))
    assert found.count("a.cab") == (1, 0, 1, False)
    assert set(found.codes("a.cab")) == {"unsupported"}


def test_a_damaged_cabinet_adds_up() -> None:
    files = {f"{n}.bin": random.Random(n).randbytes(40_000) for n in range(4)}
    data = bytearray(cabinet(files))
    data[-60_000:-59_000] = bytes(1000)
    found = unpack(b"a.cab", bytes(data))
    assert found.by_path["a.cab", "0.bin"].size == 40_000
    announced, emitted, failed, unknown = found.count("a.cab")
    assert (announced, emitted + failed, unknown) == (4, 4, False)
    assert failed


def test_members_that_are_left_have_a_bound() -> None:
    """Nobody decodes a bomb only to get past it: the rest is `expansion_limit`."""
    bomb = cabinet({"bomb.bin": bytes(20_000_000), "behind.txt": b"words"})
    assert len(bomb) < 100_000
    left = CabHandler().children(MemorySource(b"x", bomb), Limits(expansion_floor=1_000_000))
    assert next(left).name == b"bomb.bin"  # and nobody reads it
    with pytest.raises(DocumentError, match=r"^expansion_limit:"):
        next(left)


def test_a_fault_of_the_file_comes_out_as_it_was() -> None:
    """The filer's errors are no damage of the document, although they pass through C."""

    class File:
        def read(self, count: int) -> bytes:
            raise SourceFileError(ExceptionCode.UNREADABLE, "the filer says no", errno=5)

        def tell(self) -> int:
            return 0

        def seek(self, place: int) -> int:
            return place

    with pytest.raises(SourceFileError) as caught:
        ArchiveReader(File(), 1000, "cab").next()  # type: ignore[arg-type]
    assert caught.value.errno == 5


def test_the_library_comes_with_the_installation() -> None:
    path = libarchive.library()._name
    assert path == importlib.util.find_spec("archi").origin  # type: ignore[union-attr]


def test_without_the_library_it_states_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """`unsupported` with a package's name, not a crash."""

    def nothing(path: str) -> None:
        raise OSError(f"{path}: no such library")

    libarchive.library.cache_clear()
    monkeypatch.setattr("readers.archives.libarchive.ctypes.CDLL", nothing)
    try:
        with pytest.raises(DocumentError) as caught:
            list(CabHandler().children(MemorySource(b"x", cabinet({"a": b"b"})), Limits()))
    finally:
        libarchive.library.cache_clear()
    assert caught.value.code is ExceptionCode.UNSUPPORTED
    assert "libarchive13" in caught.value.detail
