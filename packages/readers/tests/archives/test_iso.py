"""readers.archives.iso: disc images with each kind of names, links, large files, cut and damaged ones."""

import io
import random

import pycdlib
import pytest
from archive_files import disc as image_of
from archive_files import written
from as_found import Found

from core.records import Limits
from readers.archives.iso import IsoHandler
from readers.base import Child, MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import identify
from readers.records import TextState

ISO = IsoHandler()
NOISE = random.Random(9).randbytes(50_000)
FILES = {"größe a.txt": b"hello " * 900, "empty": b"", "dir/inner.bin": NOISE}


def disc(files: dict[str, bytes], *, rock_ridge: bool = True, **how: bool) -> bytes:
    return image_of(list(files.items()), rock_ridge=rock_ridge, **how)


def children(data: bytes) -> list[tuple[Child, bytes]]:
    """Children with their bytes."""
    found = Found(ISO, data, b"x.iso")
    if found.error:
        raise found.error
    return list(zip(found.children, found.bodies, strict=True))


@pytest.mark.parametrize(("joliet", "rock_ridge"), [(True, False), (False, True), (True, True)])
def test_names_and_bytes(joliet: bool, rock_ridge: bool) -> None:
    data = disc(FILES, joliet=joliet, rock_ridge=rock_ridge)
    source = MemorySource(b"x", data)
    assert identify(source) == "application/x-iso9660-image"
    found = children(data)
    assert {child.name.decode(): body for child, body in found} == FILES
    assert [child.ordinal for child, _ in found] == [0, 1, 2]
    assert ISO.announced(source) == 3
    assert ISO.text(source, Limits()).state is TextState.EMPTY


def test_plain_names_lose_their_version() -> None:
    """ISO 9660 without extensions: no `;1` behind the names."""
    assert {child.name for child, _ in children(disc(FILES, rock_ridge=False))} == {b"F0", b"F1", b"DIR/F2"}


def test_what_another_kind_of_name_alone_leads_to() -> None:
    """A disc for several systems: programs of one see a note, those of UDF the files; both are read."""
    image = pycdlib.PyCdlib()
    image.new(udf="2.60")
    image.add_fp(io.BytesIO(b"note"), 4, "/README.TXT;1", udf_path="/note.txt")
    image.add_fp(io.BytesIO(b"plain"), 5, "/ALONE.TXT;1")
    image.add_fp(io.BytesIO(b"words"), 5, udf_path="/größe.txt")
    data = written(image)
    found = {child.name.decode(): body for child, body in children(data)}
    assert found == {"note.txt": b"note", "größe.txt": b"words", "ALONE.TXT": b"plain"}
    assert ISO.announced(MemorySource(b"x.iso", data)) == 3


def test_links_and_large_files() -> None:
    """A symbolic link has no bytes; over 8 MB a file is a stream."""
    body = NOISE * 170
    found = {child.name: (child, data) for child, data in children(disc({"big": body, "small": b"s"}, link=True))}
    link = found[b"link"][0].error
    assert (link and link.code) is ExceptionCode.SYMLINK
    assert found[b"big"][0].size_hint == len(body)
    assert found[b"big"][1] == body
    assert found[b"small"][1] == b"s"


def test_an_image_with_a_boot_record_is_known_by_its_name() -> None:
    data = b"\x33\xed\x90" * 100 + disc(FILES)[300:]
    assert identify(MemorySource(b"linux.ISO", data)) == "application/x-iso9660-image"
    assert identify(MemorySource(b"linux.bin", data)) != "application/x-iso9660-image"


def test_cut_and_damaged_images() -> None:
    data = disc(FILES)
    cut = data[: data.index(NOISE) + 10_000]
    (found,) = [(child, body) for child, body in children(cut) if child.error]
    assert (found[0].name, found[0].emit, found[1]) == (b"dir/inner.bin", True, NOISE[:10_000])
    assert (found[0].error and found[0].error.code) is ExceptionCode.TRUNCATED
    gone = data[: data.index(NOISE) - 2048]
    assert [(child.name, child.emit) for child, _ in children(gone) if child.error][-1] == (b"dir/inner.bin", False)
    with pytest.raises(DocumentError, match="cannot be read"):
        children(data[: 17 * 2048])
    assert ISO.announced(MemorySource(b"x.iso", data[: 17 * 2048])) is None
