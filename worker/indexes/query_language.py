"""The query language of the index interface, for engines whose own one differs (see `IndexReader.search`).

Words and operators: `a b` and `a AND b` (both), `a OR b`, `NOT a`, `+a`, `-a`, brackets, "a phrase" (or 'one'),
"two words"~3 (with three others between them at most), `word*`, `field:word`, `field:[from TO to]`, `*` for everything.
AND binds closer than OR. A word that the tokenizer splits is a phrase. luqum reads it; what it means is said here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from luqum import tree
from luqum.exceptions import ParseError
from luqum.thread import parse as luqum_parse

from core.errors import UsageError
from worker.indexes.base import QUERY_FIELDS
from worker.indexes.readings import usual

DEFAULT_FIELDS = ("body", "subject", "title", "name")
LONGEST_TOKEN_BYTES = 40  # a longer one is not indexed
WORD = re.compile(r"[^\W_]+")
# Scripts without blanks between words (Thai, Lao, Burmese, Khmer, Japanese, Chinese): each letter is a word, so that a word
# of several is found as a phrase wherever it stands.
_ALONE = re.compile(
    "[\u0e01-\u0e5b\u0e81-\u0edf\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]"
)
_APART = "\ufdd0"  # between them; Unicode keeps it for such uses, and no text has it
# What stands in quotes; luqum knows double ones alone.
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|(?<![^\s(:+-])\'((?:[^\'\\]|\\.)*)\'', re.DOTALL)
_DEEPEST = 50


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
    words = WORD.findall(apart(text).lower())
    return [word for word in words if len(word) < 10 or len(word.encode("utf-8", "replace")) < LONGEST_TOKEN_BYTES]


@dataclass(frozen=True, slots=True)
class Everything:
    """`*`"""


@dataclass(frozen=True, slots=True)
class Words:
    """Words in a row in one of `fields`; the last may be only begun, and `between` others may stand in between."""

    fields: tuple[str, ...]
    words: tuple[str, ...]  # none: it matches nothing
    prefix: bool = False
    between: int = 0


@dataclass(frozen=True, slots=True)
class Between:
    """A word from `low` to `high` in one of `fields`; None: without an end."""

    fields: tuple[str, ...]
    low: str | None
    high: str | None
    with_low: bool
    with_high: bool


@dataclass(frozen=True, slots=True)
class All:
    """Every one of `wanted`, none of `excluded`; a parsed query never has one without `wanted`."""

    wanted: tuple[Node, ...]
    excluded: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Either:
    """At least one."""

    choices: tuple[Node, ...]


Node = Everything | Words | Between | All | Either


def parse(query: str) -> Node:
    """The query's meaning; raises UsageError with one clear line."""
    try:
        query.encode("utf-8")
    except UnicodeEncodeError as e:
        raise UsageError(f"the query {query!r} cannot be read (it is not Unicode text); type it again") from e
    if not query.strip():
        raise UsageError("the query is empty; give at least one word, or * for everything")
    try:
        parsed = luqum_parse(_QUOTED.sub(_in_double_quotes, usual(query)))
    except (ParseError, ArithmeticError, ValueError) as e:  # the latter two of what stands behind ~ and ^
        raise _unreadable(query, " ".join(str(e).split()).rstrip("!.")) from e
    node = _Reading(query).node(parsed, DEFAULT_FIELDS, 0)
    _refuse_only_excluding(node)
    return node


def _in_double_quotes(match: re.Match[str]) -> str:
    if match[1] is None:
        return match[0]
    return '"' + match[1].replace("\\'", "'").replace('"', '\\"') + '"'


def _unreadable(query: str, why: str) -> UsageError:
    return UsageError(f"the query {query!r} cannot be read ({why}); close every quote and bracket")


def _refuse_only_excluding(node: Node) -> None:
    if isinstance(node, All) and not node.wanted:
        raise UsageError("the query only excludes; say what to look for first, for example: * NOT word")


class _Reading:
    """luqum's tree of one query, made ours."""

    def __init__(self, query: str) -> None:
        self._query = query

    def node(self, item: tree.Item, fields: tuple[str, ...], depth: int) -> Node:
        if depth > _DEEPEST:
            raise _unreadable(self._query, "brackets inside brackets too deep")
        match item:
            case tree.BoolOperation() | tree.UnknownOperation() | tree.AndOperation() | tree.OrOperation():
                return self._operation(item, fields, depth)
            case tree.Not() | tree.Prohibit() | tree.Plus():
                return self._all([item], fields, depth)
            case tree.BaseGroup() | tree.Boost():
                return self.node(item.expr, fields, depth + 1)
            case tree.SearchField():
                return self._field(item, fields, depth)
        return self._leaf(item, fields)

    def _operation(self, item: tree.BaseOperation, fields: tuple[str, ...], depth: int) -> Node:
        """Words side by side bind as AND does; to luqum they bind less than OR."""
        choices: list[list[tree.Item]] = [[]]
        for child in item.children:
            first, *others = child.children if isinstance(child, tree.OrOperation) else [child]
            if isinstance(item, tree.OrOperation) and choices[0]:
                choices.append([])
            choices[-1].append(first)
            choices += [[other] for other in others]
        nodes = [self._all(each, fields, depth) for each in choices]
        if len(nodes) == 1:
            return nodes[0]
        for choice in nodes:
            _refuse_only_excluding(choice)
        return Either(tuple(nodes))

    def _all(self, items: list[tree.Item], fields: tuple[str, ...], depth: int) -> Node:
        wanted: list[Node] = []
        excluded: list[Node] = []
        for item in items:
            negative, signs = False, 0
            while isinstance(item, tree.Not | tree.Prohibit | tree.Plus):
                negative, signs, item = negative != (not isinstance(item, tree.Plus)), signs + 1, item.a
            node = self.node(item, fields, depth + 1)
            if isinstance(node, All) and not node.wanted:  # a bracket that only excludes
                node, negative = _one(node.excluded), not negative
            (excluded if negative else wanted).append(node)
        return wanted[0] if len(wanted) == 1 and not excluded else All(tuple(wanted), tuple(excluded))

    def _field(self, item: tree.SearchField, fields: tuple[str, ...], depth: int) -> Node:
        if fields != DEFAULT_FIELDS:
            raise _unreadable(self._query, "a field inside a field")
        if item.name not in QUERY_FIELDS:
            raise UsageError(f"there is no field {item.name!r}; the fields are {', '.join(QUERY_FIELDS)}")
        return self.node(item.expr, (item.name,), depth + 1)

    def _leaf(self, item: tree.Item, fields: tuple[str, ...]) -> Node:
        match item:
            case tree.Word():
                if item.value == "*":
                    return Everything()
                return Words(fields, tuple(tokens(item.value)), item.value.endswith("*"))
            case tree.Phrase():
                return Words(fields, tuple(tokens(item.unescaped_value)))
            case tree.Proximity():
                return Words(fields, tuple(tokens(item.term.unescaped_value)), between=max(0, item.degree))
            case tree.Fuzzy():
                return self._leaf(item.term, fields)
            case tree.Range():
                ends = [None if str(end).strip() == "*" else str(end).strip(' "').lower() for end in item.children]
                return Between(fields, ends[0], ends[1], item.include_low, item.include_high)
            case tree.OpenRange():
                return self._leaf(item.a, fields)
            case tree.Regex():
                raise _unreadable(self._query, "regular expressions are not understood")
        raise _unreadable(self._query, f"{type(item).__name__} is not understood")


def _one(choices: tuple[Node, ...]) -> Node:
    return choices[0] if len(choices) == 1 else Either(choices)
