"""Plain text and HTML: text/plain, text/html."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

from dataset_gen.made import Made, Order, leaf
from dataset_gen.material.text import prose
from dataset_gen.rng import Dice

_SEED = 20_250_106
_LONGEST = 24_000  # bytes of a stretch, about


@dataclass(frozen=True, slots=True)
class RecordPool:
    """Records one after the other, and the offset of each; the last entry is the end."""

    data: bytes
    starts: tuple[int, ...]

    def take(self, dice: Dice, size: int) -> list[bytes]:
        """Return stretches of whole records with about `size` bytes in all, at least one record.

        The total may differ by a record, and by the excess of the last stretch's records over the average."""
        data, starts = self.data, self.starts
        count = len(starts) - 1
        average = max(1, starts[-1] // count)
        out: list[bytes] = []
        left = size
        while left > average // 2 or not out:
            most = max(1, min(left, _LONGEST) // average)
            wanted = most if most < 4 else dice.between(most // 2, most)
            first = dice.below(max(1, count - wanted))
            piece = data[starts[first] : starts[min(first + wanted, count)]]
            out.append(piece)
            left -= len(piece)
        return out


def make_pool(name: str, size: int, record: Callable[[Dice, int], str]) -> RecordPool:
    """About `size` bytes of records; `record` makes number N of them, line break included."""
    dice = Dice(_SEED + int.from_bytes(name.encode(), "big"))
    records: list[bytes] = []
    total = 0
    while total < size:
        records.append(record(dice, len(records)).encode("utf-8"))
        total += len(records[-1])
    return RecordPool(b"".join(records), (0, *accumulate(map(len, records))))


_SOURCE_POOL_BYTES = 400_000
_LOG_BYTES = 1_200_000


@functools.cache
def _names() -> tuple[str, ...]:
    """Words that can be names in every language: made-up ones mostly, none of them a keyword."""
    words: dict[str, None] = {}
    for sentence in prose().plain[:4000]:
        words.update(dict.fromkeys(word for word in sentence.lower().rstrip(".").split() if len(word) > 7))
    keywords = {"continue", "function", "volatile", "abstract", "protected", "synchronized", "interface", "nonlocal"}
    return tuple(word for word in words if word.isascii() and word.isalpha() and word not in keywords)


def _blank(dice: Dice, template: str) -> str:
    """Return the template with names for a … e, numbers for i and j, and a sentence for s."""
    names = _names()
    taken: dict[str, None] = {}
    while len(taken) < 5:
        taken[dice.pick(names)] = None
    a, b, c, d, e = taken
    i, j = dice.below(1000), dice.below(100)
    for key, value in zip("abcdeijs", (a, b, c, d, e, i, j, dice.pick(prose().plain)), strict=True):
        template = template.replace(f"@{key}", str(value))
    return template


_PYTHON = (
    'def @a_@b(@c, @d=@i):\n    """@s"""\n    @e = []\n    for entry in @c:\n        if entry.@b > @d:\n'
    "            @e.append(entry)\n    return @e\n\n\n",
    "class @a_@b:\n    # @s\n    def __init__(self, @c):\n        self.@c = @c\n        self.@d = {}\n\n"
    "    def @e(self, key):\n        return self.@d.get(key, @i)\n\n\n",
    'def @c_@e(path):\n    with open(path, encoding="utf-8") as stream:\n        lines = stream.read().splitlines()\n'
    "    if len(lines) < @j:\n        raise ValueError(f\"@a: {len(lines)}\")\n    return {'@b': lines, '@d': @i}\n\n\n",
)
_C = (
    "/* @s */\nstatic int @a_@b(const struct @c *@d, size_t count)\n{\n\tint @e = @i;\n\n\tfor (size_t n = 0; n < count; n++) {\n"
    "\t\tif (@d[n].length > @j)\n\t\t\t@e += @d[n].length;\n\t}\n\treturn @e;\n}\n\n",
    "#define @a_MAX @i\n\nstruct @a_@b {\n\tuint32_t @c;\t/* @s */\n\tchar @d[@j + 1];\n\tstruct @a_@b *next;\n};\n\n",
    "void @b_@e(char *@c)\n{\n\tif (@c == NULL)\n\t\treturn;\n\tfree(@c);\t/* @s */\n}\n\n",
)
_JAVA = (
    "    /** @s */\n    public int @a(List<String> @b, int @c) {\n        int @d = @i;\n        for (String @e : @b) {\n"
    "            @d += @e.length() > @c ? @j : 1;\n        }\n        return @d;\n    }\n\n",
    "    private static final int @a_@b = @i;\n\n    private final Map<String, Long> @c = new HashMap<>();\n\n",
    "    // @s\n    protected void @b(String @d) throws IOException {\n        if (@d == null || @d.isEmpty()) {\n"
    '            throw new IOException("@e @j");\n        }\n        this.@c.put(@d, @iL);\n    }\n\n',
)
_SCRIPT = (
    "// @s\nexport function @a(@b, @c = @i) {\n  const @d = @b.filter((entry) => entry.@e > @c);\n"
    "  return @d.map((entry) => ({ ...entry, rank: @j }));\n}\n\n",
    'document.addEventListener("@a", (event) => {\n  if (event.target.matches(".@b")) {\n    @c(event.detail, @i);\n  }\n});\n\n',
    "const @a_@b = {\n  @c: @i,\n  @d: [@j, @i, null],\n  @e: `@s`,\n};\n\n",
)
_SQL = (
    "CREATE TABLE @a_@b (\n    id BIGINT PRIMARY KEY,\n    @c VARCHAR(@j) NOT NULL,\n    @d NUMERIC(12, 2),\n    @e DATE\n);\n\n",
    "INSERT INTO @a_@b (@c, @d, @e) VALUES (@i, '@s', @j);\n",
    "-- @s\nSELECT @a, SUM(@b) FROM @c JOIN @d USING (id) WHERE @e > @i GROUP BY @a HAVING COUNT(*) > @j;\n\n",
)
LANGUAGES: dict[str, tuple[tuple[str, ...], str, str, str]] = {  # templates, comment, head, tail
    "py": (_PYTHON, "# %s\n", "from __future__ import annotations\n\n\n", ""),
    "c": (_C, "/* %s */\n", "#include <stdint.h>\n#include <stdlib.h>\n\n", ""),
    "java": (_JAVA, "// %s\n", "import java.io.IOException;\nimport java.util.*;\n\npublic class Main {\n\n", "}\n"),
    "js": (_SCRIPT, "// %s\n", '"use strict";\n\n', ""),
    "sql": (_SQL, "-- %s\n", "", ""),
}
_LEVELS = ("INFO ", "INFO ", "INFO ", "DEBUG", "WARN ", "ERROR")


@functools.cache
def _source_pool(language: str) -> RecordPool:
    templates = LANGUAGES[language][0]
    return make_pool(language, _SOURCE_POOL_BYTES, lambda dice, _: _blank(dice, dice.pick(templates)))


def _log_line(dice: Dice, number: int) -> str:
    second = number * 7 + dice.below(7)
    clock = f"{second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
    names = _names()
    return (
        f"2021-{1 + number // 3000 % 12:02d}-{1 + number // 100 % 28:02d} {clock},{dice.below(1000):03d} "
        f"{dice.pick(_LEVELS)} [worker-{dice.below(16)}] {dice.pick(names)}.{dice.pick(names)}: "
        f"{dice.pick(prose().plain)} (id={dice.below(10_000_000)}, ms={dice.below(5000)})\n"
    )


@functools.cache
def _log_pool() -> RecordPool:
    return make_pool("log", _LOG_BYTES, _log_line)


def builder(language: str) -> Callable[[Order], Made]:
    """Makes source files of one language: a comment with the file's number, the terms as comments, functions."""
    _, comment, head, tail = LANGUAGES[language]

    def build(order: Order) -> Made:
        dice = order.dice
        notes = "".join(comment % f"{term}." for term in order.terms)
        start = (comment % f"File {dice.below(1 << 40)} of the build") + notes + head
        data = b"".join((start.encode(), *_source_pool(language).take(dice, order.size - len(start)), tail.encode()))
        return leaf(data, "text/plain", characters=len(data), terms=order.terms)

    return build


def build_log(order: Order) -> Made:
    """Lines of a server's log."""
    dice = order.dice
    start = f"2021-01-01 00:00:00,000 INFO  [main] starting, process {dice.below(1 << 30)}\n"
    start += "".join(f"2021-01-01 00:00:01,000 INFO  [main] {term}.\n" for term in order.terms)
    data = b"".join((start.encode(), *_log_pool().take(dice, order.size - len(start))))
    return leaf(data, "text/plain", characters=len(data), terms=order.terms)


_POOL_BYTES = 1_200_000
_PLANTED = "2019-01-01"

_Row = tuple[int, str, str, float, str]  # number, date, customer, amount, remark


def _draw(dice: Dice) -> _Row:
    n = dice.below(100_000_000)
    remark = dice.pick(prose().plain).rstrip(".")
    return n, f"20{10 + n % 13}-{1 + n % 12:02d}-{1 + n % 28:02d}", f"C{n % 9973:05d}", n % 100_000 / 100, remark


def _csv(row: _Row) -> str:
    number, date, customer, amount, remark = row
    return f"{number},{date},{customer},{amount:.2f},{remark}\n"


def _json(row: _Row) -> str:
    number, date, customer, amount, remark = row
    return (
        f'    {{"number": {number}, "date": "{date}", "customer": "{customer}", "amount": {amount:.2f}, '
        f'"open": {"true" if number % 3 else "false"}, "remark": "{remark}"}},\n'
    )


def _xml(row: _Row) -> str:
    number, date, customer, amount, remark = row
    return (
        f'  <order number="{number}" date="{date}">\n    <customer>{customer}</customer>\n'
        f"    <amount>{amount:.2f}</amount>\n    <remark>{remark}</remark>\n  </order>\n"
    )


_WRITERS: dict[str, Callable[[_Row], str]] = {"csv": _csv, "json": _json, "xml": _xml}


@functools.cache
def _pool(form: str) -> RecordPool:
    write = _WRITERS[form]
    return make_pool(form, _POOL_BYTES, lambda dice, _: write(_draw(dice)))


def _rows(order: Order, form: str, around: int) -> bytes:
    """Return a row for each term, then as many as the requested size needs in addition to `around` others; the first
    rows have numbers of this document only."""
    dice, write = order.dice, _WRITERS[form]
    own = write(_draw(dice)) + "".join(write((0, _PLANTED, "C00000", 0.0, f"{term}.")) for term in order.terms)
    return b"".join((own.encode(), *_pool(form).take(dice, order.size - around - len(own))))


def build_csv(order: Order) -> Made:
    """Build a table with a header line, numbers and a few words a row."""
    data = b"number,date,customer,amount,remark\n" + _rows(order, "csv", 40)
    return leaf(data, "text/csv", characters=len(data), terms=order.terms)


def build_json(order: Order) -> Made:
    """Build an export of a web application."""
    head = f'{{\n  "export": {order.dice.below(1 << 40)},\n  "orders": [\n'.encode()
    data = b"".join((head, _rows(order, "json", 60).removesuffix(b",\n"), b"\n  ]\n}\n"))
    return leaf(data, "application/json", characters=len(data), terms=order.terms)


def build_xml(order: Order) -> Made:
    """Build an export of an older application, in XML."""
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<orders export="{order.dice.below(1 << 40)}">\n'.encode()
    data = b"".join((head, _rows(order, "xml", 80), b"</orders>\n"))
    # The rest is tags.
    return leaf(data, "application/xml", characters=len(data) * 2 // 5, terms=order.terms)


def _encoded(order: Order, text: str) -> bytes:
    """UTF-8, or Windows line ends, or Latin-1, as in files on real disks."""
    draw = order.dice.random()
    if draw < 0.3:
        text = text.replace("\n", "\r\n")
    if draw > 0.95:
        return text.encode("latin-1")
    return text.encode("utf-8")


def build_txt(order: Order) -> Made:
    """Plain text."""
    lines = prose().lines(order.dice, max(order.size - 60, 40), accented=True)
    lines[1:1] = [f"{term}." for term in order.terms]
    return leaf(_encoded(order, "\n".join(lines) + "\n"), "text/plain", terms=order.terms)


def build_html(order: Order) -> Made:
    """Build a page with a title, headings and paragraphs."""
    title = prose().title(order.dice)
    body = [f"<p>{term}.</p>" for term in order.terms]
    for number, text in enumerate(prose().paragraphs(order.dice, max(order.size - 250, 100), accented=True)):
        if number % 8 == 0:
            body.append(f"<h2>{prose().title(order.dice, 3)}</h2>")
        body.append(f'<p class="body">{text}</p>')
    page = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{title}</title>\n<style>p.body {{ margin: 1em; }}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )
    return leaf(page.encode("utf-8"), "text/html", terms=order.terms)
