"""Text with a Zipf vocabulary: a pool of sentences is built once a process, then sliced.

The pool does not depend on the corpus's seed; which sentences a document gets does."""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from mimesis import Text
from mimesis.locales import Locale

from dataset_gen.rng import Dice

VOCABULARY = 40_000
SENTENCES = 30_000
_FOREIGN_SENTENCES = 3_000  # of each other language
_FOREIGN_WORDS = 9_000
_SEED = 20_250_101
LATIN = ("en", "de", "es", "fr", "nl", "pt", "sv")  # languages that ISO 8859-1 can write
LANGUAGES = (*LATIN, "ja", "pl", "ru")
_CHANGED_GROUP = 9  # in a near-duplicate, a sentence of every ninth paragraph or so is another one
_COMMON = (
    "the of and to a in is that for it on was with as be at by this have or are an not you which but we his they "
    "all will one there would their what so up out if about who get which go me when make can like time no just "
    "him know take people into year your good some could them see other than then now look only come its over "
    "think also back after use two how our work first well way even new want because any these give day most us "
    "please meeting report attached contract review budget regards project draft agreement team call schedule"
)
_ACCENTED = (
    "naïve café résumé Übersicht Größe Straße année être déjà señor mañana façade Zürich Köln Ångström smörgås "
    "coöperate rôle élan Müller François São"
)
_ONSETS = "b br c ch d dr f fl g gr h j k l m n p pl pr r s sh sl st t tr v w"
_VOWELS = "a e i o u ai ea io ou"
_CODAS = ["", "", "n", "r", "s", "t", "l", "m", "nd", "rt", "ck", "sh"]
# Chance makes words of these too, and people read file names aloud.
_UNSEEMLY = (
    "fuck", "cunt", "shit", "slut", "twat", "wank", "cock", "dick", "tits", "bitch", "nigg", "fag", "rape", "nazi",
    "porn", "penis", "whore",
)  # fmt: skip


def vocabulary() -> list[str]:
    """Distinct lower-case words, the most frequent first: common words, English words, pseudo-words."""
    dice = Dice(_SEED)
    words = dict.fromkeys(_COMMON.split())
    onsets, vowels = _ONSETS.split(), _VOWELS.split()
    english = Text(Locale.EN, seed=_SEED).words(quantity=12_000)
    words.update(dict.fromkeys(w.lower() for w in english if w.isascii() and w.isalpha() and len(w) > 1))
    while len(words) < VOCABULARY:
        syllables = dice.between(2, 4)
        word = "".join(dice.pick(onsets) + dice.pick(vowels) + dice.pick(_CODAS) for _ in range(syllables))
        if not any(part in word for part in _UNSEEMLY):
            words[word] = None
    return list(words)


@dataclass(frozen=True)
class Prose:
    """Sentences without characters that XML, HTML or a mail header must quote."""

    plain: tuple[str, ...]  # ASCII
    accented: tuple[str, ...]  # with words of Latin-1

    def paragraphs(self, dice: Dice, characters: int, *, accented: bool = False, any_script: bool = False) -> list[str]:
        """Return paragraphs of two to six sentences with about that many characters in all; at least one."""
        return [" ".join(group) for group in self.groups(dice, characters, accented=accented, any_script=any_script)]

    def lines(self, dice: Dice, characters: int, *, accented: bool = False, any_script: bool = False) -> list[str]:
        """Return paragraphs as lines of one sentence each, with an empty line between paragraphs."""
        out: list[str] = []
        for group in self.groups(dice, characters, accented=accented, any_script=any_script):
            out.extend(group)
            out.append("")
        return out[:-1]

    def groups(
        self, dice: Dice, characters: int, *, accented: bool = False, any_script: bool = False
    ) -> list[list[str]]:
        """Return the sentences of each paragraph, in the dice's language if the caller can write it: ASCII by default,
        ISO 8859-1 with `accented`, everything with `any_script`."""
        pool = self._pool(dice.language, accented or any_script, any_script)
        english = pool is self.plain
        top = len(pool) - 6
        out: list[list[str]] = []
        left = characters
        draw = dice.random
        while left > 0 or not out:
            start = int(draw() * top)
            group = list(pool[start : start + 2 + int(draw() * 5)])
            if accented and english and draw() < 0.3:
                group[0] = dice.pick(self.accented)
            if draw() < 0.2:
                group[-1] = f"{group[-1]} See item {dice.below(10_000_000)}."
            if dice.variant and (len(out) + dice.variant) % _CHANGED_GROUP == 0:
                group[0] = pool[(dice.variant + 31 * len(out)) % top]
            out.append(group)
            left -= sum(map(len, group)) + len(group)
        dice.characters += characters - left
        return out

    def _pool(self, language: str, accented: bool, any_script: bool) -> tuple[str, ...]:
        if language == "en" or not accented or (language not in LATIN and not any_script):
            return self.plain
        return foreign(language)

    def title(self, dice: Dice, words: int = 5, *, any_script: bool = False) -> str:
        """Return a few words without the final stop; in the dice's language if the caller can write any script."""
        sentence = dice.pick(self._pool(dice.language, any_script, any_script)).rstrip(".。")
        return " ".join(sentence.split()[:words]) if dice.language != "ja" or not any_script else sentence[:30]


def _sentences(words: Sequence[str], count: int, *, between: str = " ", stop: str = ".", most: int = 15) -> list[str]:
    dice = Dice(_SEED + 1)
    totals = list(accumulate(1.0 / (rank + 2.7) for rank in range(len(words))))
    draw, top, highest = dice.random, totals[-1], len(words) - 1
    out = []
    for _ in range(count):
        # `dice.weighted`, written out: this is drawn 300,000 times.
        text = between.join(
            [words[min(bisect_right(totals, draw() * top), highest)] for _ in range(dice.between(6, most))]
        )
        if text.startswith("from "):
            text = f"all {text}"  # a line that starts with "From " would have to be quoted in an mbox
        out.append(f"{text[0].upper()}{text[1:]}{stop}")
    return out


@functools.cache
def prose() -> Prose:
    """Return the pool of sentences of this process (0.5 s to build, then shared)."""
    plain = _sentences(vocabulary(), SENTENCES)
    dice = Dice(_SEED + 2)
    accented, foreign = [], _ACCENTED.split()
    for sentence in plain[:3000]:
        words = sentence[:-1].split()
        words[dice.below(len(words))] = dice.pick(foreign)
        accented.append(" ".join(words) + ".")
    return Prose(tuple(plain), tuple(accented))


@functools.cache
def foreign(language: str) -> tuple[str, ...]:
    """Return the sentences of another language (30 ms to build, once in each process)."""
    words = Text(Locale(language), seed=_SEED).words(quantity=12_000)
    known = dict.fromkeys(w.lower() for w in words if w.isalpha() and len(w) > 1 and _writable(w.lower(), language))
    dice = Dice(_SEED + 3)
    common = list(known)
    while len(known) < _FOREIGN_WORDS:  # compounds fill the tail
        known[dice.pick(common) + dice.pick(common)] = None
    if language == "ja":
        return tuple(_sentences(list(known), _FOREIGN_SENTENCES, between="", stop="。", most=11))
    return tuple(_sentences(list(known), _FOREIGN_SENTENCES))


def _writable(word: str, language: str) -> bool:
    """Return whether the usual charset of mail in the language has all of the word's letters."""
    charset = {"ja": "iso-2022-jp", "pl": "iso-8859-2", "ru": "koi8-r"}.get(language, "iso-8859-1")
    try:
        word.encode(charset)
    except UnicodeEncodeError:
        return False
    return True


def planted_token(dice: Dice) -> str:
    """Return a word that occurs only where it was planted."""
    return f"plantqvx{dice.below(10_000_000_000):010d}"


# Phrases whose words are not in the vocabulary as such a sequence.
PHRASES = (
    "crimson lantern protocol",
    "granite heron ledger",
    "velvet anvil memorandum",
    "cobalt orchard settlement",
    "amber turnstile accord",
)
