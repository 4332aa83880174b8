"""Parser of RTF (Rich Text Format Specification 1.9.1): its text, its information group, positions of its objects.

It makes one pass over the tokens with a stack of group states; hidden groups are skipped. No library is used, because
the permissive ones (striprtf) return neither objects nor metadata, and assume one code page for any document."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from readers.charset import CodePage, Detected, least_certain, read_in
from readers.clean import Collector, paired
from readers.documents.rtf import words
from readers.documents.rtf.words import TOKEN, Fonts, group_end
from readers.errors import DocumentError, corrupt, truncated, unsupported

# Objects and pictures: the position of their bytes in the RTF, and their type.

_NOT_HEX = bytes(c for c in range(256) if c not in b"0123456789abcdefABCDEF")


@dataclass(slots=True)
class Carried:
    """An object or picture: the position of its group's content in the bytes."""

    kind: bytes  # "object", or the extension of a picture
    start: int
    stop: int
    rendering: bool = False  # stands for an object or for another picture


def payload(data: bytes, carried: Carried) -> tuple[bytes, bytes]:
    r"""Return the last picture format and the bytes (hexadecimal digits and \\bin) of an object or picture."""
    digits, out, kinds = list[bytes](), list[bytes](), [b""]
    at = carried.start
    while 0 <= at < carried.stop:
        at = _payload_tokens(data, at, carried.stop, digits, out, kinds)
    out.append(_decoded(digits))
    return kinds[-1], b"".join(out)


def _decoded(digits: list[bytes]) -> bytes:
    text = b"".join(digits).translate(None, _NOT_HEX)
    digits.clear()
    return bytes.fromhex(text[: len(text) & ~1].decode("ascii"))


def _payload_tokens(data: bytes, at: int, stop: int, digits: list[bytes], out: list[bytes], kinds: list[bytes]) -> int:
    r"""Collect digits, \\bin bytes and formats of a group, without its inner groups; return where to continue, or
    -1."""
    for token in TOKEN.finditer(data, at, stop):
        if token.lastindex == 6:
            digits.append(token[6])
        elif token[1] == b"bin":
            length = max(0, int(token[2] or b"0"))
            if length:  # some programs write the word without a number, and digits after it
                out += (_decoded(digits), data[token.end() : min(stop, token.end() + length)])
            return token.end() + length
        elif token[1] in words.PICTURES:
            kinds.append(words.PICTURES[token[1]])
        elif token[5] == b"{":
            return group_end(data, token.end()) + 1
    return -1


# Descriptions of a shape or picture, and letters in it (WordArt): properties of the drawing (Rich Text
# Format Specification 1.9.1, "Drawing Properties"; their names are in [MS-ODRAW]).

_LONGEST = 8_192  # bytes of a value, as it is written
_TEXT_PROPERTY = re.compile(rb"\{\\sn (?:wzDescription|wzTooltip|gtextUNICODE)\}\s{0,8}\{\\sv[ \r\n]")
_ESCAPED = re.compile(
    rb"\\u(-?\d{1,5}) ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z'])|\\[a-zA-Z]{1,32}-?\d{0,10} ?|[\r\n]+|([^\\\r\n]+)"
)


def property_texts(data: bytes, start: int, stop: int | None, codec: str, fallback: int) -> Iterator[str]:
    r"""Yield the texts of the properties between these positions (`stop` None: of the one that begins at `start`), of a
    document in this code page; `fallback` is how many characters follow each \\u for readers that do not know it. A
    value that does not end is omitted."""
    one = _TEXT_PROPERTY.match(data, start) if stop is None else None
    for match in filter(None, [one]) if stop is None else _TEXT_PROPERTY.finditer(data, start, stop):
        end = data.find(b"}", match.end(), match.end() + _LONGEST)
        if end >= 0 and (text := plain(data[match.end() : end], codec, fallback).strip()):
            yield text


def plain(raw: bytes, codec: str, fallback: int) -> str:
    """Return a value as text: escapes decoded, control words removed."""
    out: list[str] = []
    owed = 0
    for code, coded, symbol, letters in _ESCAPED.findall(raw):
        if code:
            out.append((int(code) & 0xFFFF).to_bytes(2, "little").decode("utf-16-le", "surrogatepass"))
            owed = fallback
            continue
        piece = bytes((int(coded, 16),)) if coded else symbol + letters
        dropped = min(owed, len(piece))
        owed -= dropped
        out.append(read_in(piece[dropped:], codec))
    return paired("".join(out)).replace("\0", "")


# Text that a field's instruction shows, or its address (Rich Text Format Specification 1.9.1, "Fields"; ECMA-376 part
# 1, 17.16.5). Most fields show only their result.

KEY = "instruction"  # key of a group whose text is an instruction
_FRONT = 1_024  # bytes in which a field's word is searched
_FIRST = re.compile(rb"(?:[{}\s]|\\[a-zA-Z]{1,32}(?:-?\d{1,10})? ?|(?!))*+([A-Za-z]{2,16})(?![A-Za-z])")
_READ = frozenset((b"EQ", b"MACROBUTTON", b"GOTOBUTTON", b"HYPERLINK"))
_LINK, _CHOICE = b"HYPERLINK", b"FORMDROPDOWN"

_PARTS = re.compile(r"\s*(\S+)\s*(.*)", re.DOTALL)
_BUTTON = re.compile(r"\S+\s+(.*)", re.DOTALL)  # the text after the macro's or bookmark's name
_OF_EQUATIONS = re.compile(r"\\\*\s*(?:\"[^\"]*\"?|[^\s\\]+)|\\[a-zA-Z]+ ?(?:-?\d+)?|\\(.)|[(),;]", re.DOTALL)
_ARGUMENT = re.compile(r"\"((?:[^\"\\]|\\.|(?!))*+)\"?|\\([a-zA-Z*@#!])|([^\s\"]+)", re.DOTALL)
_WITH_VALUE = frozenset("olt*@#")  # switches; for a link only `\l` is part of the address

_CHOSEN, _UNCHOSEN = re.compile(rb"\\ff(def)?res(\d{1,3})"), 25
_ENTRY = re.compile(rb"\{\\\*\\ffl ?([^{}]*+)\}")
_RESULT = re.compile(rb"\}\s*+\{\\fldrslt")
_NO_RESULT = re.compile(rb"(?:[\s{]|\\[a-zA-Z]{1,32}(?:-?\d{1,10})? ?|(?!))*+\}")


def is_read(data: bytes, start: int, stop: int) -> bool:
    """Return whether an instruction between these positions has content of its own."""
    return _word(data, start, stop) in _READ


def has_own_result(data: bytes, start: int, stop: int) -> bool:
    """Return whether the instruction contains only what its result shows, and a program wrote that result. False for a
    link: its instruction has the address."""
    return _word(data, start, stop) != _LINK and _has_result(data, stop)


def _has_result(data: bytes, stop: int) -> bool:
    result = _RESULT.match(data, stop)
    return result is not None and _NO_RESULT.match(data, result.end(), result.end() + _FRONT) is None


def _word(data: bytes, start: int, stop: int) -> bytes:
    match = _FIRST.match(data, start, min(stop, start + _FRONT))
    return match[1].upper() if match else b""


def shown_and_address(instruction: str) -> tuple[str, str]:
    """Return the text that an instruction shows and the address of a link; either may be ""."""
    match = _PARTS.match(instruction)
    if match is None:
        return "", ""
    word, rest = match[1].upper(), match[2]
    if word == "HYPERLINK":
        return "", _address(rest)
    if word == "EQ":  # words next to or above one another; the last one, with a reading above it, ends it
        words = _OF_EQUATIONS.sub(lambda found: found[1] or " ", rest).split()
        return "".join(f" {one}" for one in words), ""
    button = _BUTTON.match(rest)
    return button[1] if button else "", ""


def _address(rest: str) -> str:
    """Return the address outside of the document that a link leads to; "" for one within it."""
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
    """Return the chosen entry of a form's list if the program wrote no result for it; "" if it did, and for other
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
    return plain(entries[number], codec, fallback) if number < len(entries) else ""


_MAX_DEPTH = 10_000  # groups inside one another; Word writes about ten
_PUNCTUATION = "()<>[]\"'.,;:!?"  # around an address in a sentence
_NOT_OF_FONTS = re.compile(rb"\\(?:info|pict|object|objdata|pard?)(?![a-zA-Z])")


@dataclass(slots=True)
class Group:
    """State inside a group; an inner group begins with a copy."""

    codec: str
    fallback: int = 1  # \uc: characters that stand for a \u where a reader does not know it
    mute: bool = False  # text is not collected
    pictures: bool = True  # pictures are the document's own, not the rendering of an object
    key: str = ""  # metadata key
    apart: bool = False  # a line of its own
    again: bool = False  # repeats text that was there before


@dataclass(slots=True)
class RtfReader:
    """Reader of one document; it fills `carried`, `metadata` and `error`."""

    data: bytes
    collector: Collector
    carried: list[Carried] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)
    error: DocumentError | None = None
    _stack: list[Group] = field(default_factory=list)
    _now: Group = field(default_factory=lambda: Group("cp1252", mute=True))
    _pages: dict[str, CodePage] = field(default_factory=dict)
    _fonts: Fonts = field(default_factory=Fonts)
    _fonts_to: int = 0  # the end of the last font table that was read: tables inside it are read with it
    _bytes: list[bytes] = field(default_factory=list)  # text not decoded yet
    _info: list[str] = field(default_factory=list)
    _addresses: dict[str, None] = field(default_factory=dict)  # behind links
    _of_page: bool = False  # a web page that was wrapped
    _times: dict[int, int] = field(default_factory=dict)
    _owed: int = 0  # characters still to be dropped after a \u
    _high: int = 0  # first half of a surrogate pair
    _held: list[str] = field(default_factory=list)  # texts kept until the word around them ends
    _last: str = ""  # character of the text
    _star: bool = False

    @property
    def text(self) -> str:
        r"""Text that was read, `\\n` between paragraphs."""
        return self.collector.text().replace("\0", "")

    @property
    def detected(self) -> Detected | None:
        """The least certain of the charsets that its code pages were decoded with; None if all are as declared."""
        return least_certain(page.detected for page in self._pages.values())

    def read(self) -> None:
        """Read to the end, or until enough text is collected."""
        at = 0
        while at >= 0 and not self.collector.cut:
            at = self._tokens(at)
        self._flush()
        self._release()
        self._add_addresses()
        if self._stack and not self.collector.cut and self.error is None:
            self.error = truncated("the RTF ends inside a group")

    def _tokens(self, at: int) -> int:
        """Read the tokens from here on; return where to continue after a jump, -1 at the end."""
        for token in TOKEN.finditer(self.data, at):
            kind = token.lastindex
            if kind == 6:
                self._text(token[6])
            elif kind is None:  # impossible: every alternative has a group
                continue
            elif kind <= 2:
                if token[1] not in _KNOWN and not self._star:  # most are about layout
                    continue
                jump = self._word(token[1], token[2], token)
                if jump is not None:
                    return jump
                if self.collector.cut:
                    return -1
            elif kind == 3:
                self._hex(token[3])
            elif kind == 4:
                self._symbol(token[4], token.start())
            elif token[5] == b"{":
                if len(self._stack) >= _MAX_DEPTH:
                    self.error = corrupt(f"groups are nested more than {_MAX_DEPTH} deep")
                    return -1
                self._open()
            elif not self._close():
                self._check_rest(token.end())
                return -1
        return -1

    def _check_rest(self, at: int) -> None:
        """Record an error for bytes after the outermost group, which are no text; fill bytes are no damage."""
        if self.error is None and (rest := self.data[at:].strip(b"\0 \t\r\n\x1a")):
            self.error = corrupt(f"{len(rest):,} bytes after the document were not read")

    def _open(self) -> None:
        now = self._now
        self._owed, self._star = 0, False
        self._stack.append(now)
        mute = now.mute and len(self._stack) > 1
        self._now = Group(now.codec, now.fallback, mute, now.pictures, now.key, now.apart, now.again)

    def _close(self) -> bool:
        """Close a group; return False if it was the outermost."""
        if not self._stack:
            return False
        self._owed, self._star = 0, False
        outer = self._stack.pop()
        if self._now.codec != outer.codec:
            self._flush()
        if self._now.key and not outer.key:
            self._flush()
            self._note(self._now.key)
        if self._now.apart and not outer.apart:
            self._characters("\n")
            self._flush()
        self._now = outer
        return bool(self._stack)

    def _note(self, key: str) -> None:
        text = "".join(self._info)
        self._info.clear()
        if key == KEY:
            shown, address = shown_and_address(text)
            self.collector.add(shown)
            if address:
                self._addresses[address] = None
            return
        value = text.strip(" ;")
        if key in ("created", "modified"):
            value = words.iso(self._times)
            self._times = {}
        if value:
            self.metadata.setdefault(key, value)

    def _text(self, raw: bytes) -> None:
        if self._owed:
            dropped = min(self._owed, len(raw))
            self._owed -= dropped
            raw = raw[dropped:]
        self._star = False
        if raw and (not self._now.mute or self._now.key):
            self._bytes.append(raw)

    def _hex(self, digits: bytes) -> None:
        if self._owed:
            self._owed -= 1
        elif not self._now.mute or self._now.key:
            self._bytes.append(bytes((int(digits, 16),)))

    def _symbol(self, symbol: bytes, at: int) -> None:
        if symbol == b"*":  # only the mark at a group's first word matters (1.9.1, "Destination Control Words")
            self._star = self.data[max(0, at - 4) : at].rstrip().endswith(b"{")
        elif (text := words.SYMBOLS.get(symbol)) is not None:
            self._characters(text)

    def _characters(self, text: str) -> None:
        if self._owed:
            self._owed -= 1
        elif not self._now.mute or self._now.key:
            if text.isascii():
                self._bytes.append(text.encode())
            else:
                self._flush()
                self._put(text)

    def _put(self, text: str) -> None:
        if self._now.key:
            self._info.append(text)
        elif self._now.apart:
            self._hold(text)
        elif text:
            if self._held:
                end = next((at for at, letter in enumerate(text) if not letter.isalnum()), len(text))
                self.collector.add(text[:end])
                text = text[end:]
                if not text:
                    return
                self._release()
            self.collector.add(text)
            self._last = text[-1]

    def _hold(self, text: str) -> None:
        """Add text of its own: after the word that it is within, if it is within one."""
        self._held.append(text)
        if not self._last.isalnum():
            self._release()

    def _release(self) -> None:
        self.collector.add("".join(self._held))
        self._held.clear()

    def _flush(self) -> None:
        if self._bytes:
            raw = b"".join(self._bytes)
            self._bytes.clear()
            codec = self._now.codec
            page = self._pages.get(codec) or self._pages.setdefault(codec, CodePage(codec))
            text = page.text(raw)
            self._put(text)
            unknown = codec == words.UNKNOWN and page.codec == codec and not (self._now.key or text.isascii())
            if unknown and self.error is None:
                why = "the document uses an unknown code page: some of it was read as windows-1252"
                self.error = unsupported(why)

    def _word(self, word: bytes, number: bytes | None, token: re.Match[bytes]) -> int | None:
        """Take a control word; return where to continue, if not directly after it."""
        starred, self._star = self._star, False
        text = words.CHARACTERS.get(word)
        if text is not None:
            self._characters(text)
            return None
        if word == b"u":
            self._unicode(int(number or b"0"))
            return None
        if word == b"bin":
            return token.end() + max(0, int(number or b"0"))
        if word in (b"pict", b"objdata"):
            return self._carry(word, token)
        if word == b"sn":
            self._add_description(token.start() - 1, None)
            return None
        if word == b"fldinst":
            return self._instruction(token)
        if word in words.SKIPPED or (starred and word not in words.ENTERED):
            return group_end(self.data, token.end())
        if word == b"fonttbl":
            return self._font_table(token)
        if word == b"upr":  # the same text twice; the second, in \ud, is in Unicode
            inner = self.data.find(b"{", token.end(), token.end() + 4)
            return group_end(self.data, inner + 1) + 1 if inner >= 0 else None
        if (action := _ACTIONS.get(word)) is not None:
            action(self, word, int(number or b"0"))
        return None

    def _carry(self, word: bytes, token: re.Match[bytes]) -> int:
        stop = group_end(self.data, token.end())
        if word == b"objdata":
            self.carried.append(Carried(b"object", token.end(), stop))
        else:
            self.carried.append(Carried(b"picture", token.end(), stop, not self._now.pictures))
            self._add_description(token.end(), stop)
        return stop

    def _add_description(self, start: int, stop: int | None) -> None:
        """Add, as a line, the description of a shape or picture from its properties between these positions."""
        texts = property_texts(self.data, start, stop, self._fonts.unformatted, self._now.fallback)
        for text in () if self._now.again else texts:
            self._flush()
            (self._hold if stop is None else self._put)(f"\n{text}\n")

    def _instruction(self, token: re.Match[bytes]) -> int | None:
        """Take a field's instruction: skip it, unless it shows something itself or is a link."""
        start, stop, now = token.end(), group_end(self.data, token.end()), self._now
        if now.mute or now.key:
            return stop
        if is_read(self.data, start, stop) and not has_own_result(self.data, start, stop):
            self._flush()
            now.key = KEY
            return None
        if choice := chosen(self.data, start, stop, self._fonts.unformatted, now.fallback):
            self._flush()
            self._put(choice)
        return stop

    def _add_addresses(self) -> None:
        """Add addresses of links that the text does not show, as lines; attributes of a web page are not text."""
        if not self._addresses or self._of_page or self.collector.cut:
            return
        words = self.collector.text().split()
        shown = {*words, *(word.strip(_PUNCTUATION) for word in words)}
        for address in self._addresses:
            if shown.isdisjoint((address, address.removeprefix("mailto:"))):
                self.collector.add(f"\n{address}")

    def _font_table(self, token: re.Match[bytes]) -> int | None:
        """Read the code pages of the fonts; nothing else of the table matters. A table that does not end where it
        should is not skipped as a whole."""
        self._now.mute = True
        if token.end() <= self._fonts_to:
            return None
        stop = self._fonts_to = group_end(self.data, token.end())
        whole = stop < len(self.data) and _NOT_OF_FONTS.search(self.data, token.end(), stop) is None
        self._fonts.read(self.data, token.end(), stop)
        if self._stack:
            self._stack[-1].codec = self._fonts.plain  # codec of text before any font is named
        return stop if whole else None

    def _unicode(self, value: int) -> None:
        self._owed = 0
        if not self._now.mute or self._now.key:
            self._flush()
            value &= 0xFFFF
            if 0xD800 <= value < 0xDC00:
                self._high = value
            elif 0xDC00 <= value < 0xE000:
                pair = 0x10000 + ((self._high - 0xD800) << 10) + (value - 0xDC00)
                self._put(chr(pair) if self._high else "\ufffd")
                self._high = 0
            elif value:
                self._put(chr(value))
        self._owed = self._now.fallback

    def _font_word(self, word: bytes, number: int) -> None:
        self._use(self._fonts.of(number))

    def _use(self, codec: str) -> None:
        if codec != self._now.codec:
            self._flush()
            self._now.codec = codec

    def _code_page(self, word: bytes, number: int) -> None:
        self._fonts.set_page(word, number)
        self._use(self._fonts.document)

    def _default_font(self, word: bytes, number: int) -> None:
        self._fonts.default = number
        self._use(self._fonts.plain)

    def _plain(self, word: bytes, number: int) -> None:
        self._use(self._fonts.plain)

    def _page(self, word: bytes, number: int) -> None:
        self._of_page = True

    def _fallback(self, word: bytes, number: int) -> None:
        self._now.fallback = min(max(number, 0), 16)

    def _group_word(self, word: bytes, number: int) -> None:
        """Take a destination, which determines the use of its group's text."""
        now = self._now
        if word in words.LOUD:
            now.mute = now.again
        elif word in words.LINKED:
            now.pictures = True
        elif word not in words.APART:
            now.mute = True
            now.pictures = now.pictures and word not in words.SHOWN_OTHERWISE
            now.again = now.again or word == words.AGAIN
        if word in words.APART:
            self._flush()
            now.apart = True
            self._characters("\n")

    def _info_word(self, word: bytes, number: int) -> None:
        """Take a destination of the information group."""
        if self._now.mute and not self._now.key:
            self._flush()
            self._now.key = words.INFO[word]
            self._now.codec = self._fonts.unformatted

    def _time_word(self, word: bytes, number: int) -> None:
        if self._now.key:
            self._times[words.TIME[word]] = number


_Action = Callable[[RtfReader, bytes, int], None]
_ACTIONS: dict[bytes, _Action] = {
    **dict.fromkeys((b"ansicpg", *words.DOCUMENT_CODECS), RtfReader._code_page),
    **dict.fromkeys((b"info", *words.MUTE, *words.LOUD, *words.LINKED, *words.APART), RtfReader._group_word),
    **dict.fromkeys(words.INFO, RtfReader._info_word),
    **dict.fromkeys(words.TIME, RtfReader._time_word),
    b"f": RtfReader._font_word,
    b"deff": RtfReader._default_font,
    b"fromhtml": RtfReader._page,
    b"plain": RtfReader._plain,
    b"uc": RtfReader._fallback,
}


_KNOWN = frozenset(
    (
        *words.CHARACTERS,
        *words.SKIPPED,
        *_ACTIONS,
        *(b"u", b"bin", b"pict", b"objdata", b"fonttbl", b"upr", b"sn", b"fldinst"),
    )
)
