"""Walking through RTF (Rich Text Format Specification 1.9.1): its text, its information group, places of its objects.

One pass over the tokens with a stack of group states; what is never shown is skipped. Why not a library: the permissive
ones (striprtf) give neither objects nor metadata, and take any document for one code page.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from readers.charset import CodePage, Detected, least_certain
from readers.clean import Collector
from readers.documents.rtf import fields, shapes, words
from readers.documents.rtf.carried import Carried
from readers.documents.rtf.fonts import Fonts
from readers.documents.rtf.groups import TOKEN, group_end
from readers.errors import DocumentError, ExceptionCode

_MAX_DEPTH = 10_000  # groups inside one another; Word writes about ten
_PUNCTUATION = "()<>[]\"'.,;:!?"  # around an address in a sentence
_NOT_OF_FONTS = re.compile(rb"\\(?:info|pict|object|objdata|pard?)(?![a-zA-Z])")


@dataclass(slots=True)
class Group:
    """What holds inside a group; an inner one begins as a copy."""

    codec: str
    fallback: int = 1  # \uc: characters that stand for a \u where a reader does not know it
    mute: bool = False  # text is not collected
    pictures: bool = True  # pictures are the document's own, not the rendering of an object
    key: str = ""  # metadata key
    apart: bool = False  # a line of its own
    again: bool = False  # repeats text that was there before


@dataclass(slots=True)
class RtfReader:
    """Reads one document; `carried`, `metadata` and `error` are filled on the way."""

    data: bytes
    collector: Collector
    carried: list[Carried] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)
    error: DocumentError | None = None
    _stack: list[Group] = field(default_factory=list)
    _now: Group = field(default_factory=lambda: Group("cp1252", mute=True))
    _pages: dict[str, CodePage] = field(default_factory=dict)
    _fonts: Fonts = field(default_factory=Fonts)
    _fonts_to: int = 0  # where the last table of fonts that was read ends: those inside it are read with it
    _bytes: list[bytes] = field(default_factory=list)  # text not decoded yet
    _info: list[str] = field(default_factory=list)
    _addresses: dict[str, None] = field(default_factory=dict)  # behind links
    _of_page: bool = False  # a web page that was wrapped
    _times: dict[int, int] = field(default_factory=dict)
    _owed: int = 0  # characters still to be dropped after a \u
    _high: int = 0  # first half of a surrogate pair
    _held: list[str] = field(default_factory=list)  # texts kept apart until the word that it was met in ends
    _last: str = ""  # character of the text
    _star: bool = False

    @property
    def text(self) -> str:
        """What was read, `\\n` between paragraphs."""
        return self.collector.text().replace("\0", "")

    @property
    def detected(self) -> Detected | None:
        """The least certain of the charsets that its code pages were read in; None where all are as declared."""
        return least_certain(page.detected for page in self._pages.values())

    def read(self) -> None:
        """To the end, or until enough text is collected."""
        at = 0
        while at >= 0 and not self.collector.cut:
            at = self._tokens(at)
        self._flush()
        self._release()
        self._tell_addresses()
        if self._stack and not self.collector.cut and self.error is None:
            self.error = DocumentError(ExceptionCode.TRUNCATED, "the RTF ends inside a group")

    def _tokens(self, at: int) -> int:
        """Read the tokens from here on; returns where to continue after a jump, -1 at the end."""
        for token in TOKEN.finditer(self.data, at):
            kind = token.lastindex
            if kind == 6:
                self._text(token[6])
            elif kind is None:  # cannot be: every alternative has a group
                continue
            elif kind <= 2:
                if token[1] not in _KNOWN and not self._star:  # most are about looks
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
                    self.error = DocumentError(ExceptionCode.CORRUPT, f"more than {_MAX_DEPTH} groups in one another")
                    return -1
                self._open()
            elif not self._close():
                self._check_rest(token.end())
                return -1
        return -1

    def _check_rest(self, at: int) -> None:
        """What follows the outermost group is no text of the document; fill bytes are no damage."""
        if self.error is None and (rest := self.data[at:].strip(b"\0 \t\r\n\x1a")):
            self.error = DocumentError(ExceptionCode.CORRUPT, f"{len(rest):,} bytes after the document were not read")

    def _open(self) -> None:
        now = self._now
        self._owed, self._star = 0, False
        self._stack.append(now)
        mute = now.mute and len(self._stack) > 1
        self._now = Group(now.codec, now.fallback, mute, now.pictures, now.key, now.apart, now.again)

    def _close(self) -> bool:
        """The end of a group; False when it was the outermost."""
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
        if key == fields.KEY:
            shown, address = fields.told(text)
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
        if symbol == b"*":  # it matters for a group's first word only (1.9.1, "Destination Control Words")
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
        """Text of its own: after the word that it is within, if it is within one."""
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
                why = "a code page of the document is not known: some of it was read as windows-1252"
                self.error = DocumentError(ExceptionCode.UNSUPPORTED, why)

    def _word(self, word: bytes, number: bytes | None, token: re.Match[bytes]) -> int | None:
        """Take a control word; returns where to continue, if not directly after it."""
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
            self._tell(token.start() - 1, None)
            return None
        if word == b"fldinst":
            return self._instruction(token)
        if word in words.SKIPPED or (starred and word not in words.ENTERED):
            return group_end(self.data, token.end())
        if word == b"fonttbl":
            return self._font_table(token)
        if word == b"upr":  # the same twice; the second one, in \ud, is in Unicode
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
            self._tell(token.end(), stop)
        return stop

    def _tell(self, start: int, stop: int | None) -> None:
        """Add, as a line, the description of a shape or picture from its properties between these places."""
        told = shapes.said(self.data, start, stop, self._fonts.unformatted, self._now.fallback)
        for text in () if self._now.again else told:
            self._flush()
            (self._hold if stop is None else self._put)(f"\n{text}\n")

    def _instruction(self, token: re.Match[bytes]) -> int | None:
        """A field's: passed over, but where it shows something itself or a link leads somewhere."""
        start, stop, now = token.end(), group_end(self.data, token.end()), self._now
        if now.mute or now.key:
            return stop
        if fields.is_read(self.data, start, stop) and not fields.has_own_result(self.data, start, stop):
            self._flush()
            now.key = fields.KEY
            return None
        if choice := fields.chosen(self.data, start, stop, self._fonts.unformatted, now.fallback):
            self._flush()
            self._put(choice)
        return stop

    def _tell_addresses(self) -> None:
        """Those behind links as lines, but for what the text shows; of a web page attributes are no text."""
        if not self._addresses or self._of_page or self.collector.cut:
            return
        words = self.collector.text().split()
        shown = {*words, *(word.strip(_PUNCTUATION) for word in words)}
        for address in self._addresses:
            if shown.isdisjoint((address, address.removeprefix("mailto:"))):
                self.collector.add(f"\n{address}")

    def _font_table(self, token: re.Match[bytes]) -> int | None:
        """Code pages by font; nothing else of the table matters. One that does not end where it should is not left out
        as a whole."""
        self._now.mute = True
        if token.end() <= self._fonts_to:
            return None
        stop = self._fonts_to = group_end(self.data, token.end())
        whole = stop < len(self.data) and _NOT_OF_FONTS.search(self.data, token.end(), stop) is None
        self._fonts.read(self.data, token.end(), stop)
        if self._stack:
            self._stack[-1].codec = self._fonts.plain  # of text before any font is named
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
        """A destination of the information group."""
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
        b"u",
        b"bin",
        b"pict",
        b"objdata",
        b"fonttbl",
        b"upr",
        b"sn",
        b"fldinst",
    )
)
