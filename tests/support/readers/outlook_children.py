"""What Outlook's files hold, by olefile and tnefparse, which the product does not use: for checking a manifest.

A message inside has no bytes of its own there, so its bytes are given as None."""

import io
from collections.abc import Iterable, Iterator
from typing import Any

import olefile
from tnefparse import TNEF

from readers.mail_form import message_name

Named = tuple[bytes, bytes | None]


def in_msg(data: bytes) -> Iterator[Named]:
    """Attachments by their numbers."""
    with olefile.OleFileIO(io.BytesIO(data)) as file:

        def stream(*path: str) -> bytes:
            return bytes(file.openstream(list(path)).read())

        tops = {entry[0] for entry in file.listdir() if entry[0].startswith("__attach_version1.0_#")}
        for top in sorted(tops):
            inside = f"{top}/__substg1.0_3701000D"
            if file.exists(inside):
                subject = stream(top, "__substg1.0_3701000D", "__substg1.0_0037001F").decode("utf-16-le")
                yield message_name(subject).encode(), None
            else:
                name = stream(top, "__substg1.0_3707001F").decode("utf-16-le")
                yield name.encode(), stream(top, "__substg1.0_37010102")


def in_tnef(data: bytes) -> Iterator[Named]:
    """Attachments in their order."""
    for attachment in TNEF(data, do_checksum=True).attachments:
        inside = getattr(attachment, "embed", None)
        if inside is None:
            yield _text_of(attachment.mapi_attrs, 0x3707).encode(), bytes(attachment.data)
        else:
            yield message_name(_text_of(inside.mapiprops, 0x0037)).encode(), None


def _text_of(properties: Iterable[Any], number: int) -> str:
    """A Unicode property."""
    value = next((each.data for each in properties if each.name == number), "")
    return (value.decode("utf-16-le") if isinstance(value, bytes) else str(value)).rstrip("\0")


READERS = {"application/vnd.ms-outlook": in_msg, "application/vnd.ms-tnef": in_tnef}
