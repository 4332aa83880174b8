"""People, file names and folder names."""

from __future__ import annotations

import functools
import unicodedata
from typing import NamedTuple

from mimesis import Person
from mimesis.locales import Locale

from dataset_gen.material.text import prose
from dataset_gen.rng import Dice

_SEED = 20_250_102
_DOMAINS = ("northgate.example", "halvorsen-lee.example", "quarry.example", "mail.example", "brandt-partner.example")
_LOCALES = (Locale.EN, Locale.EN, Locale.DE, Locale.FR, Locale.ES)
_FOLDERS = (
    "Projects", "Contracts", "Finance", "HR", "Meeting notes", "Board", "Reports 2019", "Reports 2020", "Archive",
    "Customers", "Suppliers", "Legal hold", "Übersicht", "Drafts", "Pictures", "Travel", "Budget", "Invoices",
    "Technical", "Old laptop", "Réunions", "Presentations", "Backup of desktop", "misc", "2018", "2021", "Für Anna",
)  # fmt: skip
_UNICODE = ("Übersicht", "Résumé", "Größe", "日本語", "Отчёт", "naïve", "señal", "Ελλάδα")


class Someone(NamedTuple):
    """A correspondent, as `readers.mail_form.Address`."""

    name: str
    address: str


def _ascii(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text.replace("ß", "ss").replace("ø", "o").replace("æ", "ae"))
    return "".join(c for c in plain.lower() if c.isascii() and c.isalpha())


@functools.cache
def everyone(count: int = 1500) -> tuple[Someone, ...]:
    """Distinct people, the custodians of a corpus first; the same in every corpus."""
    sources = [Person(locale, seed=_SEED + i) for i, locale in enumerate(_LOCALES)]
    out: dict[str, Someone] = {}
    turn = 0
    while len(out) < count:
        person = sources[turn % len(sources)]
        first, last = person.first_name(), person.last_name()
        domain = _DOMAINS[0] if len(out) < 300 else _DOMAINS[turn % len(_DOMAINS)]
        address = f"{_ascii(first)}.{_ascii(last)}@{domain}"
        if address[0].isalpha():
            out.setdefault(address, Someone(f"{first} {last}", address))
        turn += 1
    return tuple(out.values())


def custodian_names(count: int) -> tuple[str, ...]:
    """Directory names like `anna_keller`."""
    return tuple(p.address.split("@")[0].replace(".", "_") for p in everyone()[:count])


def file_stem(dice: Dice) -> str:
    """Return a file name without its extension: mostly two or three words, some with Unicode, some long."""
    draw = dice.random()
    if draw < 0.03:
        return f"{prose().title(dice, 18)}"[:150].strip()
    if draw < 0.12:
        return f"{dice.pick(_UNICODE)} {prose().title(dice, 2)}"
    words = prose().title(dice, dice.between(1, 4))
    if draw < 0.45:
        return words
    if draw < 0.75:
        return f"{words.replace(' ', '_')}_{dice.between(1, 999)}"
    return f"{dice.between(2015, 2023)}-{dice.between(1, 12):02d}-{dice.between(1, 28):02d} {words}"


def folder(dice: Dice) -> str:
    """Return a folder's name."""
    return dice.pick(_FOLDERS) if dice.chance(0.7) else prose().title(dice, 2)
