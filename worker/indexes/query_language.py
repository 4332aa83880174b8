"""The query language: a query read into its meaning (`worker.indexes.nodes`), or refused at the place where it goes wrong.

    query     = all { "OR" all }
    all       = one { [ "AND" ] one }                         side by side is AND, which binds closer than OR
    one       = { "NOT" | "-" | "+" } near
    near      = part [ ( "w/" | "pre/" ) number part ]
    part      = [ field ":" ] ( "(" query ")" | range | quoted [ "~" number ] | word [ "~" [ "1" | "2" ] ] | "*" )
    range     = ( "[" | "{" ) end "TO" end ( "]" | "}" )      "*": without that end
    quoted    = '"' … '"' | "'" … "'"                         a backslash before a quote or a backslash
    word      = what has no blank, quote or bracket; `*` (letters or none) and `?` (a letter) behind its first letter

A recursive descent: luqum, which read the queries of one engine before, knows no `w/5` and tells no places. What the words
mean stands in docs/search.md.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from core.errors import UsageError
from worker.indexes.base import QUERY_FIELDS
from worker.indexes.ledger_fields import ALIASES, LEDGER_FIELDS, checked, ledger_kind
from worker.indexes.nodes import All, Asked, Between, Either, Everything, Node, one_of
from worker.indexes.query_words import end_of_range, loose, near, phrase, word

DEFAULT_FIELDS = ("body", "subject", "title", "name")
MOST_CHARACTERS = 1_000_000
MOST_WORDS = 20_000
DEEPEST = 50

_OPERATOR = re.compile(r"(AND|OR|NOT)(?![^\s()\"'])")
_NEAR = re.compile(r"(w|pre)/(\d{1,9})(?![^\s()\"'])", re.IGNORECASE)
_FIELD = re.compile(r"([^\W\d]\w*):(?=\S)")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'(?!\w)', re.DOTALL)
_WORD = re.compile(r'[^\s()"\[\]{}]+')
_DEGREE = re.compile(r"~(\d{1,9})(?![^\s()])")
_RANGE = re.compile(r"""([\[{])\s*("[^"]*"|[^\s\[\]{}"]+)\s+TO\s+("[^"]*"|[^\s\[\]{}"]+)\s*([\]}])""")
_QUOTE_ALIKE = re.compile("[“”„‟«»＂]")  # that word processors make of the quotes of a keyboard
_DASH_ALIKE = re.compile("(?:<=|>=|!=|[<>=])?([‘‚‛‐‑‒–—―−－])")  # and of - and ' where a word begins
_COMPARED = re.compile(r"(<=|>=|!=|<|>|=|)(.*)", re.DOTALL)


def parse(query: str) -> Node:
    """The query's meaning; raises UsageError with one clear line."""
    try:
        query.encode("utf-8")
    except UnicodeEncodeError as e:
        raise UsageError(f"the query {query[:120]!r} is not Unicode text; type it again") from e
    if "\0" in query:
        raise UsageError(f"the query has a NUL at character {query.index(chr(0)) + 1}; remove it")
    if not query.strip():
        raise UsageError("the query is empty; give at least one word, or * for everything")
    if len(query) > MOST_CHARACTERS:
        raise UsageError(f"the query has {len(query):,} characters; at most {MOST_CHARACTERS:,} are allowed")
    return _Reading(query).whole()


class _Reading:
    """One query, read from the left; a method takes what it is named for and leaves what follows."""

    def __init__(self, query: str) -> None:
        self._text = query
        self._at = 0
        self._words = 0

    def whole(self) -> Node:
        node = self._either(DEFAULT_FIELDS, 0)
        if self._next(")"):
            self._wrong("this bracket closes none; remove it, or quote it")
        return _positive(node)

    def _wrong(self, why: str, at: int | None = None) -> NoReturn:
        """Refuse the query at this place, or at the one that is given."""
        at = self._at if at is None else at
        there = self._text[at : at + 30]
        shown = f"character {at + 1}, {there!r}" if there.strip() else "its end"
        raise UsageError(f"syntax error in the query at {shown}: {why}")

    @contextmanager
    def _at_place(self, at: int) -> Iterator[None]:
        """What is wrong inside is wrong there."""
        try:
            yield
        except UsageError as error:
            self._wrong(str(error), at)

    def _next(self, sign: str) -> bool:
        """Whether that comes next, blanks aside; blanks are taken."""
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1
        return self._at < len(self._text) and self._text.startswith(sign, self._at)

    def _taken(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self._next("")
        match = pattern.match(self._text, self._at)
        if match is not None:
            self._at = match.end()
        return match

    def _operator(self) -> str:
        """The operator that comes next, which is not taken."""
        self._next("")
        match = _OPERATOR.match(self._text, self._at)
        return "" if match is None else match[1]

    def _take(self, operator: str) -> bool:
        if self._operator() != operator:
            return False
        self._at += len(operator)
        return True

    def _either(self, fields: tuple[str, ...], depth: int) -> Node:
        if depth > DEEPEST:
            self._wrong(f"more than {DEEPEST} nested brackets")
        choices = [self._all(fields, depth)]
        while self._take("OR"):
            choices.append(self._all(fields, depth))
        return choices[0] if len(choices) == 1 else Either(tuple(map(_positive, choices)))

    def _all(self, fields: tuple[str, ...], depth: int) -> Node:
        wanted: list[Node] = []
        excluded: list[Node] = []
        while True:
            negative = self._signs()
            node = self._near(fields, depth)
            if isinstance(node, All) and not node.wanted:  # a bracket that only excludes
                node, negative = one_of(node.excluded), not negative
            (excluded if negative else wanted).append(node)
            if not self._take("AND") and (not self._next("") or self._next(")") or self._operator() == "OR"):
                break
        return wanted[0] if len(wanted) == 1 and not excluded else All(tuple(wanted), tuple(excluded))

    def _signs(self) -> bool:
        """Whether NOT and - stand before what follows, and not twice."""
        negative = False
        while True:
            signed = self._next("-") or self._next("+")
            if signed and self._text[self._at + 1 : self._at + 2].strip():
                negative ^= self._text[self._at] == "-"
                self._at += 1
            elif self._take("NOT"):
                negative = not negative
            else:
                return negative

    def _near(self, fields: tuple[str, ...], depth: int) -> Node:
        node = self._part(fields, depth)
        if (match := self._taken(_NEAR)) is None:
            return node
        other = self._part(fields, depth)
        if self._taken(_NEAR):
            self._wrong("only one w/ or pre/ at a time; join two of them with AND", match.start())
        with self._at_place(match.start()):
            return near(node, other, int(match[2]), ordered=match[1].lower() == "pre")

    def _part(self, fields: tuple[str, ...], depth: int) -> Node:
        operator = self._operator()
        if operator:
            self._wrong(f"a word is missing here; to search for {operator} itself, quote it")
        if not self._next("") or self._next(")") or _NEAR.match(self._text, self._at):
            self._wrong("a word is missing here")
        begin = self._at
        if (field := self._taken(_FIELD)) is not None:
            if fields != DEFAULT_FIELDS:
                self._wrong("a field inside a field is not possible", begin)
            fields = (self._known_field(field[1], begin),)
            inner = _FIELD.match(self._text, self._at)
            if inner is not None and (inner[1] in (*QUERY_FIELDS, *ALIASES) or ledger_kind(inner[1])):
                self._wrong("a field inside a field is not possible")
        return self._value(fields, depth)

    def _known_field(self, name: str, at: int) -> str:
        known = ALIASES.get(name, name)
        if known not in QUERY_FIELDS and ledger_kind(known) is None:
            close = difflib.get_close_matches(name, [*QUERY_FIELDS, *ALIASES, *LEDGER_FIELDS], n=1)
            meant = f". Did you mean {close[0]}?" if close else "; to search for it as text, quote it"
            self._wrong(
                f"there is no field {name[:60]!r}; the fields are {', '.join(QUERY_FIELDS)}; and size, text_state,"
                f" exception, custodian_is, type_is, tag, saved, the keys in docs/formats.md and load_ with a load file's field{meant}",
                at,
            )
        return known

    def _value(self, fields: tuple[str, ...], depth: int) -> Node:
        begin = self._at
        if self._next("("):
            self._at += 1
            node = self._either(fields, depth + 1)
            if not self._next(")"):
                self._wrong("this bracket is not closed", begin)
            self._at += 1
            return node
        if self._next("[") or self._next("{"):
            return self._range(fields)
        if (quoted := self._quoted()) is not None:
            return self._quote(fields, quoted, begin)
        if (match := self._taken(_WORD)) is None:
            self._wrong("this character has no meaning here; quote it")
        return self._word(fields, match[0], begin)

    def _quoted(self) -> str | None:
        """What stands in quotes here; None where there are none. An apostrophe without its like begins a word."""
        if not (self._next('"') or self._next("'")):
            return None
        match = self._taken(_QUOTED)
        if match is None and self._next('"'):
            self._wrong("this quote is not closed")
        return None if match is None else re.sub(r"\\(.)", r"\1", match[1] if match[2] is None else match[2])

    def _quote(self, fields: tuple[str, ...], text: str, begin: int) -> Node:
        with self._at_place(begin):
            if ledger_kind(fields[0]):
                if self._text.startswith("~", self._at):
                    raise UsageError(f"{fields[0]} has no ~: it is not a field of the index")
                return Asked(fields[0], *checked(fields[0], "", text, quoted=True))
            row = phrase(fields, text)
            self._count(len(row.places))
            if not self._text.startswith("~", self._at):
                return row
            if (degree := self._taken(_DEGREE)) is None:
                raise UsageError("after a phrase, ~ needs a number: how many words may be in between")
            return loose(row, int(degree[1]))

    def _word(self, fields: tuple[str, ...], text: str, begin: int) -> Node:
        with self._at_place(begin):
            _typed(text)
            if ledger_kind(fields[0]):
                op, value = _COMPARED.fullmatch(text).groups()  # type: ignore[union-attr]  # it matches anything
                quoted = self._quoted() if op and not value else None
                return Asked(fields[0], *checked(fields[0], op, quoted or value, quoted=quoted is not None))
            if text == "*" and fields == DEFAULT_FIELDS:
                return Everything()
            if text == "*":
                raise UsageError(
                    "* alone matches every item, whatever the field; for any word in the field write [* TO *]"
                )
            row = word(fields, text)
            self._count(len(row.places))
            return row

    def _count(self, words: int) -> None:
        self._words += words
        if self._words > MOST_WORDS:
            raise UsageError(f"the query has more than {MOST_WORDS:,} words")

    def _range(self, fields: tuple[str, ...]) -> Node:
        begin, name = self._at, fields[0]
        if fields == DEFAULT_FIELDS:
            self._wrong("a range needs its field, as in subject:[a TO c]")
        if (match := self._taken(_RANGE)) is None:
            self._wrong("write a range as [from TO to]; { and } exclude the ends")
        opened, closed = match[1] == "[", match[4] == "]"
        low, high = (end.strip('"') for end in (match[2], match[3]))
        with self._at_place(begin):
            if ledger_kind(name) is None:
                return Between(fields, end_of_range(low), end_of_range(high), opened, closed)
            ends: list[Node] = []
            if low != "*":
                ends.append(Asked(name, *checked(name, ">=" if opened else ">", low)))
            if high != "*":
                ends.append(Asked(name, *checked(name, "<=" if closed else "<", high)))
            if not ends:
                raise UsageError("a range needs at least one end")
            return ends[0] if len(ends) == 1 else All(tuple(ends))


def _typed(word: str) -> None:
    """Refuses signs that a word processor put for those that have a meaning: they would only separate words."""
    if (match := _QUOTE_ALIKE.search(word)) is not None:
        raise UsageError(f'{match[0]} is not a quote of this query language; type " instead')
    if (match := _DASH_ALIKE.match(word)) is not None:
        meant = '" instead' if match[1] in "‘‚‛" else "- instead, or leave it out"
        raise UsageError(f"{match[1]} has no meaning before a word; type {meant}")


def _positive(node: Node) -> Node:
    if isinstance(node, All) and not node.wanted:
        raise UsageError("the query only excludes items; first give what to find, for example: * NOT word")
    return node
