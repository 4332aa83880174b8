"""What the instruction of a field shows, or addresses (Rich Text Format Specification 1.9.1, "Fields"; ECMA-376 part 1,
17.16.5). Of most fields their result is what is shown, and nothing else."""

from __future__ import annotations

import re

from readers.documents.rtf import shapes

KEY = "instruction"  # of a group whose text is one
_FRONT = 1_024  # bytes in which a field's word is
_FIRST = re.compile(rb"(?:[{}\s]|\\[a-zA-Z]{1,32}(?:-?\d{1,10})? ?|(?!))*+([A-Za-z]{2,16})(?![A-Za-z])")
_READ = frozenset((b"EQ", b"MACROBUTTON", b"GOTOBUTTON", b"HYPERLINK"))
_LINK, _CHOICE = b"HYPERLINK", b"FORMDROPDOWN"

_PARTS = re.compile(r"\s*(\S+)\s*(.*)", re.DOTALL)
_BUTTON = re.compile(r"\S+\s+(.*)", re.DOTALL)  # behind what it does or where it leads
_OF_EQUATIONS = re.compile(r"\\\*\s*(?:\"[^\"]*\"?|[^\s\\]+)|\\[a-zA-Z]+ ?(?:-?\d+)?|\\(.)|[(),;]", re.DOTALL)
_ARGUMENT = re.compile(r"\"((?:[^\"\\]|\\.|(?!))*+)\"?|\\([a-zA-Z*@#!])|([^\s\"]+)", re.DOTALL)
_WITH_VALUE = frozenset("olt*@#")  # switches; of a link's only `\l` is part of the address

_CHOSEN, _UNCHOSEN = re.compile(rb"\\ff(def)?res(\d{1,3})"), 25
_ENTRY = re.compile(rb"\{\\\*\\ffl ?([^{}]*+)\}")
_RESULT = re.compile(rb"\}\s*+\{\\fldrslt")
_NO_RESULT = re.compile(rb"(?:[\s{]|\\[a-zA-Z]{1,32}(?:-?\d{1,10})? ?|(?!))*+\}")


def is_read(data: bytes, start: int, stop: int) -> bool:
    """Whether an instruction between these places has content of its own."""
    return _word(data, start, stop) in _READ


def has_own_result(data: bytes, start: int, stop: int) -> bool:
    """Whether it contains nothing but what its result shows, and a program wrote that result. Not so for a link: its
    instruction has the address."""
    return _word(data, start, stop) != _LINK and _has_result(data, stop)


def _has_result(data: bytes, stop: int) -> bool:
    result = _RESULT.match(data, stop)
    return result is not None and _NO_RESULT.match(data, result.end(), result.end() + _FRONT) is None


def _word(data: bytes, start: int, stop: int) -> bytes:
    match = _FIRST.match(data, start, min(stop, start + _FRONT))
    return match[1].upper() if match else b""


def told(instruction: str) -> tuple[str, str]:
    """(what it shows, the address behind a link), either of which may be ""."""
    match = _PARTS.match(instruction)
    if match is None:
        return "", ""
    word, rest = match[1].upper(), match[2]
    if word == "HYPERLINK":
        return "", _address(rest)
    if word == "EQ":  # words next to or above one another; the last of them, which has a reading above it, ends it
        words = _OF_EQUATIONS.sub(lambda found: found[1] or " ", rest).split()
        return "".join(f" {one}" for one in words), ""
    button = _BUTTON.match(rest)
    return button[1] if button else "", ""


def _address(rest: str) -> str:
    """Where a link leads outside of the document; "" of one within it."""
    address = place = switch = ""
    for quoted, mark, bare in _ARGUMENT.findall(rest):
        if mark:
            switch = mark.lower()
            continue
        value = (quoted or bare).replace("\\\\", "\\").strip()
        if switch in _WITH_VALUE:
            place = value if switch == "l" else place
        elif not address:
            address = value
        switch = ""
    return f"{address}#{place}" if address and place else address


def chosen(data: bytes, start: int, stop: int, codec: str, fallback: int) -> str:
    """The entry of a list that is chosen in a form, of which programs write no result; "" where they do, and of other
    fields."""
    if _word(data, start, stop) != _CHOICE:
        return ""
    if _has_result(data, stop):
        return ""
    numbers = {bool(default): int(number) for default, number in _CHOSEN.findall(data, start, stop)}
    number = numbers.get(False, _UNCHOSEN)
    if number == _UNCHOSEN:
        number = numbers.get(True, 0)
    entries = _ENTRY.findall(data, start, stop)
    return shapes.plain(entries[number], codec, fallback) if number < len(entries) else ""
