"""What Outlook keeps: MSG, winmail.dat, mail stores."""

import functools
import struct

from outlook_bytes import attribute, winmail
from outlook_forms import mail_store

from dataset_gen.formats import msg, tnef
from dataset_gen.formats.mapi_mail import message_of
from readers.mail_form import MailAttachment, MailForm
from shapes.shape import shapes

_FILE = MailAttachment(name="a.bin", data=b"x")
_PEOPLE = ("Ann", "a@b.cd")


@functools.lru_cache(maxsize=4)
def _store(n: int, folders: int = 1) -> bytes:
    form = MailForm(subject="s", plain="p\n")
    return mail_store(*(((f"Folder {i % folders}",), form) for i in range(n)))


def _stored(**fields: object) -> bytes:
    return mail_store((("Inbox",), MailForm(subject="s", **fields)))  # type: ignore[arg-type]


def _msg(**fields: object) -> bytes:
    return msg.write_item(message_of(MailForm(subject="s", **fields)))  # type: ignore[arg-type]


def _tnef(**fields: object) -> bytes:
    return tnef.write(message_of(MailForm(subject="s", **fields)))  # type: ignore[arg-type]


def _values(n: int) -> bytes:
    """A property of very many empty values."""
    return attribute(0x00069003, struct.pack("<IHHI", 1, 0x101E, 0x1000, min(n, 100_000)) + bytes(4 * n))


def _properties(n: int) -> bytes:
    return attribute(0x00069003, struct.pack("<I", n) + struct.pack("<HHI", 3, 0x10, 1) * n)


def _group(n: int) -> bytes:
    """A header with a group of very many people; the message has no table of them."""
    header = ("To: a: " + "b@c.de, " * n + "\n").encode("utf-16-le")
    value = struct.pack("<IHHII", 1, 0x1F, 0x7D, 1, len(header)) + header + bytes(-len(header) % 4)
    return winmail(attribute(0x00069003, value))


SHAPES = [
    *shapes(
        "application/vnd.ms-outlook",
        ("attachments", 50, lambda n: _msg(plain="p", attachments=(_FILE,) * n)),
        ("people", 100, lambda n: _msg(plain="p", to=(_PEOPLE,) * n)),
        ("a long text", 20_000, lambda n: _msg(plain="a\n" * n)),
    ),
    *shapes(
        "application/vnd.ms-tnef",
        ("attachments", 100, lambda n: _tnef(plain="p", attachments=(_FILE,) * n)),
        ("people", 200, lambda n: _tnef(plain="p", to=(_PEOPLE,) * n)),
        ("attributes", 3_000, lambda n: winmail(attribute(0x00018004, b"a\0") * n)),
        ("files that begin", 2_000, lambda n: winmail(attribute(0x00069002, b"", 2) * n)),
        ("values of a property", 5_000, lambda n: winmail(_values(n))),
        ("properties", 3_000, lambda n: winmail(_properties(n))),
        ("a group of people", 1_000, _group),
    ),
    *shapes(
        "application/vnd.ms-outlook-pst",
        ("messages", 50, _store),
        ("folders", 30, lambda n: _store(n, n)),
        ("attachments of a message", 50, lambda n: _stored(plain="p", attachments=(_FILE,) * n)),
        ("people of a message", 100, lambda n: _stored(plain="p", to=(_PEOPLE,) * n)),
    ),
]
