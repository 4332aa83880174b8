"""Marks of unread content in a text: encrypted messages, encoded files, half a character.

Decoded files are no longer in the text when it is searched, so each mark found is a failure."""

from __future__ import annotations

import re

from readers.errors import DocumentError, corrupt, encrypted, truncated

_ARMOUR = re.compile(r"-----BEGIN (PGP MESSAGE|PKCS7|CMS)-----")
# By a word in each: searching a text for a word is faster than with an expression.
_FILES = {
    "begin": re.compile(
        r"begin(?:(?:-base64)?(?:-encoded)? (?:0|100|0100)?[0-7]{3}(?: \S[^\n]{0,20}|\s*\nM[ -`]{60}\s)|(?<==ybegin) (?:part|line|size|total)=\d)"
    ),
    "(This file must be converted with BinHex": re.compile(r"\(This file must be converted with BinHex"),
    "Content-Transfer-Encoding:": re.compile(
        r"Content-Transfer-Encoding:[ \t]*base64"
        r"(?=[^\n]*\n(?:[^\n]{3,200}\n){0,8}[>| \t\r]*\n[>| \t]*[A-Za-z0-9+/]{16,76}={0,2}\s)"
    ),
}
_QUOTING = ">| \t"


def unread_in(text: str) -> DocumentError | None:
    """Return the error if a text contains less than it declares: `encrypted` for a message in PGP or CMS, unless it is
    quoted, `corrupt` for a file in uuencode, yEnc, BinHex or base64 with its header that could not be decoded,
    `truncated` if it ends within a character; None for other texts."""
    for armour in _ARMOUR.finditer(text) if "-----BEGIN " in text else ():
        if _begins_line(text, armour.start(), " \t"):
            return encrypted(f"a message in the text was not read: {armour[1]}")
    if text.endswith("\ufffd") and not text.endswith("\ufffd\ufffd"):
        return truncated("the text ends within a character")
    for word, mark in _FILES.items():
        for file in mark.finditer(text) if word in text else ():
            if _begins_line(text, file.start(), _QUOTING):
                return corrupt(f"a file in the text could not be decoded: {file[0]!r}")
    return None


def _begins_line(text: str, at: int, in_front: str) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].removesuffix("=y").strip(in_front)
