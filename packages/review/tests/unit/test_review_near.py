"""review.near: texts that are nearly the same, held against a reading of all pairs."""

import io
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.review import languages_detected
from core.errors import StorageFault, UsageError
from dataset_gen.languages import own_texts
from review.dedupe.run import DUPLICATES
from review.denist.run import SYSTEM_FILES
from review.languages.identify import NO_LANGUAGE, UNKNOWN, language_of
from review.languages.run import LANGUAGES
from review.near.bands import HASHES, MISSED, bands_for
from review.near.collected import Collected, collecting
from review.near.grouping import NO_GROUP, grouped
from review.near.run import NEAR_DUPLICATES
from review.near.shingles import LEAST, jaccard, shingles
from review.report import Report
from review.threads.run import THREADS

_WORDS = [f"w{number}" for number in range(500)]


def _edited(dice: random.Random, text: list[str], changes: int) -> list[str]:
    out = list(text)
    for _ in range(changes):
        out[dice.randrange(len(out))] = dice.choice(_WORDS)
    return out


def _texts(seed: int) -> list[str]:
    """Some texts, some of them with changes, few and many, and copies."""
    dice = random.Random(seed)
    out: list[str] = []
    for _ in range(20):
        text = [dice.choice(_WORDS) for _ in range(dice.randrange(30, 300))]
        out += [" ".join(_edited(dice, text, dice.choice((0, 1, 3, 10, 60)))) for _ in range(dice.randrange(1, 6))]
    dice.shuffle(out)
    return out


def _groups(
    tmp_path: Path, texts: list[str], ranks: list[int], scopes: list[int], threshold: float
) -> dict[int, tuple[int, float]]:
    """By rank the rank of the principal and how alike they are."""
    with collecting(tmp_path, bands_for(threshold)) as collected:
        for text, rank, scope in zip(texts, ranks, scopes, strict=True):
            collected.add(rank, scope, shingles(text))
        found = grouped(collected, threshold)
    return {
        ranks[n]: (ranks[principal], similarity)
        for n, (principal, similarity) in enumerate(
            zip(found.principal.tolist(), found.similarity.tolist(), strict=True)
        )
        if principal != NO_GROUP
    }


def _naive(texts: list[str], scopes: list[int], threshold: float) -> dict[int, tuple[int, float]]:
    """In the order given, by sets of tuples of words."""
    sets = [{tuple(text.split()[n : n + 5]) for n in range(len(text.split()) - 4)} for text in texts]
    out: dict[int, tuple[int, float]] = {}
    for place, own in enumerate(sets):
        if place in out:
            continue
        for other in range(place + 1, len(sets)):
            alike = len(own & sets[other]) / len(own | sets[other])
            if other not in out and scopes[other] == scopes[place] and alike >= threshold:
                out[place], out[other] = (place, 1.0), (place, alike)
    return out


@pytest.mark.parametrize("threshold", [0.5, 0.8, 0.95, 1.0])
def test_groups_are_those_of_all_pairs_in_any_order(tmp_path: Path, threshold: float) -> None:
    for seed in range(3):
        texts = _texts(seed)
        scopes = [len(text) % 2 for text in texts]
        wanted = _naive(texts, scopes, threshold)
        assert wanted
        for shuffled in (range(len(texts)), random.Random(seed).sample(range(len(texts)), len(texts))):
            order = list(shuffled)
            found = _groups(tmp_path, [texts[n] for n in order], order, [scopes[n] for n in order], threshold)
            assert found == wanted


def test_nothing_in_a_collection_is_no_group(tmp_path: Path) -> None:
    with collecting(tmp_path, bands_for(0.8)) as collected:
        assert len(grouped(collected, 0.8).principal) == 0
    assert list(tmp_path.iterdir()) == []


@given(st.floats(0.5, 1))
def test_bands_miss_few_at_any_threshold(threshold: float) -> None:
    """And have no more candidates than that takes: one row more would miss too many."""
    bands = bands_for(threshold)
    assert (1 - threshold**bands.rows) ** bands.count <= MISSED
    more = bands.rows + 1
    assert more > 16 or (1 - threshold**more) ** (HASHES // more) > MISSED


def test_layout_and_marks_make_no_difference() -> None:
    plain = "the price of the merger is not in the plan that was sent to us on Monday"
    shown = "> The price, of the MERGER\r\n> is not in the plan (that was sent   to us on Monday)."
    assert jaccard(shingles(plain), shingles(shown)) == 1
    assert jaccard(shingles(plain), shingles(" ".join(reversed(plain.split())))) == 0
    assert not len(shingles("word " * (LEAST - 1)))
    assert len(shingles("word " * LEAST)) == 1
    assert len(shingles("見積書の件について確認をお願いいたします。来週の会議で説明します。")) > 20
    assert len(shingles("lone \ud800 surrogates " * 10)) > 0


def test_a_long_text_is_taken_in_pieces() -> None:
    words = [_WORDS[n * n % 499] for n in range(250_000)]
    whole = shingles(" ".join(words))
    wanted = {tuple(words[n : n + 5]) for n in range(len(words) - 4)}
    assert len(whole) == len(wanted)
    assert (np.diff(whole.astype(object)) > 0).all()


def test_a_full_scratch_is_reported_in_one_line() -> None:
    """It is no bug, and nothing of it is stored."""

    class Full(io.BytesIO):
        def write(self, data: object) -> int:
            raise OSError(28, "No space left on device")

    with pytest.raises(StorageFault, match=r"cannot write to scratch: .*No space left .*8 bytes there for each word"):
        Collected(Full(), bands_for(0.8)).add(0, 0, shingles("word " * LEAST))


def test_languages_of_real_texts_are_found() -> None:
    """Of pieces of 45 languages: of a paragraph 98 of 100 at least and 3 wrong; of some words fewer, the others
    unknown rather than wrong."""
    dice = random.Random(1)
    least = {600: 0.98, 60: 0.85}
    for length, share in least.items():
        truth, found = {}, {}
        for language, text in own_texts().items():
            for number in range(4):
                start = dice.randrange(len(text) - length)
                truth[f"{language}{number}"] = language
                found[f"{language}{number}"] = language_of(text[start : start + length])
        reported = languages_detected(truth, found)
        assert reported.right >= share * sum(reported), reported
        assert reported.wrong <= 0.03 * sum(reported), reported


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", UNKNOWN),
        ("Yes, thanks", UNKNOWN),
        ("1,234.50 " * 200, UNKNOWN),
        ("aGVsbG8gd29ybGQgdGhpcyBpcyBiYXNlNjQ=" * 20, NO_LANGUAGE),
        ("DIE SITZUNG WURDE AUF DEN NÄCHSTEN MITTWOCH VERSCHOBEN", "de"),
        ("\ud800 lone surrogates in a text that somebody wrote in English, which was read all the same", "en"),
    ],
)
def test_what_states_little_is_not_guessed(text: str, wanted: str) -> None:
    assert language_of(text) == wanted


def test_the_middle_of_a_long_text_counts_too() -> None:
    german = own_texts()["de"]
    assert language_of("Dear all, please see below.\n\n" + german * 20) == "de"


@pytest.mark.parametrize("report", [DUPLICATES, NEAR_DUPLICATES, LANGUAGES, SYSTEM_FILES, THREADS])
def test_a_group_without_jobs_is_refused_in_one_line(report: Report[Any]) -> None:
    with pytest.raises(UsageError, match="the group has no jobs"):
        report.last([], [])
