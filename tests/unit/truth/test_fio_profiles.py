"""What `make truth` takes from a storage test: the search's answer, and words of the first line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fio_profiles import FioProfile, _found
from judge import judged
from loads import Heard
from situations import Ceiling, Situation
from testbeds import Memory

SEARCH = Situation(name="search", truth="1,000 IOPS", testbed=Memory(), load=FioProfile("block-8k", ()), limit=None,
                   ceiling=Ceiling(figure="IOPS found", value=1000))  # fmt: skip
CACHES = replace(SEARCH, finds=("no cache answered",), ceiling=Ceiling(figure="reread ÷ read", value=1.0))


def searched(outstanding: int, iops: float, mean_us: float) -> dict[str, Any]:
    at = {"case": 6, "outstanding": outstanding, "volumes": 4}
    return {"at": at, "figures": {"iops": {"median": iops}, "mean_us": {"median": mean_us}}}


def test_the_answer_is_the_last_load_before_the_bound_broke() -> None:
    points = [
        searched(4, 1000.0, 9_000.0),
        searched(1, 700.0, 2_000.0),
        searched(8, 990.0, 11_000.0),
        searched(9, 1100.0, 9_900.0),
    ]
    conditions = {"configuration": {"settings": {"most_ms": 10.0}}}
    assert _found({"points": points, "conditions": conditions}) == {
        "iops": 1000.0,
        "mean_us": 9_000.0,
        "outstanding": 16,
    }


def heard(verdict: str, **run: object) -> Heard:
    document = {"workload": "matrix", "labels": [], "verdict": verdict, "points": [{"figures": {}, "repeats": [run]}]}
    return Heard(status=0, errors="", document=document)


@pytest.mark.parametrize(
    ("situation", "said", "wrong"),
    [
        (SEARCH, heard("", found={"iops": 1049.0}), 0),
        (SEARCH, heard("", found={"iops": 1051.0}), 1),
        (SEARCH, heard("", found={"iops": 949.0}), 1),
        (CACHES, heard("no cache answered: 1.02", cache_ratio=1.02), 0),
        (CACHES, heard("A CACHE ANSWERED at 4 cells", cache_ratio=1.02), 1),
        (CACHES, heard("no cache answered: 1.2", cache_ratio=1.2), 1),
    ],
)
def test_figures_and_words_are_judged(situation: Situation, said: Heard, wrong: int) -> None:
    assert len(judged(situation, said).wrong) == wrong
