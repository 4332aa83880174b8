"""`python -m benchmarks.charsets [--texts DIRECTORY] [--each N] [--files DIRECTORY] [--declared]`: the tables of docs/charsets.md."""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from benchmarks.charsets import declared, files
from benchmarks.charsets.samples import LENGTHS, Sample, samples
from dataset_gen.languages.texts import TEXTS, texts
from readers.charset import Detected, decode

ENOUGH = 200  # bytes from which on a text is expected to be read right


def main() -> None:
    """Read every sample without saying what it is in, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.charsets", description=main.__doc__)
    parser.add_argument(
        "--texts", type=Path, default=TEXTS, help="a directory with a text for each language (de.txt …)"
    )
    parser.add_argument("--each", type=int, default=1, help="samples of each length")
    parser.add_argument("--files", type=Path, help="instead: files in folders that are named after their charsets")
    parser.add_argument("--declared", action="store_true", help="instead: with declarations, right and wrong ones")
    arguments = parser.parse_args()
    if arguments.declared:
        for line in declared.report(declared.readings(texts(arguments.texts), arguments.each)):
            print(line)
        return
    if arguments.files:
        for line in files.report(*files.readings(arguments.files)):
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
