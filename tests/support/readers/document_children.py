"""What documents of other kinds than Office's hold and say, by libraries that the product does not use: for checking a
manifest."""

import io
import re
import struct
import zipfile
from collections.abc import Iterator

import office_children
import vobject

Named = tuple[bytes, bytes]
_CARRIED = re.compile(rb"\\objdata\n([0-9a-f\n]+)|\\jpegblip\n([0-9a-f\n]+)")


def in_rtf(data: bytes) -> Iterator[Named]:
    """Packaged files and pictures, by where their digits begin."""
    for position, found in enumerate(_CARRIED.finditer(data)):
        if found[1] is None:
            yield b"picture-%d.jpg" % position, bytes.fromhex(found[2].decode())
            continue
        whole = bytes.fromhex(found[1].decode())
        length = struct.unpack_from("<I", whole, 8)[0]
        assert whole[12 : 12 + length] == b"Package\0"
        yield office_children._package(whole[20 + length :])


def in_open_document(data: bytes) -> Iterator[Named]:
    """Pictures in the archive's order."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.infolist()[0].filename == "mimetype"
        assert archive.infolist()[0].compress_type == zipfile.ZIP_STORED
        for name in archive.namelist():
            if name.startswith("Pictures/"):
                yield name.rpartition("/")[2].encode(), archive.read(name)


def in_contacts(data: bytes) -> Iterator[Named]:
    """Photos of cards, attachments of events."""
    position = 0
    for component in vobject.readComponents(data.decode()):
        for part in (component, *component.components()):
            for line in (*part.contents.get("photo", ()), *part.contents.get("attach", ())):
                name = line.params.get("X-FILENAME", [f"photo-{position}"])[0]
                yield name.encode(), line.value
                position += 1


READERS = {
    "application/rtf": in_rtf,
    "application/vnd.oasis.opendocument.text": in_open_document,
    "application/vnd.oasis.opendocument.spreadsheet": in_open_document,
    "text/vcard": in_contacts,
    "text/calendar": in_contacts,
}


def text_of(media_type: str, data: bytes) -> str:
    """Text enough to find planted terms in it; "" where the bytes say it themselves."""
    if media_type.startswith("application/vnd.oasis."):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.read("content.xml").decode()
    if media_type in ("text/vcard", "text/calendar"):
        return data.decode().replace("\r\n ", "")
    if media_type == "application/pdf":  # pdfium's page text leaves out what stands in forms
        return " ".join(value.decode() for value in re.findall(rb"/V\(([^)]*)\)", data))
    return ""
