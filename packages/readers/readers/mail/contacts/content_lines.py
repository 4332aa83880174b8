"""The lines that vCards and calendars consist of (RFC 6350 section 3.3, RFC 5545 section 3.1, vCard 2.1 section 2)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from readers import charset
from readers.charset import Detected
from readers.mail.base64 import base64_damage, decode_base64
from readers.mail.transfer import from_quoted_printable

_FOLD = re.compile(rb"\r?\n[ \t]")
# Within the bytes of one character: a blank cannot be of the value there.
_SPLIT_CHARACTER = re.compile(rb"(=[0-9A-Fa-f]{2})=?[ \t]*\r?\n[ \t]+(?==[89ABab][0-9A-Fa-f])")
_BASE64_LINE = re.compile(r"[A-Za-z0-9+/]+={0,2}\s*")
# vCard 2.1 and vCalendar 1.0 fold where a blank is, which stays (RFC 822, 3.4.8).
_OLD_FOLD, _OLD = re.compile(rb"\r?\n(?=[ \t])"), (b"2.1", b"1.0")
_VERSION = re.compile(rb"^VERSION:[ \t]*([0-9.]+)", re.IGNORECASE | re.MULTILINE)
# Without going back: a property may have parameters without end.
_HEAD = re.compile(r"([A-Za-z0-9.-]++)((?:;(?:[^\":;]++|\"[^\"]*+\"|(?!))*+|(?!))*+):")
_MOST_PARAMETERS = 1_000  # of one property
_PARAMETER = re.compile(r";([A-Za-z0-9-]+)(?:=((?:\"[^\"]*+\"|[^\";]++|(?!))*+))?")
_ESCAPED = re.compile(r"\\([nN\\;,:])")
_IN_PARAMETER = re.compile(r"\^([n'^])")  # RFC 6868
_TOLD = ("EMAIL", "SENT-BY", "DELEGATED-TO", "DELEGATED-FROM", "MEMBER", "LABEL", "X-TITLE", "X-ADDRESS")
_MAILTO = re.compile("mailto:", re.IGNORECASE)
_NAMES = ("X-FILENAME", "FILENAME", "X-APPLE-FILENAME", "X-ORACLE-FILENAME", "X-LABEL")
_MARKED_SOFT = re.compile(rb"(?im)^[^:\r\n]*QUOTED-PRINTABLE[^\r\n]*")


@dataclass(frozen=True, slots=True)
class ContentLine:
    """One property: name in capitals without its group, parameters by name in capitals, value as text."""

    name: str
    parameters: dict[str, str]
    value: str

    @property
    def plain(self) -> str:
        """The value with its escapes undone."""
        return _without_escapes(self.value)

    @property
    def told(self) -> list[str]:
        """What its parameters say of people and places that the value does not: addresses, an address as it is printed."""
        if not self.parameters:
            return []
        said = (_without_escapes(self.parameters[name]) for name in _TOLD if name in self.parameters)
        return [plain for text in said if (plain := _MAILTO.sub("", text)) and plain not in self.value]

    @property
    def is_base64(self) -> bool:
        """Whether a parameter declares the value to be base64."""
        encoding = self.parameters.get("ENCODING")
        if encoding is None:
            return "BASE64" in self.parameters
        return encoding.upper().partition(",")[0] in ("B", "BASE64") or "BASE64" in self.parameters

    @property
    def _base64(self) -> bytes | None:
        if self.is_base64:
            return self.value.encode("ascii", "replace")
        if self.value.startswith("data:") and ";base64," in self.value[:200]:  # vCard 4.0
            return self.value.partition(",")[2].encode("ascii", "replace")
        return None

    @property
    def binary(self) -> bytes | None:
        """The bytes of a value that is encoded as base64; None for other values."""
        coded = self._base64
        return None if coded is None else decode_base64(coded)

    @property
    def damage(self) -> str | None:
        """What is wrong with that base64; None where nothing is."""
        coded = self._base64
        return None if coded is None else base64_damage(coded)

    @property
    def file_name(self) -> str:
        """The name a binary value has; "" when it has none."""
        return next((self.parameters[name] for name in _NAMES if self.parameters.get(name)), "")


def unfolded(data: bytes) -> tuple[str, Detected]:
    """The text with its lines unfolded, and what was found out about its charset."""
    if b"\0" in data:  # UTF-16
        text, detected = charset.decode(data)
        return unfolded(text.replace("\0", " ").encode("utf-8", "replace"))[0], detected
    if b"\r" in data and b"\n" not in data:  # of a Macintosh
        data = data.replace(b"\r", b"\n")
    if b"quoted-printable" in data.lower():
        data = _SPLIT_CHARACTER.sub(rb"\1", data)
        data = _without_soft_breaks(data)
    old = b":2.1" in data or b":1.0" in data
    if old and all(version[1] in _OLD for version in _VERSION.finditer(data)):
        return charset.decode(_OLD_FOLD.sub(b"", data))
    return charset.decode(_FOLD.sub(b"", data))


def _without_escapes(text: str) -> str:
    return _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], text) if "\\" in text else text


def content_lines(text: str) -> Iterator[ContentLine]:
    """Every property of an unfolded text in order, decoded; a line that is none comes as a value without a name."""
    waiting: ContentLine | None = None  # base64, which may continue in lines that are not folded
    more: list[str] = []
    for line in _lines(text):
        if waiting is not None:
            if _BASE64_LINE.fullmatch(line):
                more.append(line.strip())
                continue
            yield replace(waiting, value="".join([waiting.value, *more])) if more else waiting
            waiting, more = None, []
        match = _HEAD.match(line)
        if match is None:
            if line.strip():
                yield ContentLine("", {}, line)
            continue
        name = match[1].rpartition(".")[2].upper()
        parameters = {key.upper(): _of_parameter(value) for key, value in _parameters(match[2])}
        found = ContentLine(name, parameters, _decoded(line[match.end() :], parameters))
        if parameters and found.is_base64:
            waiting = found
        else:
            yield found
    if waiting is not None:
        yield replace(waiting, value="".join([waiting.value, *more])) if more else waiting


def may_have(data: bytes, names: Iterable[str]) -> bool:
    """Whether there can be a property of one of these names (in capitals); faster than taking all of them apart."""
    if b"\0" in data:  # UTF-16
        return True
    text = _FOLD.sub(b"", data).upper()
    return any(name.encode() in text for name in names)


def _parameters(head: str) -> Iterator[tuple[str, str]]:
    for match in itertools.islice(_PARAMETER.finditer(head), _MOST_PARAMETERS):
        yield match[1], match[2] or ""


def _of_parameter(value: str) -> str:
    """The value without its quotes and escapes."""
    if '"' in value:
        value = value.replace('"', "")
    return _IN_PARAMETER.sub(lambda match: {"n": "\n", "'": '"', "^": "^"}[match[1]], value) if "^" in value else value


def _lines(text: str) -> Iterator[str]:
    """One at a time, for there may be millions, and a list of them would take many times what the text does."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def _without_soft_breaks(data: bytes) -> bytes:
    """Lines of quoted-printable values joined: in vCard 2.1 they end with "=" where they continue (RFC 2045, 6.7)."""
    out = bytearray()
    joining = False
    for text in _lines(data.decode("latin-1")):
        line = text.encode("latin-1")
        inside = joining or _MARKED_SOFT.match(line) is not None
        soft = line.rstrip(b" \t")
        joining = inside and soft.endswith(b"=")
        out += soft[:-1] if joining else line + b"\n"
    return bytes(out)


def _decoded(value: str, parameters: dict[str, str]) -> str:
    encoding = parameters.get("ENCODING", "").upper()
    if encoding != "QUOTED-PRINTABLE" and "QUOTED-PRINTABLE" not in parameters:
        return value
    raw = from_quoted_printable(value.encode("utf-8", "replace"))
    return charset.decode(raw, parameters.get("CHARSET", ""))[0]
