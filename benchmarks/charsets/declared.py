"""Texts that declare a charset, rightly and wrongly: `make bench-charsets BENCH_ARGS=--declared`.

What is true must be believed, though short texts, capitals and signs look odd; what is false must be seen, or called a guess.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.charsets.samples import Sample, samples
from dataset_gen.languages.texts import CHARSETS
from readers.charset import decode
from readers.charset_labels import by_label
from readers.mail.headers import decode_text

LENGTHS = (10, 20, 50, 200, 2_000)  # bytes
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
    return [one for sample in samples(by_language, LENGTHS, each) for one in _of(sample)]


def _of(sample: Sample) -> Iterator[Reading]:
    others = CHARSETS.get(sample.language, ())
    if sample.charset == "utf-8":
        for label in others[:2]:
            yield _read("utf-8", sample, label, sample.data, sample.text)
    elif not sample.charset.startswith("utf-"):
        yield _read("as it is", sample, sample.charset, sample.data, sample.text)
        yield _word(sample)
        capitals = sample.text.upper().encode(sample.charset, "ignore")
        yield _read("in capitals", sample, sample.charset, capitals, capitals.decode(sample.charset))
        if not sample.data.isascii():
            for way, label in (("western", _WESTERN), ("another", _next(sample.charset, others))):
                if label and sample.data.decode(by_label(label), "replace") != sample.text:
                    yield _read(way, sample, label, sample.data, sample.text)


def _next(charset: str, others: tuple[str, ...]) -> str:
    return others[(others.index(charset) + 1) % len(others)] if len(others) > 1 else ""


def _read(way: str, sample: Sample, label: str, data: bytes, wanted: str) -> Reading:
    text, detected = decode(data, label)
    return Reading(way, sample.length, sample.charset, label, text == wanted, detected.guessed)


def _word(sample: Sample) -> Reading:
    coded = "".join(f"={byte:02X}" for byte in sample.data)
    text = decode_text(f"=?{sample.charset}?Q?{coded}?=".encode())
    return Reading("a word", sample.length, sample.charset, sample.charset, text == sample.text, guessed=False)


def report(read: list[Reading]) -> Iterator[str]:
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
        for length in LENGTHS:
            if some := by_row[way, length]:
                counts = (
                    sum(one.right for one in some),
                    sum(one.guessed for one in some),
                    sum(not one.right and not one.guessed for one in some),
                )
                shares = " | ".join(f"{100 * count / len(some):.1f} %" for count in counts)
                yield f"| {meaning} | {length:,} | {len(some):,} | {shares} |"
