"""One file of the profile `languages`: a piece of real text, with a word and a phrase of its language to be found in it."""

from __future__ import annotations

import csv
import functools
import html
import io
import re
import unicodedata
from dataclasses import replace

from dataset_gen.languages.manners import CONTRADICTED, Manner, false_label, in_forms, pairs, states
from dataset_gen.languages.texts import fitting, own_texts
from dataset_gen.made import Made, leaf
from dataset_gen.rng import Dice, derive
from readers.mail_form import base64_lines

SIZES = (200, 500, 1_000, 2_000, 4_000, 8_000, 20_000)  # bytes, in turn
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u0652\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
_WORD = re.compile(rf"(?:[^\W\d_][{_MARKS}]*){{5,9}}")
_SYLLABLES = re.compile(rf"(?:[^\W\d_][{_MARKS}]*){{5}}")  # of scripts without blanks: any that follow each other
_WITHOUT_BLANKS = ("ja", "th", "zh_Hans", "zh_Hant")
_HYPHENS = ("-\n", "\u2010\n", "\xad\n", "\xad")
_LABELS = {
    "cp932": "windows-31j",
    "cp874": "windows-874",
    "cp949": "ks_c_5601-1987",
    "mac-roman": "macintosh",
    "hz": "hz-gb-2312",
    "big5hkscs": "big5-hkscs",
    "euc_jp": "euc-jp",
    "euc_kr": "euc-kr",
    "iso2022_jp": "iso-2022-jp",
    "iso2022_kr": "iso-2022-kr",
}
_MEDIA_TYPES = {"txt": "text/plain", "csv": "text/csv", "html": "text/html", "eml": "message/rfc822"}


def sample_key(number: int) -> str:
    """The key of file `number`: every pair of language and charset comes once before one comes again, in its next manner."""
    turn, at = divmod(number, len(pairs()))
    language, charset, manners = pairs()[at]
    return f"{language}/{charset}/{manners[(at + turn) % len(manners)]}/{number}"


def sample_size(number: int) -> int:
    """Bytes of file `number`, about."""
    return SIZES[(number + number // len(pairs())) % len(SIZES)]


def build_sample(seed: int, key: str, size: int) -> Made:
    """The file with that key."""
    language, charset, shown, number = key.split("/")
    manner, dice = Manner(shown), Dice(derive(seed, "language", key))
    fit = _fit(language, charset)
    first, second = _compound(dice, language, charset), _compound(dice, language, charset)
    word = "".join(first)
    terms = (word, f"{word} {''.join(second)}")
    broken = dice.pick(_HYPHENS).join(first) if manner is Manner.CUT else word
    width = len(fit.encode(charset)) / len(fit)
    length = max(20, min(len(fit) - 1, int((size - 100) / width)))
    start = dice.below(len(fit) - length)
    lines = fit[start : start + length].strip().split("\n")
    lines.insert(dice.below(len(lines) + 1), f"{broken} {''.join(second)}")
    label = false_label(charset, int(number)) if manner in CONTRADICTED else _label(charset)
    data = _written(_in_manner(lines, manner, language), charset, manner, label)
    made = leaf(data, _MEDIA_TYPES[manner.kind], characters=length, terms=terms)
    return Made(made.data, replace(made.truth, states=states(charset, manner)))


@functools.cache
def _fit(language: str, charset: str) -> str:
    return fitting(own_texts()[language], charset)


@functools.cache
def _words(language: str, charset: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Words to make compounds of, those to begin with and those to end with; none is both."""
    shape = _SYLLABLES if language in _WITHOUT_BLANKS else _WORD
    words = dict.fromkeys(w for w in shape.findall(_fit(language, charset)) if w == w.lower())
    ordered = sorted(words)
    odd = [w for w in ordered[::2] if not w.isascii()]
    return tuple(odd if len(odd) >= 5 else ordered[::2]), tuple(ordered[1::2])


def _compound(dice: Dice, language: str, charset: str) -> tuple[str, str]:
    """Two words that follow each other in no text; the first is no ASCII where the language has such."""
    first, second = _words(language, charset)
    while True:
        pair = dice.pick(first), dice.pick(second)
        if unicodedata.normalize("NFC", "".join(pair)) not in _all_letters():
            return pair


@functools.cache
def _all_letters() -> str:
    """Every text without what stands between its words: what is in it might be found without having been planted."""
    return "\n".join(re.sub(rf"[^\w{_MARKS}]+", "", text) for text in own_texts().values()).lower()


def _in_manner(lines: list[str], manner: Manner, language: str) -> list[str]:
    if manner is Manner.DECOMPOSED:
        return [unicodedata.normalize("NFD", line) for line in lines]
    if manner is Manner.FORMS:
        return [in_forms(line, language) for line in lines]
    if manner is Manner.BIDI:  # an embedding around each line, a mark inside of its first word
        return [f"\u202b{_FIRST.sub(lambda two: chr(0x200F).join(two[0]), line, count=1)}\u202c" for line in lines]
    return lines


_FIRST = re.compile(r"[^\W\d_]{2}")


def _written(lines: list[str], charset: str, manner: Manner, label: str) -> bytes:
    label = label if manner.declares else ""
    if manner.kind == "csv":
        out = io.StringIO()
        csv.writer(out, lineterminator="\r\n").writerows(enumerate(lines, 1))
        return out.getvalue().encode(charset)
    if manner.kind == "html":
        meta = f'<meta charset="{label}">' if label else ""
        body = "\n".join(f"<p>{html.escape(line)}</p>" for line in lines)
        page = f"<!DOCTYPE html>\n<html><head>{meta}<title>1</title></head><body>\n{body}\n</body></html>\n"
        return page.encode(charset)
    text = ("\n".join(lines) + "\n").encode(charset)
    return _mail(text, label) if manner.kind == "eml" else text


def _mail(text: bytes, label: str) -> bytes:
    declared = f'; charset="{label}"' if label else ""
    head = (
        "Message-ID: <1@mail.example>\nDate: Thu, 01 Jan 2015 00:00:00 +0000\nFrom: ann@mail.example\n"
        f"To: bob@mail.example\nSubject: 1\nMIME-Version: 1.0\nContent-Type: text/plain{declared}\n"
        f"Content-Transfer-Encoding: {'base64' if label else '8bit'}\n\n"
    )
    return head.encode() + (base64_lines(text) if label else text)


def _label(charset: str) -> str:
    """As mail and pages call it."""
    if charset in _LABELS:
        return _LABELS[charset]
    if charset.startswith("cp125"):
        return f"windows-{charset[2:]}"
    if charset.startswith("cp"):
        return f"ibm{charset[2:].lstrip('0').rjust(3, '0')}"
    if charset.startswith("iso8859"):
        return f"iso-8859-{charset.partition('-')[2]}"
    return f"x-{charset}" if charset.startswith("mac") else charset
