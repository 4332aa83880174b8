"""Samples: pieces of real text in the charsets that people wrote its language in."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from dataset_gen.languages.texts import CHARSETS, SHIFTED, UNICODE, fitting

LENGTHS = (20, 50, 100, 200, 500, 2_000, 8_000, 20_000)  # bytes


@dataclass(frozen=True, slots=True)
class Sample:
    """A text, and its bytes in a charset."""

    language: str
    charset: str
    length: int  # bytes, about
    text: str
    data: bytes


def samples(
    by_language: dict[str, str], lengths: tuple[int, ...] = LENGTHS, each: int = 1, seed: int = 1
) -> Iterator[Sample]:
    """Pieces of each length from places drawn by the seed; those that are ASCII in their charset are left out."""
    for language, text in by_language.items():
        for charset in (*CHARSETS.get(language, ()), *UNICODE):
            fit = fitting(text, charset)
            if not fit:
                continue
            draw = random.Random(f"{seed} {language} {charset}")
            width = len(fit.encode(charset)) / len(fit)
            for length in lengths:
                for _ in range(each if length <= 2 * len(fit) * width else 0):
                    count = min(len(fit), int(length / width))
                    start = draw.randrange(len(fit) - count + 1)
                    piece = fit[start : start + count]
                    data = piece.encode(charset)
                    if data.decode(charset) == piece and not (data.isascii() and charset not in SHIFTED):
                        yield Sample(language, charset, length, piece, data)
