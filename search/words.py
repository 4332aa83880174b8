"""The words of a text, as every index has them and as a query is split into them.

Tantivy's default tokenizer splits for both engines: runs of letters and digits, lower-cased; those of 40 bytes and more
are left out (their place stays empty). Scripts without blanks are split into letters beforehand (`apart`)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Set

import tantivy

from search.query import Fuzzy, Pattern, Wild, Word

_ASCII = bytes(range(0x80))
AROUND = 100  # characters on each side of a place with several readings: the longest phrase found across it
_HIDDEN = "\xad\u061c\u180e\ufeff" + "".join(
    map(chr, (*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2065), *range(0x2066, 0x206A)))
)
_LETTER = r"[^\W\d_]"
# A letter or a mark on one; not the signs and dots of any script.
_BEFORE = rf"(?<={_LETTER}|[^\w\s\x00-\u02ff\u2000-\u2fff\u3000-\u303f\ufe10-\uff0f])"
_LINE = r"[ \t]*+(?:\r\n?|[\n\x0b\x0c\x85\u2028])[ \t>]*+"  # with the marks of quoted mail
_CUT = re.compile(rf"[-\u2010\u058a]{_LINE}(?={_LETTER})|[{_HIDDEN}]++(?:{_LINE})?(?={_LETTER})")
_PLAIN_CUT = re.compile(rf"-{_LINE}(?={_LETTER})")  # begins with a letter to look for: thirty times as fast
_SPECIAL = frozenset(_HIDDEN + "\u2010\u058a")  # other characters that a cut can begin with
_ENDS_IN_LETTER = re.compile(f"{_BEFORE}$")
_ALL_HIDDEN = re.compile(f"[{_HIDDEN}]+")
_NO_WORD = re.compile(r"\W")
_FINAL_SIGMA = re.compile(r"(?<=\w)\u03a3(?!\w)")
# Piled-up marks: sorting them takes quadratic time, and no script has so many.
_PILE = re.compile(r"([^\w\s\x00-\u02ff]{16})[^\w\s\x00-\u02ff]+")
_RADICALS = ("\u2e80", "\u2fdf")
_COMMAS = str.maketrans("\u0218\u0219\u021a\u021b", "\u015e\u015f\u0162\u0163")  # Ș ș Ț ț


class _Usual(dict[int, str]):
    """The usual form of each character by its code point; computed on first use."""

    def __missing__(self, code: int) -> str:
        c = chr(code)
        form = c.isalnum() or _RADICALS[0] <= c <= _RADICALS[1]
        self[code] = unicodedata.normalize("NFKC", c) if form and code > 0x7F else c
        return self[code]


_USUAL = _Usual()
# Characters that compose with the one before: the last one of every canonical decomposition, and Hangul's jamo.
COMPOSING = frozenset(
    chr(int(parts[-1], 16))
    for first, last in ((0xC0, 0x2000), (0x3040, 0x3100))
    for code in range(first, last)
    if len(parts := unicodedata.decomposition(chr(code)).split()) == 2 and parts[0][0] != "<"
) | frozenset(map(chr, (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))))


def usual(text: str) -> str:
    """The text in the form that is searched: without invisible characters, letters composed and in their usual form."""
    if text.isascii():
        return text
    text = _PILE.sub(r"\1", _FINAL_SIGMA.sub("\u03c2", _ALL_HIDDEN.sub("", text)))
    return unicodedata.normalize("NFC", text.translate(_USUAL)).translate(_COMMAS)


def readings(text: str) -> list[str]:
    """The text itself, and each part of it that can be read otherwise, in its other reading."""
    if text.isascii() and "-" not in text:  # as in most short fields
        return [text]
    return [text, *(_read(text[start:end]) for start, end in _parts(text))]


def _read(part: str) -> str:
    out, done = [], 0
    for start, end in cuts(part):
        out.append(part[done:start])
        done = end
    return usual("".join([*out, part[done:]]))


def _beyond_ascii(text: str) -> str:
    """The characters of a text that are not ASCII, in order. Reading its bytes takes a sixth of the time of a set of
    all characters."""
    return text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")


def cuts(text: str, letters: Set[str] | None = None) -> Iterator[tuple[int, int]]:
    """Start and end of each separator between halves of a word. `letters`: the set of the text's characters that are
    not ASCII, if known."""
    special = not text.isascii() and not _SPECIAL.isdisjoint(_beyond_ascii(text) if letters is None else letters)
    for found in (_CUT if special else _PLAIN_CUT).finditer(text):
        start, end = found.span()
        if not start or not _ENDS_IN_LETTER.search(text[start - 1 : start]):
            continue
        if found[0][0] not in "-\u2010\u058a" or not (text[start - 1].islower() and text[end].isupper()):
            yield start, end


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """Begin and end of each part that can be read otherwise, with the whole words around it; parts that touch are
    joined."""
    begin = finish = -1
    for start, end in _places(text):
        left, right = max(0, start - AROUND), min(len(text), end + AROUND)
        if left <= finish:
            finish = max(finish, right)
            continue
        if finish >= 0:
            yield _whole(text, begin, finish)
        begin, finish = left, right
    if finish >= 0:
        yield _whole(text, begin, finish)


def _whole(text: str, begin: int, finish: int) -> tuple[int, int]:
    """Drop the word that either end cuts; over-long words are in no index."""
    if begin and (gap := _NO_WORD.search(text, begin, begin + AROUND)) is not None:
        begin = gap.start()
    if finish < len(text):
        gaps = [at for at in range(finish - AROUND, finish) if not (text[at].isalnum() or text[at] == "_")]
        finish = gaps[-1] if gaps else finish
    return begin, finish


def _places(text: str) -> Iterator[tuple[int, int]]:
    letters = set() if text.isascii() else set(_beyond_ascii(text))
    odd = "".join(sorted(c for c in letters if _is_odd(c)))
    if not odd:
        return cuts(text, letters)
    forms = re.compile(f"[{re.escape(odd)}]+")
    return iter(sorted([*cuts(text, letters), *(match.span() for match in forms.finditer(text))]))


def _is_odd(c: str) -> bool:
    return _USUAL[ord(c)] != c or c in COMPOSING or c == "\u03a3" or ord(c) in _COMMAS


TOO_LONG = 40  # bytes of a word that no index has
# Its own: Tantivy's `default`, which a schema names. A test holds the two together.
_TOKENIZER = (
    tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    .filter(tantivy.Filter.remove_long(TOO_LONG))
    .filter(tantivy.Filter.lowercase())
    .build()
)
# For patterns, in which `*` and `?` are replaced by letters of several bytes: these do not count for the length.
_ANY_LENGTH = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase()).build()
# An approximation of words, for snippets.
WORD = re.compile(r"[^\W_]+")
# Scripts without blanks between words (Thai, Lao, Burmese, Khmer, Japanese, Chinese): each letter is a word, so that a word
# of several is found as a phrase wherever it is.
_ALONE = re.compile(
    "([\u0e01-\u0e5b\u0e81-\u0edf\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f])"
)
_APART = "\ufdd0"  # between them; Unicode keeps it for such uses, and no text has it
# Letters that stand for `*` and `?` while a pattern is cut into words: of dead scripts, with no other case.
_STANDINS = ("\u16a0\u16a1", "\U00012000\U00012001", "\U00010380\U00010381")


def apart(text: str) -> str:
    """The text with a mark around each letter that is a word; the same text if there is none."""
    if text.isascii() or not _ALONE.search(_beyond_ascii(text)):
        return text
    return _APART.join(_ALONE.split(text))


def together(text: str) -> str:
    """Remove the marks of `apart`; marks of a snippet that touch are joined."""
    return text.replace(_APART, "").replace("\x03\x02", "") if _APART in text else text


def is_alone(word: str) -> bool:
    """Whether a character is a letter of a script without blanks."""
    return _ALONE.fullmatch(word) is not None


def placed(text: str) -> list[tuple[int, str]]:
    """The words of a text, each with its place; omitted words leave theirs empty. Raises UnicodeEncodeError for lone
    surrogates."""
    return [(token.position, token.text) for token in _TOKENIZER.pre_tokenize(apart(text)).tokens]


def placed_patterns(text: str) -> list[tuple[int, str]]:
    """Like `placed`, for a text in which `*` and `?` are letters; the words contain them again."""
    pair = next((each for each in _STANDINS if not set(each) & set(text)), None)
    if pair is None:
        return placed(text)
    back = str.maketrans(pair, "*?")
    tokens = _ANY_LENGTH.pre_tokenize(apart(text.translate(str.maketrans("*?", pair)))).tokens
    words = [(token.position, token.text.translate(back)) for token in tokens]
    return [(place, word) for place, word in words if len(word.replace("*", "").encode("utf-8")) < TOO_LONG]


def like(patterns: Iterable[Pattern]) -> Callable[[str], bool]:
    """Return a function that returns whether a pattern matches a word (in small letters). A word that is too long for
    an index matches no wildcard or fuzzy pattern: to compare a line of a million letters would take long."""
    given = set(patterns)
    words = {pattern.text for pattern in given if isinstance(pattern, Word)}
    wilds = [wild(pattern.text) for pattern in given if isinstance(pattern, Wild)]
    fuzzy = [pattern for pattern in given if isinstance(pattern, Fuzzy)]

    def matches(word: str) -> bool:
        return word in words or (
            len(word if word.isascii() else word.encode("utf-8", "replace")) < TOO_LONG and resembles(word)
        )

    def resembles(word: str) -> bool:
        return any(each.fullmatch(word) for each in wilds) or any(within(each.text, word, each.edits) for each in fuzzy)

    return matches


def wild(text: str) -> re.Pattern[str]:
    """A pattern of letters, digits, `*` and `?` as a regular expression. The part between two `*` is matched where it
    first occurs, and nowhere else (`(?>` does that): with several `*` there would be very many places."""
    first, *rest = re.escape(text).replace(r"\?", ".").split(r"\*")
    between = "".join(f"(?>.*?{piece})" for piece in rest[:-1] if piece)
    return re.compile(first + between + "".join(f".*{last}" for last in rest[-1:]), re.DOTALL)


def within(a: str, b: str, edits: int) -> bool:
    """Whether one word becomes the other by so many letters more, less or different (Levenshtein)."""
    if abs(len(a) - len(b)) > edits:
        return False
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
        if min(row) > edits:
            return False
    return row[-1] <= edits
