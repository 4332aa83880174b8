"""Which bytes of an encrypted presentation are encrypted ([MS-PPT] 2.3.7): each object by itself, under its number."""

from __future__ import annotations

import itertools
import struct
from dataclasses import dataclass

from readers.errors import DocumentError, ExceptionCode
from readers.office.encryption.locks import unknown
from readers.office.encryption.rc4 import Keys
from readers.office.ppt.records import HEADER, PERSIST_DIRECTORY, USER_EDIT, Records, entries

TOKEN, _PLAIN_TOKEN = struct.pack("<I", 0xF3D1C4DF), struct.pack("<I", 0xE391C05F)  # CurrentUserAtom.headerToken
_TOKEN_AT = 12
_SESSION_REFERENCE = 28  # in the edit: the number of the object with the encryption's header
_SESSION = 0x2F14
PICTURES = DocumentError(ExceptionCode.ENCRYPTED, "the pictures of an encrypted presentation are not decrypted")


@dataclass(frozen=True, slots=True)
class Session:
    """The one edit of an encrypted presentation."""

    edit: int  # where its data begin
    places: dict[int, int]  # number of an object → offset
    number: int  # of the object with the header
    header: bytes


def session_of(stream: bytes, user: bytes) -> Session:
    """What `stream` (PowerPoint Document) and `user` (Current User) say; DocumentError `encrypted` if they do not."""
    records = Records(stream)
    edit = records.at(int.from_bytes(user[16:20], "little"))
    if edit is None or edit.kind != USER_EDIT:
        raise unknown("its last edit is not to be found")
    directory = records.at(records.word(edit, 12))
    if directory is None or directory.kind != PERSIST_DIRECTORY:
        raise unknown("its objects are not to be found")
    places = dict(entries(records.data(directory)))
    number = records.word(edit, _SESSION_REFERENCE)
    session = records.at(places.get(number, -1))
    if session is None or session.kind != _SESSION:
        raise unknown("its header is not to be found")
    return Session(edit.start, places, number, records.data(session))


def decrypted(stream: bytes, user: bytes, session: Session, keys: Keys) -> tuple[bytes, bytes]:
    """The streams Current User and PowerPoint Document as they are without a password."""
    out = bytearray(stream)
    starts = sorted(set(session.places.values()) | {len(stream)})
    ends = dict(itertools.pairwise(starts))
    for number, at in session.places.items():
        head = stream[at : at + HEADER.size]
        if number == session.number or len(head) < HEADER.size:
            continue
        size = HEADER.unpack(keys.block(number, head))[2]
        end = min(at + HEADER.size + size, ends[at])
        out[at:end] = keys.block(number, stream[at:end])
    at = session.edit + _SESSION_REFERENCE
    out[at : at + 4] = bytes(4)
    return user[:_TOKEN_AT] + _PLAIN_TOKEN + user[_TOKEN_AT + 4 :], bytes(out)
