"""The language of a text, by py3langid and its model file: a naive Bayes classifier over runs of bytes, 140 languages.

A piece of a text is classified, so that long ones cost no more than short ones; a longer piece hardly ever changes the
result.
"""

from __future__ import annotations

import functools
import re

from py3langid.langid import MODEL_FILE, LanguageIdentifier

UNKNOWN = "und"  # ISO 639-2's for what is undetermined
NO_LANGUAGE = "zxx"  # ISO 639-2's for what is none: numbers, codes, encoded bytes
SURE = 0.5  # that the classifier has to be of a language, of 1
LEAST = 20  # characters of a piece; with fewer two words of a list would have one
PIECE = 600
_LOOKED_AT = 3_000  # characters, at each of two places
_NO_WORDS = re.compile(r"[\s\d_<>=|*#+/\\.,;:-]+")


def language_of(text: str) -> str:
    """Its code in ISO 639 (two letters where there is such a code), UNKNOWN or NO_LANGUAGE."""
    piece = _piece(text)
    if len(piece) < LEAST:
        return UNKNOWN
    return str(_identifier().classify(piece)[0])


def _piece(text: str) -> str:
    """From its beginning and from its middle, as much of each, of what may be words: greetings or a quoted message alone may
    be in another language."""
    first = _NO_WORDS.sub(" ", text[:_LOOKED_AT]).strip()
    if len(text) <= _LOOKED_AT and len(first) <= PIECE:
        return first
    second = _NO_WORDS.sub(" ", text[len(text) // 2 :][:_LOOKED_AT]).strip()
    return f"{first[: PIECE // 2]} {second[: PIECE // 2]}".strip()


@functools.cache
def _identifier() -> LanguageIdentifier:
    """This process's (a second to load, 130 MB)."""
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True, min_confidence=SURE)
