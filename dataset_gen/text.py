"""Text with a Zipf vocabulary: a pool of sentences is built once a process, then sliced.

The pool does not depend on the corpus's seed; which sentences a document gets does.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from mimesis import Text
from mimesis.locales import Locale

from dataset_gen.rng import Dice

VOCABULARY = 40_000
SENTENCES = 30_000
_SEED = 20_250_101
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


def vocabulary() -> list[str]:
    """Distinct lower-case words, the most frequent first: common words, English words, pseudo-words."""
    dice = Dice(_SEED)
    words = dict.fromkeys(_COMMON.split())
    onsets, vowels = _ONSETS.split(), _VOWELS.split()
    english = Text(Locale.EN, seed=_SEED).words(quantity=12_000)
    words.update(dict.fromkeys(w.lower() for w in english if w.isascii() and w.isalpha() and len(w) > 1))
    while len(words) < VOCABULARY:
        syllables = dice.between(2, 4)
        words["".join(dice.pick(onsets) + dice.pick(vowels) + dice.pick(_CODAS) for _ in range(syllables))] = None
    return list(words)


@dataclass(frozen=True)
class Prose:
    """Sentences without any character that XML, HTML or a mail header would have to quote."""

    plain: tuple[str, ...]  # ASCII
    accented: tuple[str, ...]  # with words of Latin-1

    def paragraphs(self, dice: Dice, characters: int, *, accented: bool = False) -> list[str]:
        """Paragraphs of two to six sentences with about that many characters in all; at least one."""
        return [" ".join(group) for group in self.groups(dice, characters, accented=accented)]

    def lines(self, dice: Dice, characters: int, *, accented: bool = False) -> list[str]:
        """The same as lines of one sentence each with an empty line between paragraphs."""
        out: list[str] = []
        for group in self.groups(dice, characters, accented=accented):
            out.extend(group)
            out.append("")
        return out[:-1]

    def groups(self, dice: Dice, characters: int, *, accented: bool = False) -> list[list[str]]:
        """The sentences of each paragraph."""
        pool = self.plain
        top = len(pool) - 6
        out: list[list[str]] = []
        left = characters
        while left > 0 or not out:
            start = dice.below(top)
            group = list(pool[start : start + dice.between(2, 6)])
            if accented and dice.chance(0.3):
                group[0] = dice.pick(self.accented)
            if dice.chance(0.2):
                group[-1] = f"{group[-1]} See item {dice.below(10_000_000)}."
            out.append(group)
            left -= sum(map(len, group)) + len(group)
        return out

    def title(self, dice: Dice, words: int = 5) -> str:
        """A few words without the final stop."""
        return " ".join(dice.pick(self.plain).rstrip(".").split()[:words])


def _sentences(words: Sequence[str], count: int) -> list[str]:
    dice = Dice(_SEED + 1)
    totals = list(accumulate(1.0 / (rank + 2.7) for rank in range(len(words))))
    out = []
    for _ in range(count):
        text = " ".join([dice.weighted(words, totals) for _ in range(dice.between(6, 15))])
        if text.startswith("from "):
            text = f"all {text}"  # a line that starts with "From " would have to be quoted in an mbox
        out.append(f"{text[0].upper()}{text[1:]}.")
    return out


@functools.cache
def prose() -> Prose:
    """This process's pool (0.5 s to build, then shared)."""
    plain = _sentences(vocabulary(), SENTENCES)
    dice = Dice(_SEED + 2)
    accented, foreign = [], _ACCENTED.split()
    for sentence in plain[:3000]:
        words = sentence[:-1].split()
        words[dice.below(len(words))] = dice.pick(foreign)
        accented.append(" ".join(words) + ".")
    return Prose(tuple(plain), tuple(accented))


def planted_token(dice: Dice) -> str:
    """A word that occurs nowhere but where it was planted."""
    return f"plantqvx{dice.below(10_000_000_000):010d}"


# Phrases whose words are not in the vocabulary as such a sequence.
PHRASES = (
    "crimson lantern protocol",
    "granite heron ledger",
    "velvet anvil memorandum",
    "cobalt orchard settlement",
    "amber turnstile accord",
)
