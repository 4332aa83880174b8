"""Text: a Zipf vocabulary, and nothing in it that would be mistaken for structure."""

import codecs
import email
import email.policy
import functools
import hashlib
import itertools
import re
import signal
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataset_gen.formats import images, odf, plain
from dataset_gen.formats.eml import Letter, write
from dataset_gen.formats.plain import RecordPool, make_pool
from dataset_gen.languages import (
    CONTRADICTED,
    Manner,
    _label,
    build_sample,
    false_label,
    in_forms,
    own_texts,
    pairs,
    sample_key,
    states,
)
from dataset_gen.material.blocks import BLOCK, SeriesFile, plan_series, write_series
from dataset_gen.material.mail import letters, thread
from dataset_gen.material.people import everyone
from dataset_gen.material.text import LANGUAGES, PHRASES, VOCABULARY, foreign, prose, vocabulary
from dataset_gen.mix import KINDS, Series
from dataset_gen.packing import deflated
from dataset_gen.profile import load_profile
from dataset_gen.rng import Dice
from dataset_gen.workshop import Workshop
from readers.charset_labels import by_label
from search.words import usual


def test_vocabulary_is_large_and_skewed() -> None:
    words = vocabulary()
    assert len(words) == len(set(words)) >= VOCABULARY
    count = Counter(" ".join(prose().plain).lower().replace(".", "").split())
    (_, first), (_, tenth) = count.most_common(10)[0], count.most_common(10)[9]
    assert 0.01 < first / count.total() < 0.10
    assert 2 < first / tenth < 8
    assert len(count) > 15_000


def test_sentences_need_no_quoting() -> None:
    """No markup, no line that an mbox would have to quote, no header-like beginning, no planted term."""
    for sentence in (*prose().plain, *prose().accented):
        assert not set(sentence) & set("<>&\"'\n:")
        assert not sentence.startswith("From ")
        assert "plantqvx" not in sentence
    everything = " ".join(prose().plain).lower()
    assert not any(phrase in everything for phrase in PHRASES)


def test_length_is_about_what_was_asked() -> None:
    for characters in (100, 5000, 100_000):
        length = len("\n".join(prose().paragraphs(Dice(characters), characters, accented=True)))
        assert characters <= length < characters + 1200


def test_people_have_addresses_of_their_own() -> None:
    people = everyone()
    assert len({p.address for p in people}) == len(people)
    assert all(p.address.isascii() and "\n" not in p.name for p in people)


LARGEST = 30_000


@pytest.fixture(scope="module")
def shop() -> Workshop:
    """A maker for the reference profile."""
    return Workshop(load_profile("reference"), 5, 0.01)


@pytest.fixture(scope="module")
def found(shop: Workshop) -> list[Letter]:
    """All messages of a few hundred threads."""
    out: list[Letter] = []
    for number in range(300):
        talk = thread(shop, number % 9, number, LARGEST)
        out += [letter for _, letter in letters(shop, talk, frozenset(range(len(talk.sketches))))]
    return out


def test_a_message_is_the_same_whoever_holds_it(shop: Workshop) -> None:
    talk = next(t for n in range(400) if len((t := thread(shop, 0, n, LARGEST)).sketches) >= 4)
    everything = dict(letters(shop, talk, frozenset(range(len(talk.sketches)))))
    for position in (0, 3):
        ((_, alone),) = letters(Workshop(shop.profile, 5, 0.01), talk, frozenset((position,)))
        assert write(alone).data == write(everything[position]).data


def test_threads_hang_together(shop: Workshop) -> None:
    talk = next(t for n in range(400) if len((t := thread(shop, 0, n, LARGEST)).sketches) >= 4)
    found = [letter for _, letter in letters(shop, talk, frozenset(range(len(talk.sketches))))]
    for before, letter in itertools.pairwise(found):
        assert letter.references[-1] == before.message_id
        assert letter.when > before.when
    assert any(line.startswith("> ") for line in found[1].body.splitlines()) or found[1].receipt


def test_the_smallest_corpus_has_a_winmail_dat() -> None:
    for seed in range(6):
        first = thread(Workshop(load_profile("reference"), seed, 0.0001), 0, 0, LARGEST).sketches[0]
        assert "tnef" in [fmt for fmt, _, _ in first.attachments]


def test_attachments_of_a_message_have_a_limit(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dataset_gen.material.mail._MOST_ATTACHED", 50_000)
    sums = [
        sum(size for fmt, _, size in sketch.attachments if fmt not in ("ics", "tnef"))
        for number in range(400)
        for sketch in thread(shop, 1, number, 300_000).sketches
    ]
    assert 20_000 < max(sums) <= 50_000 + 300_000 // 2


def test_lengths_of_threads(shop: Workshop) -> None:
    counts = Counter(len(thread(shop, 3, number, LARGEST).sketches) for number in range(400))
    assert 0.77 < counts[1] / 400 < 0.85
    assert 0.08 < counts[2] / 400 < 0.14
    assert max(counts) > 10


def test_languages_and_charsets(found: list[Letter]) -> None:
    seen: Counter[str] = Counter()
    for letter in found:
        message = email.message_from_bytes(write(letter).data, policy=email.policy.default)
        body = message.get_body(("plain",))
        assert body.get_content().replace("\r\n", "\n").rstrip("\n") == letter.body.rstrip("\n")
        seen[str(body.get_content_charset())] += 1
    assert {"us-ascii", "utf-8", "iso-8859-1", "windows-1252"} <= set(seen)
    assert len(seen) >= 6
    assert any("キ" in letter.body or "の" in letter.body or "。" in letter.body for letter in found)


def test_what_messages_carry(found: list[Letter]) -> None:
    names = [name for letter in found for name, _ in letter.attachments]
    assert {"meeting.ics", "winmail.dat"} <= set(names) or len(names) > 50
    assert any(letter.picture for letter in found)
    assert any(letter.forwarded for letter in found)
    receipt = next(letter for letter in found if letter.receipt)
    message = email.message_from_bytes(write(receipt).data, policy=email.policy.default)
    assert message.get_content_type() == "multipart/report"
    assert any("\n-- \n" in letter.body for letter in found)


SEED = 7


def _series(kind: str, **options: float) -> Series:
    wanted = {"share": 1.0, "file_bytes": 40 * BLOCK, "generations": 1, **options}
    return Series(kind=kind, **wanted)  # type: ignore[arg-type]


def _written(file: SeriesFile) -> bytes:
    pieces: list[bytes] = []
    truth = write_series(file, SEED, pieces.append)
    data = b"".join(pieces)
    assert (truth.size, truth.sha256) == (len(data), hashlib.sha256(data).digest())
    assert len(data) == file.size
    return data


def _blocks(data: bytes) -> list[bytes]:
    return [data[start : start + BLOCK] for start in range(0, len(data), BLOCK)]


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_are_those_of_the_budget(kind: str) -> None:
    series = _series(kind, generations=5, full_every=5, change_rate=0.1)
    files = plan_series(series, SEED, 200 * BLOCK)
    assert sum(f.size for f in files) == pytest.approx(200 * BLOCK, rel=0.12)
    assert len({f.name for f in files}) == len(files)
    assert len(_written(files[0])) == files[0].size


def test_what_can_be_reduced() -> None:
    (zeros, *_), (noise, *_), (science, *_) = (plan_series(_series(k), SEED, 40 * BLOCK) for k in KINDS[:3])
    assert not any(_written(zeros))
    for file in (noise, science):
        data = _written(file)
        assert len(set(_blocks(data))) == len(data) // BLOCK
        assert len(deflated(data)) > 0.93 * len(data)


def test_incremental_backups_hold_what_changed() -> None:
    series = _series("backup", generations=5, full_every=4, change_rate=0.1)
    files = plan_series(series, SEED, 60 * BLOCK)
    chain = [f for f in files if f.number == 0]
    assert [f.full for f in chain] == [True, False, False, False, True]
    restored = dict(enumerate(_blocks(_written(chain[0]))))
    for file in chain[1:4]:
        table, *changed = _blocks(_written(file))
        places = [int.from_bytes(table[8 + 4 * n : 12 + 4 * n], "big") for n in range(len(changed))]
        restored |= dict(zip(places, changed, strict=True))
    last = dict(enumerate(_blocks(_written(chain[4]))))
    same = sum(restored[at] == block for at, block in last.items())
    assert 0.85 * len(last) <= same < len(last)


def test_images_of_machines_change_little() -> None:
    series = _series("vm-image", generations=3, change_rate=0.05, used_share=0.5)
    first, second, *_ = (_blocks(_written(f)) for f in plan_series(series, SEED, 300 * BLOCK))
    changed = sum(a != b for a, b in zip(first, second, strict=True))
    assert 0 < changed <= round(0.05 * len(first)) + 1
    assert 0.3 < sum(not any(block) for block in first) / len(first) < 0.7


def test_all_pools_are_there_once_it_is_imported() -> None:
    """Nothing is left for a process to make on its own, and Ctrl-C works as before."""
    from dataset_gen import pools  # it fills them, and whoever collects tests imports all of these files

    caches = (
        prose,
        foreign,
        images._jpeg_rows,
        images._fax_rows,
        images._svg_boxes,
        odf._pool,
        plain._source_pool,
        plain._log_pool,
    )
    before = [cached.cache_info().misses for cached in caches]
    assert foreign.cache_info().currsize == len(LANGUAGES) - 1
    assert plain._source_pool.cache_info().currsize == len(plain.LANGUAGES)
    pools.fill()
    assert [cached.cache_info().misses for cached in caches] == before
    assert signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


@functools.cache
def pool() -> RecordPool:
    return make_pool("test", 60_000, lambda dice, number: f"{number:05d} {'x' * dice.between(10, 60)}\n")


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 300_000), st.integers(0, 1000))
def test_records_are_whole_and_sizes_right(size: int, seed: int) -> None:
    """Every line taken is one of the pool's; the sum is right but for the last stretch, however large the document is."""
    data = b"".join(pool().take(Dice(seed), size))
    known = set(pool().data.split(b"\n"))
    assert data.endswith(b"\n")
    assert known.issuperset(data.split(b"\n"))
    assert abs(len(data) - size) < 150 + min(size, 24_000) // 10


def test_there_are_enough_languages_charsets_and_manners() -> None:
    assert len({language for language, _, _ in pairs()}) >= 30
    assert len({charset for _, charset, _ in pairs()}) >= 40
    assert {manner for _, _, manners in pairs() for manner in manners} == set(Manner)
    keys = [sample_key(number).split("/") for number in range(len(pairs()))]
    assert {(language, charset) for language, charset, _, _ in keys} == {(one[0], one[1]) for one in pairs()}
    assert {manner for _, _, manner, _ in keys} == set(Manner)


@pytest.mark.parametrize(
    "key",
    [
        "de/cp1252/txt/1",
        "ja/utf-8/txt-forms/2",
        "he/utf-8/txt-bidi/3",
        "vi/utf-8/txt-decomposed/4",
        "pl/utf-8/txt-cut/5",
    ],
)
def test_a_file_follows_from_seed_and_key(key: str) -> None:
    language, charset, _, _ = key.split("/")
    made = build_sample(1, key, 500)
    assert made.data == build_sample(1, key, 500).data != build_sample(2, key, 500).data
    assert made.truth.sha256 == hashlib.sha256(made.data).digest()
    word, phrase = made.truth.terms
    assert phrase.startswith(f"{word} ")
    text = usual(re.sub("[-\u2010\xad]\n", "", made.data.decode(charset)))
    assert usual(phrase) in text
    assert usual(word) not in usual(own_texts()[language])


@pytest.mark.parametrize("charset", sorted({charset for _, charset, _ in pairs()}))
def test_what_is_declared_is_known_by_that_name(charset: str) -> None:
    language = next(language for language, one, _ in pairs() if one == charset)
    written = own_texts()[language].encode(charset, "ignore")
    assert written.decode(by_label(_label(charset)) or "ascii", "replace") == written.decode(charset)


def test_only_what_nothing_declares_may_be_guessed() -> None:
    assert states("cp1252", Manner.TXT) == ("ok", "guessed")
    for charset, manner in (("cp1252", Manner.EML_DECLARED), ("utf-16-le", Manner.TXT), ("hz", Manner.CSV)):
        assert states(charset, manner) == ("ok",)


def test_what_is_declared_falsely_is_not_what_the_bytes_are_in() -> None:
    wrong = {(charset, number): false_label(charset, number) for _, charset, _ in pairs() for number in (0, 1)}
    assert not [one for (one, _), label in wrong.items() if codecs.lookup(label).name == codecs.lookup(one).name]
    for manner in CONTRADICTED:
        for charset in ("cp1251", "utf-8"):
            made = build_sample(1, f"ru/{charset}/{manner}/1", 500)
            assert wrong[charset, 1].encode() in made.data
            assert made.truth.states == (("ok",) if charset == "utf-8" else ("ok", "guessed"))


def test_forms_are_of_the_same_letters() -> None:
    assert in_forms("。「ガ」A", "ja") != "。「ガ」A"
    assert usual(in_forms("ガイドA", "ja")) == "ガイドA"
    assert in_forms("سلام", "ar") == "\ufeb1\ufedd\ufe8d\ufee1"
