"""Labels of jobs and results: what each means and what to do, for tooltips and the page that explains them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from controller.labels.advice import advice_on

MOST_LETTERS = 44  # of a label
MEANINGS = {
    "EMULATED FILER": "An emulated filer delayed the storage calls, so the figures are not those of real storage.",
    "CACHED": "Fewer than three times as many different bytes were touched as caches can hold, so caches may have answered.",
    "SHORT": "A run was shorter than the required time, so start-up effects and caches are in the figures.",
    "NOT STEADY": "The rate changed while it was measured, so its mean does not describe the storage.",
    "LEAST LENGTH LOWERED": "The operator allowed runs that are shorter than the rule requires.",
    "FILER CACHE UNDECLARED": "The storage may have a cache of unknown size, so CACHED cannot be decided.",
    "NO BASELINE": "No run on null storage shows the generator's own time, so it is not known what limited the run.",
    "GENERATOR-LIMITED": "The workers or their host limited the run, so the figures say nothing about the storage.",
    "PAUSED": "The job was paused by an operator, so caches may have changed in between.",
    "SUSPENDED": "The job stopped for a fault for some time, which its elapsed time includes.",
    "DATABASE AWAY": "A database did not answer for some time, which the elapsed time includes.",
    "WORKERS CHANGED": "Not the same workers processed the job from start to end.",
    "SOURCE NOT ON THE STORAGE UNDER TEST": "The source is on other storage than the one that the job writes to.",
    "NOT COMPARABLE": "The results differ in a condition that must be equal.",
    "UNCHECKED": "Nothing proves that the result is unchanged since it was measured.",
}


@dataclass(frozen=True, slots=True)
class Label:
    """A label of a table: its name, its place on the page, and the sentences about it."""

    name: str
    meaning: str
    advice: str

    @property
    def anchor(self) -> str:
        """As a fragment of an address."""
        return self.name.lower().replace(" ", "-")


def explained() -> list[Label]:
    """All labels that have an explanation."""
    return [
        Label(name, meaning, "; ".join(line.partition(": ")[2] for line in advice_on([name])))
        for name, meaning in MEANINGS.items()
    ]


def short_label(text: str) -> str:
    """The text of a label as far as there is room; its tooltip has all of it."""
    return re.split("[:,(]", text, maxsplit=1)[0].strip() if len(text) > MOST_LETTERS else text


def label_of(text: str) -> Label | None:
    """The label that a text begins with; None for a plain remark."""
    return next((label for label in explained() if text.startswith(label.name)), None)
