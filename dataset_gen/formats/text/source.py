"""Program source (Python, C, Java, JavaScript, SQL) and log files, sliced from pools of functions and lines."""

from __future__ import annotations

import functools
from collections.abc import Callable

from dataset_gen.formats.order import Order
from dataset_gen.formats.text.record_pool import RecordPool, make_pool
from dataset_gen.made import Made, leaf
from dataset_gen.material.text import prose
from dataset_gen.rng import Dice

_POOL_BYTES = 400_000
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
    """The template with names for a … e, numbers for i and j, and a sentence for s."""
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
def _pool(language: str) -> RecordPool:
    templates = LANGUAGES[language][0]
    return make_pool(language, _POOL_BYTES, lambda dice, _: _blank(dice, dice.pick(templates)))


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
        data = b"".join((start.encode(), *_pool(language).take(dice, order.size - len(start)), tail.encode()))
        return leaf(data, "text/plain", characters=len(data), terms=order.terms)

    return build


def build_log(order: Order) -> Made:
    """Lines of a server's log."""
    dice = order.dice
    start = f"2021-01-01 00:00:00,000 INFO  [main] starting, process {dice.below(1 << 30)}\n"
    start += "".join(f"2021-01-01 00:00:01,000 INFO  [main] {term}.\n" for term in order.terms)
    data = b"".join((start.encode(), *_log_pool().take(dice, order.size - len(start))))
    return leaf(data, "text/plain", characters=len(data), terms=order.terms)
