"""Flattening pages with very many tags before they are parsed, so that parsing time depends on their length alone.

HTML's own rules take the square of it in a dozen places: how deep elements nest, formatting that is left open and taken
up again in each block, attributes of a body that begins again, names of attributes (which the parser keeps in short
tables). None of this changes the text of a page: where lines break is known already, and text is text.
"""

from __future__ import annotations

import itertools
import re

MANY = 3_000  # tags; with fewer, a square does not matter
# What the parser has to see under its own name: roots, what is in the head, and what holds no markup.
_KEPT = (
    "html|head|body|frameset|frame|title|base|link|meta|script|style|template|noscript|noframes|noembed|iframe|textarea|xmp"
    "|plaintext"
)


def either_case(names: str) -> str:
    """A pattern that takes each letter of another in both cases: faster than the flag that does."""
    return re.sub(r"\[(\w+)\]|([a-z])", lambda m: f"[{(m[1] or m[2]) + (m[1] or m[2]).upper()}]", names)


_NOT_KEPT = rf"(?!/?(?:{either_case(_KEPT)})[\s/>])/?[a-zA-Z]"
# Up to the bracket that ends a tag, where no other bracket comes before it, nor the end of a comment.
_TO_END = r"(?:[^<>\"']++|\"[^\"<>]*+\"|'[^'<>]*+'|(?!))*+(?<!--)>"
_TAG = re.compile(rf"<{_NOT_KEPT}{_TO_END}")
_KEPT_TAG = re.compile(rf"(</?(?:{either_case(_KEPT)}))[\s/]{_TO_END}")
_NAME = re.compile(rf"<{_NOT_KEPT}[^\s/<>]*+")
_WITH_ATTRIBUTES = re.compile(r"<(?=/?[a-zA-Z][^\s/<>]*+[\s/])")


def flat(markup: str) -> str:
    """The same without attributes, and with an element that is always empty instead of nearly all others. Tags with
    brackets or odd quotation marks in them keep their attributes while they are few; else they become comments."""
    markup = _NAME.sub("<wbr", _KEPT_TAG.sub(r"\1>", _TAG.sub("<wbr>", markup)))
    if next(itertools.islice(_WITH_ATTRIBUTES.finditer(markup), MANY, None), None) is not None:
        markup = _WITH_ATTRIBUTES.sub("<!", markup)
    return markup
