"""Every label that jobs and results can get is explained, with an anchor of its own."""

from __future__ import annotations

import re

import pytest

from controller.labels import rules
from controller.timeline import thresholds
from web.pages.filters import explained, label_of

_LABEL = re.compile(r"[A-Z]{4,}")
GIVEN = sorted(
    {
        value
        for module in (rules, thresholds)
        for value in vars(module).values()
        if isinstance(value, str) and _LABEL.match(value) and value != "UNPAIRED"  # formerly: NO BASELINE
    }
)


@pytest.mark.parametrize("text", [*GIVEN, "PAUSED for 3 s", "GENERATOR-LIMITED at 2 of 3 points"])
def test_each_label_has_a_meaning(text: str) -> None:
    label = label_of(text)
    assert label is not None, f"{text} has no explanation"
    assert label.meaning.endswith(".")
    assert label.meaning.count(". ") == 0, "a tooltip is one sentence"


def test_a_plain_remark_is_no_label() -> None:
    assert label_of("latencies are closed-loop") is None


def test_anchors_differ() -> None:
    anchors = [label.anchor for label in explained()]
    assert len(set(anchors)) == len(anchors)
