"""The language of a text, by py3langid and its model file: a naive Bayes classifier over runs of bytes, 140 languages.

Only a piece of a text is classified, so that long ones cost no more than short ones; a longer piece hardly ever changes
the result."""

from __future__ import annotations

import functools
import re

from py3langid.langid import MODEL_FILE, LanguageIdentifier

UNKNOWN = "und"  # ISO 639-2: undetermined
NO_LANGUAGE = "zxx"  # ISO 639-2: no linguistic content, such as numbers, codes, encoded bytes
SURE = 0.5  # the least probability of a language, from 0 to 1
LEAST = 20  # characters of a piece; with fewer, two words of a list would get a language
PIECE = 600
_LOOKED_AT = 3_000  # characters, at each of two places
_NO_WORDS = re.compile(r"[\s\d_<>=|*#+/\\.,;:-]+")


def language_of(text: str) -> str:
    """Return the language's code in ISO 639 (two letters if there is such a code), UNKNOWN or NO_LANGUAGE."""
    piece = _piece(text)
    if len(piece) < LEAST:
        return UNKNOWN
    return str(_identifier().classify(piece)[0])


def _piece(text: str) -> str:
    """Return possible words from the beginning and from the middle of a text, in equal shares: greetings or a quoted
    message alone may be in another language."""
    first = _NO_WORDS.sub(" ", text[:_LOOKED_AT]).strip()
    if len(text) <= _LOOKED_AT and len(first) <= PIECE:
        return first
    second = _NO_WORDS.sub(" ", text[len(text) // 2 :][:_LOOKED_AT]).strip()
    return f"{first[: PIECE // 2]} {second[: PIECE // 2]}".strip()


@functools.cache
def _identifier() -> LanguageIdentifier:
    """Return this process's classifier (a second to load, 130 MB)."""
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True, min_confidence=SURE)
