"""The query language of the index interface, for engines whose own one differs (see `IndexReader.search`).

Words and operators: `a b` and `a AND b` (both), `a OR b`, `NOT a`, `+a`, `-a`, brackets, "a phrase" (or 'one'),
`word*`, `field:word`, `*` for everything. AND binds closer than OR. A word that the tokenizer splits is a phrase.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from core.errors import UsageError
from worker.indexes.base import QUERY_FIELDS

DEFAULT_FIELDS = ("body", "subject", "title", "name")
LONGEST_TOKEN_BYTES = 40  # a longer one is not indexed
WORD = re.compile(r"[^\W_]+")
# Scripts without blanks between words (Thai, Lao, Burmese, Khmer, Japanese, Chinese): each letter is a word, so that a word
# of several is found as a phrase wherever it stands.
_ALONE = re.compile(
    "[\u0e01-\u0e5b\u0e81-\u0edf\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]"
)
_APART = "\ufdd0"  # between them; Unicode keeps it for such uses, and no text has it
_SPACE = re.compile(r"\s*")
_FIELD = re.compile(r"(\w+):")
_BARE = re.compile(r"[^\s()\"]+")


def apart(text: str) -> str:
    """The text with a mark around each letter that is a word; the same text where there is none."""
    if text.isascii():
        return text
    try:
        text.encode("latin-1")  # as most that is not ASCII; five times as fast as looking for letters
    except UnicodeEncodeError:
        return _ALONE.sub(f"{_APART}\\g<0>{_APART}", text)
    return text


def together(text: str) -> str:
    """Without those marks; marks of a snippet that touch become one."""
    return text.replace(_APART, "").replace("\x03\x02", "") if _APART in text else text


def tokens(text: str) -> list[str]:
    """Lower-cased words of a text: runs of letters and digits, over-long ones left out."""
    found = WORD.findall(apart(text).lower())
    return [word for word in found if len(word) < 10 or len(word.encode("utf-8", "replace")) < LONGEST_TOKEN_BYTES]


@dataclass(frozen=True, slots=True)
class Everything:
    """`*`"""


@dataclass(frozen=True, slots=True)
class Words:
    """Words in a row in one of `fields`; the last may be only begun."""

    fields: tuple[str, ...]
    words: tuple[str, ...]  # none: it matches nothing
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class All:
    """Every one of `wanted`, none of `excluded`; a parsed query never has one without `wanted`."""

    wanted: tuple[Node, ...]
    excluded: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Either:
    """At least one."""

    choices: tuple[Node, ...]


Node = Everything | Words | All | Either


def parse(query: str) -> Node:
    """The query's meaning; raises UsageError with one clear line."""
    try:
        query.encode("utf-8")
    except UnicodeEncodeError as e:
        raise UsageError(f"the query {query!r} cannot be read (it is not Unicode text); type it again") from e
    if not query.strip():
        raise UsageError("the query is empty; give at least one word, or * for everything")
    parser = _Parser(query)
    found = parser.either(0)
    if not parser.at_end:
        raise parser.unreadable("there is a closing bracket too many")
    _refuse_only_excluding(found)
    return found


def _one(choices: tuple[Node, ...]) -> Node:
    return choices[0] if len(choices) == 1 else Either(choices)


def _refuse_only_excluding(node: Node) -> None:
    if isinstance(node, All) and not node.wanted:
        raise UsageError("the query only excludes; say what to look for first, for example: * NOT word")


class _Parser:
    """Recursive descent; `_at` is the place in the text."""

    _DEEPEST = 50

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def unreadable(self, why: str) -> UsageError:
        return UsageError(f"the query {self._text!r} cannot be read ({why}); close every quote and bracket")

    @property
    def at_end(self) -> bool:
        self._skip()
        return self._at >= len(self._text)

    def _skip(self) -> None:
        space = _SPACE.match(self._text, self._at)
        self._at = space.end() if space else self._at

    def _peek(self) -> str:
        self._skip()
        return self._text[self._at : self._at + 1]

    def _operator(self, word: str) -> bool:
        """Take the operator if it is the next word."""
        self._skip()
        end = self._at + len(word)
        if self._text[self._at : end] != word or (self._text[end : end + 1] or " ") not in " \t\r\n(":
            return False
        self._at = end
        return True

    def either(self, depth: int) -> Node:
        if depth > self._DEEPEST:
            raise self.unreadable("brackets inside brackets too deep")
        choices = [self._all(depth)]
        while self._operator("OR"):
            choices.append(self._all(depth))
        if len(choices) > 1:
            for choice in choices:
                _refuse_only_excluding(choice)
        return _one(tuple(choices))

    def _all(self, depth: int) -> Node:
        wanted: list[Node] = []
        excluded: list[Node] = []
        needed = True  # something has to follow
        while True:
            if self._operator("AND"):
                if needed:
                    raise self.unreadable("an operator stands where a word should")
                needed = True
                continue
            start = self._at
            ends = self.at_end or self._peek() == ")" or self._operator("OR")
            if ends:
                self._at = start
                break
            negative, found = self._clause(depth)
            needed = False
            if isinstance(found, All) and not found.wanted:  # a bracket that only excludes
                found, negative = _one(found.excluded), not negative
            (excluded if negative else wanted).append(found)
        if needed:
            raise self.unreadable("a word is missing")
        return wanted[0] if len(wanted) == 1 and not excluded else All(tuple(wanted), tuple(excluded))

    def _clause(self, depth: int) -> tuple[bool, Node]:
        negative = False
        while True:
            if self._operator("NOT") or (self._peek() == "-" and self._sign()):
                negative = not negative
            elif not (self._peek() == "+" and self._sign()):
                return negative, self._atom(depth, DEFAULT_FIELDS)

    def _sign(self) -> bool:
        """Take a sign that stands before something."""
        following = self._text[self._at + 1 : self._at + 2]
        if not following or following.isspace():
            return False
        self._at += 1
        return True

    def _atom(self, depth: int, fields: tuple[str, ...]) -> Node:
        first = self._peek()
        if first == "(":
            self._at += 1
            found = self.either(depth + 1)
            if self._peek() != ")":
                raise self.unreadable("a bracket is open")
            self._at += 1
            return found
        if first in ('"', "'"):
            return Words(fields, tuple(tokens(self._quoted(first))))
        named = _FIELD.match(self._text, self._at)
        if named is not None:
            return self._field(named, depth, fields)
        return self._bare(fields)

    def _field(self, named: re.Match[str], depth: int, fields: tuple[str, ...]) -> Node:
        if fields != DEFAULT_FIELDS:
            raise self.unreadable("a field inside a field")
        if named[1] not in QUERY_FIELDS:
            raise UsageError(f"there is no field {named[1]!r}; the fields are {', '.join(QUERY_FIELDS)}")
        self._at = named.end()
        if self._text[self._at : self._at + 1] in ("", " ", "(", ")"):
            raise self.unreadable(f"a word is missing after {named[0]}")
        return self._atom(depth, (named[1],))

    def _quoted(self, quote: str) -> str:
        out = []
        at = self._at + 1
        while at < len(self._text) and self._text[at] != quote:
            at += self._text[at] == "\\" and at + 1 < len(self._text)
            out.append(self._text[at])
            at += 1
        if at >= len(self._text):
            raise self.unreadable("a quote is open")
        self._at = at + 1
        return "".join(out)

    def _bare(self, fields: tuple[str, ...]) -> Node:
        found = _BARE.match(self._text, self._at)
        if found is None or found[0].startswith("/"):
            raise self.unreadable("a word is missing" if found is None else "regular expressions are not understood")
        self._at = found.end()
        word = found[0]
        if word == "*":
            return Everything()
        prefix = word.endswith("*")
        return Words(fields, tuple(tokens(word)), prefix)
