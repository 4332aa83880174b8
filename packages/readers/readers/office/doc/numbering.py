"""Labels of lists in Word 97 to 2003 ([MS-DOC] 2.4.6.3, 2.9.131 to 2.9.150). A paragraph's list is one of its
properties or those of its style. Lists are in a table of definitions and one of instances.

Damage here loses labels but no text, and is not reported."""

from __future__ import annotations

import bisect
import re
import struct
from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from readers.office.counting import LEVELS, LONGEST, Counts, Level
from readers.office.doc.pieces import PieceTable, located, sliced, two

_STYLES, _PARAGRAPHS, _LISTS, _INSTANCES = 0xA2, 0x102, 0x2E2, 0x2EA  # offsets of each in the first block
_PAGE = 512
_LEVEL_OF, _LIST_OF = 0x260A, 0x460B  # modifiers of paragraphs (2.6.2)
_SIZES = (1, 1, 2, 4, 2, 2, -1, 3)  # bytes of operands by the upper bits of a modifier
_LONG_SIZES = frozenset((0xD608, 0xC615))  # their size is stored differently; nothing after them is needed
_LIST, _INSTANCE, _LEVEL, _OVERRIDE = (
    struct.Struct(form) for form in ("<I4x18xBx", "<I8xBxxx", "<IBB9xB8xBBBx", "<iI")
)
_FIRST = ("decimal", "upperRoman", "lowerRoman", "upperLetter", "lowerLetter", "ordinal", "cardinalText", "ordinalText")
_FORMS = {**dict(enumerate(_FIRST)), 22: "decimalZero", 23: "bullet", 57: "numberInDash", 0xFF: "none"}
_ENDS = re.compile("[\r\x07\x0c]")  # of paragraphs, cells and sections
_BASES = 50  # styles that are based on one another
_NO_STYLE = 0xFFF
_COMPRESSED = 0x40000000
_HYPHEN = "\x1e"  # from this on characters are text


class _Instance(Struct):
    list: int
    starts: dict[int, int] = field(default_factory=dict)
    levels: dict[int, Level] = field(default_factory=dict)


class Numbering:
    """Lists of a document. `any` is False if it has none."""

    def __init__(self, stream: bytes, table: bytes) -> None:
        self._stream = stream
        self._lists: dict[int, dict[int, Level]] = {}
        self._instances: list[_Instance] = []
        try:
            self._lists = dict(_lists(table, *located(stream, _LISTS)))
            self._instances = list(_instances(table, *located(stream, _INSTANCES)))
        except (struct.error, IndexError):
            self._instances = []
        self.any = bool(self._instances) and any(
            level.form != "bullet" for levels in self._lists.values() for level in levels.values()
        )
        self._styles = list(_styles(sliced(table, stream, _STYLES))) if self.any else []
        self._runs = sorted(_paragraphs(stream, sliced(table, stream, _PARAGRAPHS))) if self.any else []
        self._begins = [run[0] for run in self._runs]
        self._known: dict[int, tuple[int, int] | None] = {}  # by run, which may contain any number of paragraphs

    def labels(self, text: str, pieces: PieceTable, counts: Sequence[int]) -> dict[int, str]:
        """Return labels by their position in the text; `counts` are the lengths of its stories."""
        out: dict[int, str] = {}
        at = 0
        for count in counts:
            counting = Counts(english=True)
            for begin in _begins(text, at, at + count):
                place = self._place(_offset(pieces, begin))
                if place is not None and (label := self._label(counting, *place)):
                    out[begin] = label
            at += count
        return out

    def _label(self, counting: Counts, number: int, at: int) -> str:
        own = self._instances[number - 1]
        return counting.label_of(
            number, at, lambda: (own.list, {**self._lists.get(own.list, {}), **own.levels}, own.starts)
        )

    def _place(self, offset: int) -> tuple[int, int] | None:
        """Return the instance (from 1) and the level of the paragraph whose first character is at this offset."""
        run = bisect.bisect_right(self._begins, offset) - 1
        if run < 0 or offset >= self._runs[run][1]:
            return None
        if run not in self._known:
            self._known[run] = self._listed(*self._runs[run][2:])
        return self._known[run]

    def _listed(self, style: int, modifiers: bytes) -> tuple[int, int] | None:
        """Return the same for paragraphs in a style with modifiers of their own."""
        number, level = _own(modifiers)
        for _ in range(_BASES):
            if style >= len(self._styles) or (number is not None and level is not None):
                break
            style, (by_style, at) = self._styles[style]
            number = by_style if number is None else number
            level = at if level is None else level
        return (number, level or 0) if number and number <= len(self._instances) and (level or 0) < LEVELS else None


def _begins(text: str, at: int, end: int) -> Iterator[int]:
    """Yield the beginnings of the paragraphs of a story."""
    end = min(end, len(text))
    if at < end:
        yield at
    yield from (mark.end() for mark in _ENDS.finditer(text, at, end) if mark.end() < end)


def _offset(pieces: PieceTable, at: int) -> int:
    """Return the offset of a character in the stream; -1 if it has none."""
    number = bisect.bisect_right(pieces.bounds, at) - 1
    if not 0 <= number < len(pieces.places):
        return -1
    place, behind = pieces.places[number], at - pieces.bounds[number]
    return (place & ~_COMPRESSED) // 2 + behind if place & _COMPRESSED else place + 2 * behind


def _lists(table: bytes, at: int, size: int) -> Iterator[tuple[int, dict[int, Level]]]:
    """Yield definitions by their number. Their heads are stored consecutively; the levels of all of them follow."""
    count = int.from_bytes(table[at : at + 2], "little", signed=True) if size else 0
    heads = [_LIST.unpack_from(table, at + 2 + _LIST.size * i) for i in range(max(0, count))]
    at += 2 + _LIST.size * len(heads)
    for number, flags in heads:
        levels: dict[int, Level] = {}
        for level in range(1 if flags & 1 else LEVELS):
            levels[level], at = _level(table, at)
        yield number, levels


def _level(table: bytes, at: int) -> tuple[Level, int]:
    """Return a level (LVL) and the position after it. Raises struct.error if it breaks off."""
    start, form, flags, _, characters, paragraphs, restart = _LEVEL.unpack_from(table, at)
    at += _LEVEL.size + characters + paragraphs
    (count,) = struct.unpack_from("<H", table, at)
    text = table[at + 2 : at + 2 + 2 * min(count, LONGEST)].decode("utf-16-le", "ignore")
    form_text = "".join([one for one in text if ord(one) < LEVELS or one >= _HYPHEN])  # no marks of fields
    limit = restart if flags & 0x08 else None
    return Level(start, _FORMS.get(form, "decimal"), form_text, limit, bool(flags & 0x04)), at + 2 + 2 * count


def _instances(table: bytes, at: int, size: int) -> Iterator[_Instance]:
    """Yield instances in order. Their heads are stored consecutively; the overrides of all of them follow."""
    count = int.from_bytes(table[at : at + 4], "little") if size else 0
    heads = [
        _INSTANCE.unpack_from(table, at + 4 + _INSTANCE.size * i) for i in range(min(count, size // _INSTANCE.size))
    ]
    at += 4 + _INSTANCE.size * len(heads)
    for number, overrides in heads:
        out = _Instance(number)
        at += 4
        for _ in range(overrides):
            start, flags = _OVERRIDE.unpack_from(table, at)
            at += _OVERRIDE.size
            if flags & 0x20:
                out.levels[flags & 0xF], at = _level(table, at)
            if flags & 0x10:
                out.starts[flags & 0xF] = out.levels[flags & 0xF].start if flags & 0x20 else start
        yield out


def _styles(sheet: bytes) -> Iterator[tuple[int, tuple[int | None, int | None]]]:
    """Yield for each style the one that it is based on, and the list and level that it sets (2.9.271)."""
    at, base = 2 + two(sheet, 0), two(sheet, 4)
    while at + 2 <= len(sheet):
        size = two(sheet, at)
        style = sheet[at + 2 : at + 2 + size]
        at += 2 + size + (size & 1)
        kind, based = two(style, 2) & 0xF, two(style, 2) >> 4
        place = base + 2 + 2 * two(style, base) + 2  # after its name, which ends with a zero
        modifiers = style[place + 4 : place + 2 + two(style, place)] if kind == 1 else b""
        yield based if based != _NO_STYLE else 1 << 16, _own(modifiers)


def _paragraphs(stream: bytes, table: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    """Yield (begin, end, style, modifiers) of runs of paragraphs by their positions in the stream (2.9.174, 2.9.175). A
    page is used once, however often it is listed."""
    count = max(0, (len(table) - 4) // 8)
    named = struct.iter_unpack("<I", table[4 * (count + 1) : 4 * (2 * count + 1)])
    there = len(stream) // _PAGE
    for number in dict.fromkeys(at for (one,) in named if (at := one & 0x3FFFFF) < there):
        page = stream[number * _PAGE : (number + 1) * _PAGE]
        entries = page[-1]
        if 17 * entries + 4 > _PAGE - 1:  # none
            continue
        bounds = struct.unpack_from(f"<{entries + 1}I", page)
        for i in range(entries):
            at = 2 * page[4 * (entries + 1) + 13 * i]
            if at:
                size = 2 * page[at] - 1 if page[at] else 2 * page[at + 1] if at + 1 < _PAGE else 0
                papx = page[at + 1 + (not page[at]) :][: max(0, size)]
                yield bounds[i], bounds[i + 1], two(papx, 0), papx[2:]


def _own(modifiers: bytes) -> tuple[int | None, int | None]:
    """Return the instance and the level that modifiers set."""
    number = level = None
    at = 0
    while at + 2 < len(modifiers):
        kind = two(modifiers, at)
        if kind in _LONG_SIZES:
            break
        size = _SIZES[kind >> 13]
        operand = modifiers[at + 2 : at + 2 + max(size, 1)]
        if kind == _LIST_OF:
            number = two(operand, 0)
        elif kind == _LEVEL_OF:
            level = operand[0]
        at += 2 + (size if size >= 0 else 1 + operand[0])
    return number, level
