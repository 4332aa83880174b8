"""`make bench-charsets`: read texts in 45 languages and their character sets without a declaration."""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dataset_gen.languages import CHARSETS, SHIFTED, TEXTS, UNICODE, fitting, texts
from readers.charset import Detected, decode

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
    """Yield pieces of each length from places drawn by the seed; pieces that are ASCII in their charset are omitted."""
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


ENOUGH = 200  # bytes from which on a text is expected to be read right


def main() -> None:
    """Read every sample without naming its charset, and print the results."""
    parser = argparse.ArgumentParser(prog="make bench-charsets BENCH_ARGS=…", description=main.__doc__)
    parser.add_argument(
        "--texts", type=Path, default=TEXTS, help="a directory with a text for each language (de.txt …)"
    )
    parser.add_argument("--each", type=int, default=1, help="samples of each length")
    arguments = parser.parse_args()
    read = []
    begin = time.process_time()
    for sample in samples(texts(arguments.texts), each=arguments.each):
        text, detected = decode(sample.data)
        read.append((sample, detected, text == sample.text))
    seconds = time.process_time() - begin
    for line in report(read):
        print(line)
    print(f"\n{seconds / len(read) * 1e6:,.0f} µs of CPU for a sample, its generation included")


Read = tuple[Sample, Detected, bool]


def report(read: list[Read]) -> Iterator[str]:
    """Yield both tables, in Markdown."""
    pairs = {(sample.language, sample.charset) for sample, _, _ in read}
    charsets, languages = {charset for _, charset in pairs}, {language for language, _ in pairs}
    yield f"{len(read):,} samples: {len(languages)} languages, {len(charsets)} charsets, {len(pairs)} pairs of them"
    yield from ("", "| bytes | samples | right | guessed | wrong, not marked as guessed |", "|---|---|---|---|---|")
    for length in LENGTHS:
        yield _row(f"{length:,}", [one for one in read if one[0].length == length])
    yield _row(f"from {ENOUGH} on", [one for one in read if one[0].length >= ENOUGH])
    yield from ("", f"| charset | languages | right from {ENOUGH} bytes on | taken for |", "|---|---|---|---|")
    by_charset: dict[str, list[Read]] = defaultdict(list)
    for one in read:
        if one[0].length >= ENOUGH:
            by_charset[one[0].charset].append(one)
    for charset, reads in sorted(by_charset.items()):
        taken = Counter(f"{detected.charset} ({sample.language})" for sample, detected, right in reads if not right)
        spoken = " ".join(sorted({sample.language for sample, _, _ in reads}))
        shown = ", ".join(f"{name} ×{count}" for name, count in taken.most_common(4))
        yield f"| {charset} | {spoken} | {_share(sum(right for *_, right in reads), len(reads))} | {shown} |"


def _row(name: str, read: list[Read]) -> str:
    right = sum(one[2] for one in read)
    guessed = sum(one[1].guessed for one in read)
    silent = sum(not one[2] and not one[1].guessed for one in read)
    count = len(read)
    return f"| {name} | {count} | {_share(right, count)} | {_share(guessed, count)} | {_share(silent, count)} |"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


if __name__ == "__main__":
    main()
