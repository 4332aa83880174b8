"""The query language: a query read into its meaning (`search.query`), or refused at the place where it goes wrong.

query     = all { "OR" all }
    all       = one { [ "AND" ] one }                         side by side is AND, which binds closer than OR
    one       = { "NOT" | "-" | "+" } near
    near      = part [ ( "w/" | "pre/" ) number part ]
    part      = [ field ":" ] ( "(" query ")" | range | quoted [ "~" number ] | word [ "~" [ "1" | "2" ] ] | "*" )
    range     = ( "[" | "{" ) end "TO" end ( "]" | "}" )      "*": without that end
    quoted    = '"' … '"' | "'" … "'"                         a backslash before a quote or a backslash
    word      = what has no blank, quote or bracket; `*` (letters or none) and `?` (a letter) after its first letter

A recursive descent parser: luqum, which parsed the queries of one engine before, knows no `w/5` and reports no places.
docs/search.md defines the meaning of the words."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import NoReturn

from core.dates import asked_in_utc
from core.errors import UsageError
from core.names import LOAD_KEY
from core.settings import parse_bytes
from readers.errors import ExceptionCode
from readers.keys import DATE, KEYS, LIST, NUMBER, TEXT, YES
from readers.records import TextState
from search.engine import QUERY_FIELDS
from search.query import All, Asked, Between, Either, Everything, Fuzzy, Near, Node, Pattern, Row, Wild, Word, one_of
from search.words import TOO_LONG, is_alone, placed, placed_patterns, usual

# Other names of fields of the index.
ALIASES = {"from": "sender", "to": "recipients", "text": "body"}
SIZE, TEXT_STATE, EXCEPTION, TAG, SAVED = "size", "text_state", "exception", "tag", "saved"
CUSTODIAN_IS, TYPE_IS = "custodian_is", "type_is"  # the whole name, of which the index has the words
ANY = "any"
_CODES = ("language",)  # metadata that match only as a whole
_OWN = {SIZE: NUMBER, TEXT_STATE: TEXT, EXCEPTION: TEXT, TAG: TEXT, SAVED: TEXT, CUSTODIAN_IS: TEXT, TYPE_IS: TEXT}
_METADATA = {name: key.kind for name, key in KEYS.items() if name not in (*QUERY_FIELDS, *ALIASES)}
LEDGER_FIELDS: dict[str, str] = _OWN | _METADATA
_CHOICES = {TEXT_STATE: tuple(map(str, TextState)), EXCEPTION: (ANY, *map(str, ExceptionCode))}
_SIGN = re.compile(r"\w\*|\*\w|\w\?\w|\A[*?]+\Z|~\d{0,9}\Z")  # a sign with a meaning in a word of the index
_NUMBER = re.compile(r"-?\d{1,30}(?:\.\d{1,30})?\Z", re.ASCII)
_WHOLE = re.compile(r"\d{1,30}\Z", re.ASCII)
_LEDGER_FIELDS_SHOWN = 60  # characters of a value that is refused; a number of bytes has fewer
_NAME = re.compile(r"[\w][\w .-]{0,99}\Z")


def checked_name(name: str, what: str) -> str:
    """The name of a tag or saved search as it is stored. Raises UsageError."""
    if not _NAME.match(name) or name != name.strip():
        raise UsageError(
            f"{name[:120]!r} is not a name for {what}; use at most 100 letters, digits, blanks and _ . -, starting with a letter or digit"
        )
    return name


def ledger_kind(field: str) -> str | None:
    """The kind of a field of the ledger: one of LEDGER_FIELDS, or text for a field of load files; None if there is no
    such field."""
    return TEXT if LOAD_KEY.match(field) else LEDGER_FIELDS.get(field)


def _date(field: str, value: str) -> str:
    if (date := asked_in_utc(value)) is None:
        raise UsageError(f"{field} is a date, as in 2001, 2001-06 or 2001-06-30T17:45, optionally with +02:00 or Z")
    return date


def checked(field: str, op: str, value: str, *, quoted: bool = False) -> tuple[str, str]:
    """Operator and value of a condition on a field of the ledger; `op` empty: the field's usual one. `quoted`: signs
    are literal. Raises UsageError."""
    kind = ledger_kind(field)
    if op in ("<", "<=", ">", ">=") and kind not in (DATE, NUMBER):
        raise UsageError(f"{field} is neither a date nor a number; < and > do not work on it")
    if op == "!=" and field in _OWN:
        raise UsageError(f"{field} has no !=; write NOT {field}:{value}")
    if field in _CHOICES and value not in _CHOICES[field]:
        raise UsageError(f"{field} must be one of {', '.join(_CHOICES[field])}")
    if field in (TAG, SAVED):
        checked_name(value, "a tag" if field == TAG else "a saved search")
    elif field == SIZE:
        value = value if _WHOLE.match(value) else str(parse_bytes(value[:_LEDGER_FIELDS_SHOWN], field))
    elif kind == DATE:
        value = _date(field, value)
    elif kind == NUMBER and not _NUMBER.match(value):
        raise UsageError(f"{field} is a number; {value[:_LEDGER_FIELDS_SHOWN]!r} is not")
    elif kind == YES and value.lower() not in ("true", "false"):
        raise UsageError(f"{field} must be true or false")
    contains = field not in _OWN and kind in (TEXT, LIST) and field not in _CODES
    if kind in (TEXT, LIST) and field not in _OWN and not quoted and _SIGN.search(value):
        found = "values that contain the text as written" if contains else "the whole value, exactly as written"
        raise UsageError(f"{field} finds {found}; * ? and ~ do not work on it, unless you quote them as characters")
    return op or ("~" if contains else "="), value


MOST_APART = 50  # words of w/, pre/ and ~; an index keeps readings of a text so far apart (`search.words`)
MOST_ROWS = 1_000  # most rows of one proximity condition
_SHOWN = 60  # characters of a phrase that a message repeats
_WILD = re.compile(r"\w\*|\*\w|\w\?\w")  # wildcards in quotes; a question mark after a word is punctuation
_FUZZY = re.compile(r"(.+)~(\d{0,9})", re.DOTALL)


def phrase(fields: tuple[str, ...], text: str) -> Row:
    """The words of a text, one after the other. Signs only separate words. Raises UsageError for a wildcard, which
    would be ignored without notice."""
    if (sign := _WILD.search(text)) is not None:
        meant = "*" if "*" in sign[0] else "?"
        raise UsageError(f"in quotes {meant} is not a wildcard; {_unquoted(text)}, or remove it")
    return _row(fields, [(place, Word(word)) for place, word in placed(usual(text))], text)


def _unquoted(text: str) -> str:
    """The equivalent query where only the last word has wildcards; else a general hint."""
    head, _, last = " ".join(text.split()).rpartition(" ")
    if _WILD.search(head) or last[:1] in ("*", "?") or '"' in text or len(text) > _SHOWN:
        return "write such a word outside quotes, as in third pre/1 quart*"
    if not head:
        return f"write {last} outside quotes"
    return f"write {head} pre/1 {last}" if head.isalnum() else f'write "{head}" pre/1 {last}'


def word(fields: tuple[str, ...], text: str) -> Row:
    """A word, which may contain `*` and `?` or be followed by `~1`; several words if the index splits it."""
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
        raise UsageError(f"it {why}; an index contains only words")
    return Row(fields, tuple(places))


def _fuzzy(text: str, edits: str) -> Fuzzy:
    words = placed(usual(text))
    if edits not in ("", "1", "2"):
        raise UsageError("after a word use ~1 or ~2: the number of letters that may differ")
    if len(words) != 1 or set("*?") & set(text):
        raise UsageError("~ must follow one word of letters and digits")
    return Fuzzy(words[0][1], int(edits or 1))


def _patterns(text: str) -> list[tuple[int, Pattern]]:
    out: list[tuple[int, Pattern]] = []
    for place, part in placed_patterns(text):
        if not set("*?") & set(part):
            out.append((place, Word(part)))
        elif part[0] not in "*?":
            out.append((place, Wild(part)))
        elif part != "*" or not out or not is_alone(out[-1][1].text):  # a phrase of letters continues anyhow
            raise UsageError("a word cannot begin with * or ?: every word of the index would have to be compared")
    return out


def end_of_range(text: str) -> str | None:
    """One word; None for `*`."""
    if text == "*":
        return None
    words = placed(usual(text))
    if len(words) != 1:
        raise UsageError("each end of a range must be one word of letters and digits, or *")
    return words[0][1]


def loose(row: Row, between: int) -> Node:
    """A phrase whose words are in this order, with at most so many others between each two."""
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
    """A condition that one side begins 1 to `most` words after the other's end; `ordered`: the right one after the left
    one."""
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
_QUOTE_ALIKE = re.compile("[“”„‟«»＂]")  # typographic quotes of word processors
_DASH_ALIKE = re.compile("(?:<=|>=|!=|[<>=])?([‘‚‛‐‑‒–—―−－])")  # and forms of - and ' before a word
_COMPARED = re.compile(r"(<=|>=|!=|<|>|=|)(.*)", re.DOTALL)


def parse(query: str) -> Node:
    """Parse a query. Raises UsageError with one clear line."""
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
    """A recursive descent parser for one query. Each method takes what it is named for and leaves the rest."""

    def __init__(self, query: str) -> None:
        self._text = query
        self._at = 0
        self._words = 0

    def whole(self) -> Node:
        node = self._either(DEFAULT_FIELDS, 0)
        if self._next(")"):
            self._wrong("this bracket has no opening bracket; remove it, or quote it")
        return _positive(node)

    def _wrong(self, why: str, at: int | None = None) -> NoReturn:
        """Refuse the query at this place, or at the given one."""
        at = self._at if at is None else at
        there = self._text[at : at + 30]
        shown = f"character {at + 1}, {there!r}" if there.strip() else "its end"
        raise UsageError(f"syntax error in the query at {shown}: {why}")

    @contextmanager
    def _at_place(self, at: int) -> Iterator[None]:
        """Report errors of the block at this place."""
        try:
            yield
        except UsageError as error:
            self._wrong(str(error), at)

    def _next(self, sign: str) -> bool:
        """Take the text if it comes next, after any blanks; return whether it did."""
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
        """Return the operator that comes next, without taking it."""
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
        """Take the signs NOT, - and + before an operand; return whether they negate it: two negations cancel out."""
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
            self._wrong("only one w/ or pre/ at a time; combine two of them with AND", match.start())
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
        """Take a text in quotes; None if there is none. An apostrophe without a second one begins a word."""
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
                    raise UsageError(f"{fields[0]} does not support ~: it is not a field of the index")
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
    """Refuse signs that a word processor substituted for those with a meaning: they would only separate words."""
    if (match := _QUOTE_ALIKE.search(word)) is not None:
        raise UsageError(f'{match[0]} is not a quote of this query language; type " instead')
    if (match := _DASH_ALIKE.match(word)) is not None:
        meant = '" instead' if match[1] in "‘‚‛" else "- instead, or leave it out"
        raise UsageError(f"{match[1]} has no meaning before a word; type {meant}")


def _positive(node: Node) -> Node:
    if isinstance(node, All) and not node.wanted:
        raise UsageError("the query only excludes items; write first what to find, for example: * NOT word")
    return node
