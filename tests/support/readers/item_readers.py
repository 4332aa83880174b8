"""What a manifest is held against: children and text of an item, by readers that the product does not use."""

import email
import email.policy
import gzip
import io
import re
import tarfile
import zipfile
from collections.abc import Iterator
from email.message import EmailMessage

import document_children
import office_children
import outlook_children
import py7zr
import pypdfium2
from lxml import etree
from pst_seen import Strict, canonical
from py7zr.io import BytesIOFactory

from core.places import number
from readers.mail_form import store_name

OOXML = "application/vnd.openxmlformats-officedocument."
Found = tuple[bytes, bytes, bytes | None]  # name, ordinal, bytes where it has some


def _zip(data: bytes) -> Iterator[Found]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for index, info in enumerate(archive.infolist()):
            if not info.is_dir():
                raw = info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437")
                yield raw, number(index), archive.read(info)


def _sevenz(data: bytes) -> Iterator[Found]:
    factory = BytesIOFactory(1 << 30)
    with py7zr.SevenZipFile(io.BytesIO(data)) as archive:
        archive.extractall(factory=factory)
        entries = archive.list()
    for position, entry in enumerate(entries):
        if not entry.is_directory:
            yield entry.filename.encode(), number(position), factory.get(entry.filename).read()


def _tar(data: bytes, mode: str) -> Iterator[Found]:
    with tarfile.open(fileobj=io.BytesIO(data), mode=mode, encoding="utf-8") as archive:
        for position, info in enumerate(archive):
            if info.isfile():
                content = archive.extractfile(info)
                yield info.name.encode(), number(position), content.read()


def _gzip(data: bytes) -> Iterator[Found]:
    plain = gzip.decompress(data)
    if plain[257:262] == b"ustar":
        yield from _tar(data, "r:gz")
        return
    assert data[3] == 8
    yield data[10 : data.index(b"\0", 10)], number(0), plain


def _mbox(data: bytes) -> Iterator[Found]:
    starts = [found.start() for found in re.finditer(rb"(?:\A|(?<=\n\n))From [^\n]*\n", data)]
    for start, end in zip(starts, [*starts[1:], len(data)], strict=True):
        message = data[data.index(b"\n", start) + 1 : end]
        yield b"message@%d" % start, number(start), message.removesuffix(b"\n")


def _stored_messages(data: bytes) -> list[bytes]:
    """message/rfc822 parts as they are stored: up to the line break before the next boundary of their parent."""
    out = []
    for found in re.finditer(rb"--(=_m[^\r\n]+)\r?\nContent-Type: message/rfc822[^\0]*?\r?\n\r?\n", data):
        end = re.compile(rb"\r?\n--" + re.escape(found[1])).search(data, found.end())
        out.append(data[found.end() : end.start()])
    return out


def _eml(data: bytes) -> Iterator[Found]:
    message = email.message_from_bytes(data, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    stored = _stored_messages(data)
    position = 0

    def parts(of: EmailMessage) -> Iterator[EmailMessage]:
        for part in of.iter_parts():
            if part.get_content_maintype() == "multipart":
                yield from parts(part)
            else:
                yield part

    for part in parts(message):
        if part.get_filename() is None:
            continue
        content = stored.pop(0) if part.get_content_type() == "message/rfc822" else part.get_payload(decode=True)
        yield part.get_filename().encode(), number(position), content
        position += 1


def _ooxml(data: bytes) -> Iterator[Found]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            if name.endswith((".xml", ".rels")):
                etree.fromstring(archive.read(name))
        inside = [name for name in archive.namelist() if "/media/" in name or "/embeddings/" in name]
        for position, name in enumerate(inside):
            own, content = name.rpartition("/")[2].encode(), archive.read(name)
            if content.startswith(office_children.OLE) and own.endswith(b".bin"):
                own, content = office_children.packed_file(content)
            yield own, number(position), content


def _by_library(media_type: str, data: bytes) -> Iterator[Found]:
    readers = {
        "application/msword": office_children.in_word,
        "application/vnd.ms-powerpoint": office_children.in_powerpoint,
        **document_children.READERS,
        **outlook_children.READERS,
    }
    for position, (name, content) in enumerate(readers[media_type](data) if media_type in readers else ()):
        yield name, number(position), content


def _pdf(data: bytes) -> Iterator[Found]:
    document = pypdfium2.PdfDocument(data)
    for position in range(document.count_attachments()):
        attachment = document.get_attachment(position)
        yield attachment.get_name().encode(), number(position), bytes(attachment.get_data())
    document.close()


def _pst(data: bytes) -> Iterator[Found]:
    for position, message in enumerate(Strict(io.BytesIO(data)).messages()):
        yield store_name(message.folders, message.subject), number(position), canonical(message)


def children_of(media_type: str, data: bytes) -> Iterator[Found]:
    readers = {
        "application/zip": _zip,
        "application/x-7z-compressed": _sevenz,
        "application/gzip": _gzip,
        "application/mbox": _mbox,
        "application/vnd.ms-outlook-pst": _pst,
        "message/rfc822": _eml,
        "application/pdf": _pdf,
    }
    if media_type == "application/x-tar":
        return _tar(data, "r:")
    if media_type.startswith(OOXML):
        return _ooxml(data)
    return readers[media_type](data) if media_type in readers else _by_library(media_type, data)


def text_of(media_type: str, data: bytes) -> str:
    """Text enough to find planted terms in it."""
    if (found := document_children.text_of(media_type, data)) and media_type != "application/pdf":
        return found
    if media_type.startswith(OOXML):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return " ".join(archive.read(n).decode() for n in archive.namelist() if n.endswith(".xml"))
    if data.startswith(office_children.OLE):
        return office_children.bytes_as_text(data)
    if media_type == "application/pdf":
        document = pypdfium2.PdfDocument(data)
        return " ".join([found, *(page.get_textpage().get_text_range() for page in document)])
    if media_type == "message/rfc822":
        message = email.message_from_bytes(data, policy=email.policy.default)
        body = message.get_body(("plain",))
        return str(body.get_content())
    return data.decode("utf-8", "replace")
