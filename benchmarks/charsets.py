"""`make bench-charsets`: read texts in 45 languages and their character sets, undeclared or (`--declared`) under declarations.

A true declaration must be believed, though short texts, capitals and symbols look odd; a false one must be noticed or called a guess.
"""

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
from readers.charset_labels import by_label
from readers.mail.headers import decode_text

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


DECLARED_LENGTHS = (10, 20, 50, 200, 2_000)  # bytes
_WESTERN = "iso-8859-1"  # what programs write that know no other
WAYS = {
    "as it is": "the right charset",
    "in capitals": "the right charset, over the same in capitals",
    "a word": "the right charset, of an encoded word",
    "western": "ISO 8859-1, over text of another script or code page",
    "another": "another charset of the same language",
    "utf-8": "a charset of the language, over UTF-8",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of a text under a declaration."""

    way: str  # of declaring: one of WAYS
    length: int
    charset: str  # that it is in
    label: str
    right: bool
    guessed: bool


def readings(by_language: dict[str, str], each: int) -> list[Reading]:
    """Every sample under every declaration that people may have written over it."""
    return [one for sample in samples(by_language, DECLARED_LENGTHS, each) for one in _of(sample)]


def _of(sample: Sample) -> Iterator[Reading]:
    others = CHARSETS.get(sample.language, ())
    if sample.charset == "utf-8":
        for label in others[:2]:
            yield _reading("utf-8", sample, label, sample.data, sample.text)
    elif not sample.charset.startswith("utf-"):
        yield _reading("as it is", sample, sample.charset, sample.data, sample.text)
        yield _word(sample)
        capitals = sample.text.upper().encode(sample.charset, "ignore")
        yield _reading("in capitals", sample, sample.charset, capitals, capitals.decode(sample.charset))
        if not sample.data.isascii():
            for way, label in (("western", _WESTERN), ("another", _next(sample.charset, others))):
                if label and sample.data.decode(by_label(label), "replace") != sample.text:
                    yield _reading(way, sample, label, sample.data, sample.text)


def _next(charset: str, others: tuple[str, ...]) -> str:
    return others[(others.index(charset) + 1) % len(others)] if len(others) > 1 else ""


def _reading(way: str, sample: Sample, label: str, data: bytes, wanted: str) -> Reading:
    text, detected = decode(data, label)
    return Reading(way, sample.length, sample.charset, label, text == wanted, detected.guessed)


def _word(sample: Sample) -> Reading:
    coded = "".join(f"={byte:02X}" for byte in sample.data)
    text = decode_text(f"=?{sample.charset}?Q?{coded}?=".encode())
    return Reading("a word", sample.length, sample.charset, sample.charset, text == sample.text, guessed=False)


def report_declared(read: list[Reading]) -> Iterator[str]:
    """A table in Markdown, by what is declared and by length."""
    yield f"{len(read):,} texts with a declaration"
    yield from (
        "",
        "| declared | bytes | texts | right | guessed | wrong, not called guessed |",
        "|---|---|---|---|---|---|",
    )
    by_row: defaultdict[tuple[str, int], list[Reading]] = defaultdict(list)
    for one in read:
        by_row[one.way, one.length].append(one)
    for way, meaning in WAYS.items():
        for length in DECLARED_LENGTHS:
            if some := by_row[way, length]:
                counts = (
                    sum(one.right for one in some),
                    sum(one.guessed for one in some),
                    sum(not one.right and not one.guessed for one in some),
                )
                shares = " | ".join(f"{100 * count / len(some):.1f} %" for count in counts)
                yield f"| {meaning} | {length:,} | {len(some):,} | {shares} |"


ENOUGH = 200  # bytes from which on a text is expected to be read right


def main() -> None:
    """Read every sample without saying what it is in, and print what came of it."""
    parser = argparse.ArgumentParser(prog="make bench-charsets BENCH_ARGS=…", description=main.__doc__)
    parser.add_argument(
        "--texts", type=Path, default=TEXTS, help="a directory with a text for each language (de.txt …)"
    )
    parser.add_argument("--each", type=int, default=1, help="samples of each length")
    parser.add_argument("--declared", action="store_true", help="instead: with declarations, right and wrong ones")
    arguments = parser.parse_args()
    if arguments.declared:
        for line in report_declared(readings(texts(arguments.texts), arguments.each)):
            print(line)
        return
    read = []
    begin = time.process_time()
    for sample in samples(texts(arguments.texts), each=arguments.each):
        text, detected = decode(sample.data)
        read.append((sample, detected, text == sample.text))
    seconds = time.process_time() - begin
    for line in report(read):
        print(line)
    print(f"\n{seconds / len(read) * 1e6:,.0f} µs of a processor a sample, with making it")


Read = tuple[Sample, Detected, bool]


def report(read: list[Read]) -> Iterator[str]:
    """Both tables, in Markdown."""
    pairs = {(sample.language, sample.charset) for sample, _, _ in read}
    charsets, languages = {charset for _, charset in pairs}, {language for language, _ in pairs}
    yield f"{len(read):,} samples: {len(languages)} languages, {len(charsets)} charsets, {len(pairs)} pairs of them"
    yield from ("", "| bytes | samples | right | guessed | wrong, not called guessed |", "|---|---|---|---|---|")
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
