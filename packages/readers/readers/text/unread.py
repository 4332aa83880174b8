"""Marks in a text of something that it stands for and that was not read: encrypted messages, files written as letters.

Files that could be decoded are no longer in the text when it is searched, so each mark that is found is one of a failure.
"""

from __future__ import annotations

import re

from readers.errors import DocumentError, ExceptionCode

_WORDS = ("-----BEGIN ", "begin", "(This file must be converted with BinHex", "Content-Transfer-Encoding:")
_ARMOUR = re.compile(r"^[ \t]*-----BEGIN (PGP MESSAGE|PKCS7|CMS)-----", re.MULTILINE)
_FILE = re.compile(
    r"^[>| \t]*(begin(?:-base64)?(?:-encoded)? 0?[0-7]{3} \S|=ybegin (?:part|line|size|total)=\d"
    r"|\(This file must be converted with BinHex"
    r"|Content-Transfer-Encoding:[ \t]*base64(?=[^\n]*\n(?:[^\n]{3,200}\n){0,8}[>| \t\r]*\n[>| \t]*[A-Za-z0-9+/]{16,76}={0,2}\s))",
    re.MULTILINE,
)


def unread_in(text: str) -> DocumentError | None:
    """Why a text is less than what it declares: `encrypted` for a message in PGP or CMS, `corrupt` for a file in
    uuencode, yEnc or BinHex that could not be decoded; None of other texts."""
    if not any(word in text for word in _WORDS):
        return None
    if (armour := _ARMOUR.search(text)) is not None:
        return DocumentError(ExceptionCode.ENCRYPTED, f"a message in the text was not read: {armour[1]}")
    if (file := _FILE.search(text)) is not None:
        return DocumentError(ExceptionCode.CORRUPT, f"a file in the text could not be decoded: {file[1][:40]!r}")
    return None
