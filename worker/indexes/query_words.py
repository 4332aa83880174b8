"""What words, phrases and nearness in a query mean; why they cannot be is told as UsageError, without its place."""

from __future__ import annotations

import re
from itertools import product

from core.errors import UsageError
from worker.indexes.nodes import Either, Fuzzy, Near, Node, Pattern, Row, Wild, Word
from worker.indexes.readings import usual
from worker.indexes.words import TOO_LONG, is_alone, placed, placed_patterns

MOST_APART = 50  # words of w/, pre/ and ~; an index keeps readings of a text so far apart (`worker.indexes.readings`)
MOST_ROWS = 1_000  # that one of them is written out to
_SHOWN = 60  # characters of a phrase that are told again
_WILD = re.compile(r"\w\*|\*\w|\w\?\w")  # in quotes; a question mark behind a word is one
_FUZZY = re.compile(r"(.+)~(\d{0,9})", re.DOTALL)


def phrase(fields: tuple[str, ...], text: str) -> Row:
    """The words of a text, as they follow each other. Its signs only separate words, so that one who meant a wildcard would
    find nothing and not be told."""
    if (sign := _WILD.search(text)) is not None:
        meant = "*" if "*" in sign[0] else "?"
        raise UsageError(f"in quotes {meant} is not a wildcard; {_unquoted(text)}, or remove it")
    return _row(fields, [(place, Word(word)) for place, word in placed(usual(text))], text)


def _unquoted(text: str) -> str:
    """How to say it where the last word alone has wildcards; else how such a thing looks."""
    head, _, last = " ".join(text.split()).rpartition(" ")
    if _WILD.search(head) or last[:1] in ("*", "?") or '"' in text or len(text) > _SHOWN:
        return "write such a word outside quotes, as in third pre/1 quart*"
    if not head:
        return f"write {last} outside quotes"
    return f"write {head} pre/1 {last}" if head.isalnum() else f'write "{head}" pre/1 {last}'


def word(fields: tuple[str, ...], text: str) -> Row:
    """A word, which may have `*` and `?` in it or `~1` behind it; several where the index has several."""
    if (fuzzy := _FUZZY.fullmatch(text)) is not None:
        return _row(fields, [(0, _fuzzy(fuzzy[1], fuzzy[2]))], text)
    if "*" in text or "?" in text:
        return _row(fields, _patterns(usual(text)), text)
    return phrase(fields, text)


def _row(fields: tuple[str, ...], places: list[tuple[int, Pattern]], text: str) -> Row:
    if not places:
        why = (
            "has no letter or digit"
            if len(text.encode("utf-8")) < TOO_LONG
            else f"has no word of less than {TOO_LONG} bytes"
        )
        raise UsageError(f"it {why}; an index contains words only")
    return Row(fields, tuple(places))


def _fuzzy(text: str, edits: str) -> Fuzzy:
    words = placed(usual(text))
    if edits not in ("", "1", "2"):
        raise UsageError("after a word use ~1 or ~2: the number of letters that may differ")
    if len(words) != 1 or set("*?") & set(text):
        raise UsageError("~ follows one word of letters and digits")
    return Fuzzy(words[0][1], int(edits or 1))


def _patterns(text: str) -> list[tuple[int, Pattern]]:
    out: list[tuple[int, Pattern]] = []
    for place, part in placed_patterns(text):
        if not set("*?") & set(part):
            out.append((place, Word(part)))
        elif part[0] not in "*?":
            out.append((place, Wild(part)))
        elif part != "*" or not out or not is_alone(out[-1][1].text):  # a phrase of letters goes on anyhow
            raise UsageError("a word cannot begin with * or ?: every word of the index would have to be compared")
    return out


def end_of_range(text: str) -> str | None:
    """One word; None for `*`."""
    if text == "*":
        return None
    words = placed(usual(text))
    if len(words) != 1:
        raise UsageError("each end of a range is one word of letters and digits, or *")
    return words[0][1]


def loose(row: Row, between: int) -> Node:
    """A phrase whose words stand in this order, with so many others between each two at most."""
    if between >= MOST_APART:
        raise UsageError(f"after a phrase use ~0 to ~{MOST_APART - 1}: the number of words in between")
    if between == 0 or len(row.places) < 2:
        return row
    if (between + 1) ** (len(row.places) - 1) > MOST_ROWS:
        raise UsageError(f"a phrase of {len(row.places)} words is too long for ~{between}")
    rows = [Row(row.fields, row.places[:1])]
    for _, pattern in row.places[1:]:
        rows = [
            Row(r.fields, (*r.places, (r.places[-1][0] + gap, pattern))) for r in rows for gap in range(1, between + 2)
        ]
    return Near(tuple(rows))


def near(left: Node, right: Node, most: int, *, ordered: bool) -> Near:
    """Where one begins 1 to `most` words behind the other's end; `ordered`: the right one behind the left one."""
    if not 1 <= most <= MOST_APART:
        raise UsageError(f"the distance must be w/1 to w/{MOST_APART} or pre/1 to pre/{MOST_APART}")
    lefts, rights = _rows(left), _rows(right)
    if {row.fields for row in lefts} != {row.fields for row in rights}:
        raise UsageError("both sides must be in the same field")
    if len(lefts) * len(rights) * most * (1 if ordered else 2) > MOST_ROWS:
        raise UsageError(f"sides of {len(lefts)} and {len(rights)} words are too many for a distance of {most}")
    rows = [row for a, b in product(lefts, rights) for row in _apart(a, b, most)]
    if not ordered:
        rows += [row for a, b in product(rights, lefts) for row in _apart(a, b, most)]
    return Near(tuple(rows))


def _rows(node: Node) -> list[Row]:
    choices = node.choices if isinstance(node, Either) else (node,)
    out = [row for row in choices if isinstance(row, Row)]
    if len(out) < len(choices):
        raise UsageError("w/ and pre/ join words, phrases, and brackets of those joined by OR")
    if any(isinstance(pattern, Fuzzy) for row in out for _, pattern in row.places):
        raise UsageError("a fuzzy word cannot be used with w/ or pre/")
    return out


def _apart(left: Row, right: Row, most: int) -> list[Row]:
    first, last = right.places[0][0], left.places[-1][0]
    return [
        Row(left.fields, (*left.places, *((last + gap + place - first, pattern) for place, pattern in right.places)))
        for gap in range(1, most + 1)
    ]
