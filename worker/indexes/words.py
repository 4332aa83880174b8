"""A text's words, as every index has them and as a query is cut into them.

Tantivy's own default tokenizer cuts, for both engines: runs of letters and digits, lower-cased, those of 40 bytes and more
left out (their place stays empty). Scripts without blanks are cut into letters beforehand (`apart`).
"""

from __future__ import annotations

import re

import tantivy

TOO_LONG = 40  # bytes of a word that no index has
# Its own: Tantivy's `default`, which a schema names. A test holds the two together.
_TOKENIZER = (
    tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    .filter(tantivy.Filter.remove_long(TOO_LONG))
    .filter(tantivy.Filter.lowercase())
    .build()
)
# For patterns, whose `*` and `?` are letters of several bytes meanwhile: what is too long is told without these.
_ANY_LENGTH = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase()).build()
# What looks like words, where it need not be exact: snippets.
WORD = re.compile(r"[^\W_]+")
# Scripts without blanks between words (Thai, Lao, Burmese, Khmer, Japanese, Chinese): each letter is a word, so that a word
# of several is found as a phrase wherever it stands.
_ALONE = re.compile(
    "[\u0e01-\u0e5b\u0e81-\u0edf\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]"
)
_APART = "\ufdd0"  # between them; Unicode keeps it for such uses, and no text has it
# Letters that stand for `*` and `?` while a pattern is cut into words: of scripts that nobody writes, with no other case.
_STANDINS = ("\u16a0\u16a1", "\U00012000\U00012001", "\U00010380\U00010381")


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


def is_alone(word: str) -> bool:
    """Whether it is a letter of a script without blanks."""
    return _ALONE.fullmatch(word) is not None


def placed(text: str) -> list[tuple[int, str]]:
    """The words of a text, each with its place; those that are left out leave theirs empty. Lone surrogates are not
    taken (UnicodeEncodeError)."""
    return [(token.position, token.text) for token in _TOKENIZER.pre_tokenize(apart(text)).tokens]


def placed_patterns(text: str) -> list[tuple[int, str]]:
    """The same of a text in which `*` and `?` are letters; in the words they are `*` and `?` again."""
    pair = next((each for each in _STANDINS if not set(each) & set(text)), None)
    if pair is None:
        return placed(text)
    back = str.maketrans(pair, "*?")
    tokens = _ANY_LENGTH.pre_tokenize(apart(text.translate(str.maketrans("*?", pair)))).tokens
    words = [(token.position, token.text.translate(back)) for token in tokens]
    return [(place, word) for place, word in words if len(word.replace("*", "").encode("utf-8")) < TOO_LONG]
