"""The judge of `make truth` lets nothing false pass: each way to be wrong is called wrong."""

from dataclasses import replace
from typing import Any

import pytest
from judge import judged, outcome_of, row
from loads import Calls, Heard, Profile, Replay, ScaleUp, found
from situations import SITUATIONS, Ceiling, Situation
from testbeds import Memory

LINK = Situation(
    name="link", truth="a link of 8 MB/s", testbed=Memory(), load=Replay(Calls("read", each=1)), limit="link",
    labels=("EMULATED FILER",), ceiling=Ceiling(figure="bytes/s", value=8e6),
)  # fmt: skip
SHARED = Situation(
    name="share", truth="a slow mount", testbed=Memory(), load=ScaleUp(), limit="storage", labels=("CACHED",), share=0.6
)
FULL = Situation(
    name="full", truth="a disk fills", testbed=Memory(), load=ScaleUp(), limit="space", labels=("SUSPENDED",), never=()
)  # fmt: skip


def replayed(
    *labels: str, verdict: str = "limit: the filer's link, 99 % busy", moved: float = 8e7, pace: str = "max"
) -> Heard:
    run = {"bytes": moved, "elapsed_s": 10.0, "calls": 100}
    return heard("replay", labels, verdict, {"figures": {}, "repeats": [run]}, pace)


def discovered(*labels: str, share: float, verdict: str = "") -> Heard:
    point = {"figures": {"storage_share": {"median": share}}, "repeats": [{"elapsed_s": 9.0}]}
    return heard("discovery", labels, verdict, point, "max")


def heard(workload: str, labels: tuple[str, ...], verdict: str, point: dict[str, Any], pace: str) -> Heard:
    conditions = {"configuration": {"pace": pace}}
    document = {
        "workload": workload,
        "labels": list(labels),
        "verdict": verdict,
        "points": [point],
        "conditions": conditions,
    }
    return Heard(status=0, errors="", document=document)


STORAGE = "limit: the storage; storage share 61 %"
EMULATED, LIMITED = "EMULATED FILER known, scale 1/1", "GENERATOR-LIMITED at every point"


def test_what_is_as_the_table_has_it_is_right() -> None:
    verdict = judged(LINK, replayed(EMULATED))
    assert verdict.wrong == ()
    assert row(verdict)[3:] == ("8,000,000 bytes/s", "8,000,000", "1.000", "yes")
    assert judged(SHARED, discovered("CACHED: not a storage result", share=0.61, verdict=STORAGE)).wrong == ()
    assert judged(FULL, suspended("[Errno 28] No space left on device")).wrong == ()


def suspended(reason: str) -> Heard:
    return Heard(
        status=1, errors="", document={"state": "suspended", "labels": ["SUSPENDED for 9 s"], "reason": reason}
    )


@pytest.mark.parametrize(
    ("situation", "outcome", "why"),
    [
        (LINK, replayed(), "EMULATED FILER is missing"),
        (LINK, replayed(EMULATED, LIMITED), "GENERATOR-LIMITED is false"),
        (LINK, replayed(EMULATED, LIMITED), "the limit is link, not generator"),
        (LINK, replayed(EMULATED, verdict="limit: the filer's delays, no"), "the limit is link, not delays"),
        (LINK, replayed(EMULATED, verdict="limit: the storage"), "the limit is link, not storage"),
        (LINK, replayed(EMULATED, verdict=""), "the limit is link, not None"),
        (LINK, replayed(EMULATED, verdict="", pace="schedule"), "the limit is link, not pace"),
        (LINK, replayed(EMULATED, moved=8.5e7), "the ceiling is 8,000,000 bytes/s, not 8500000.0"),
        (LINK, replayed(EMULATED, moved=7.5e7), "the ceiling is 8,000,000 bytes/s, not 7500000.0"),
        (LINK, Heard(status=1, errors="broken", document={}), "exit status 1: broken"),
        (SHARED, discovered("CACHED", share=0.5), "the storage share is at least 60%, not 0.5"),
        (SHARED, discovered("CACHED", share=0.1), "the limit is storage, not None"),
        (FULL, suspended("the database is gone"), "the limit is space, not None"),
        (FULL, Heard(status=0, errors="", document={"state": "completed", "labels": []}), "SUSPENDED is missing"),
    ],
)
def test_what_is_not_is_called_wrong(situation: Situation, outcome: Heard, why: str) -> None:
    verdict = judged(situation, outcome)
    assert why in verdict.wrong
    assert row(verdict)[-1].startswith("NO: ")


DRIFTS = next(one for one in SITUATIONS if one.name == "drift-emulated")
EVEN = next(one for one in SITUATIONS if one.name == "drift-none-emulated")
REFUSED = next(one for one in SITUATIONS if one.name == "refused")
SEARCH = Situation(name="search", truth="1,000 IOPS", testbed=Memory(), load=Profile("block-8k", ()), limit=None,
                   ceiling=Ceiling(figure="IOPS found", value=1000))  # fmt: skip
CACHES = replace(SEARCH, finds=("no cache answered",), ceiling=Ceiling(figure="reread ÷ read", value=1.0))
INSERTED = "insert-drift on local storage: 400 files/s; limit: the filer's metadata, 99 % busy"


def profiled(labels: tuple[str, ...], verdict: str, **run: object) -> Heard:
    return heard("insert-drift", labels, verdict, {"figures": {}, "repeats": [run]}, "max")


@pytest.mark.parametrize(
    ("situation", "outcome", "why"),
    [
        (DRIFTS, profiled((EMULATED, "CACHED"), f"{INSERTED}; DRIFT at 1 of 1 points", files_per_s=400), None),
        (DRIFTS, profiled((EMULATED, "CACHED"), INSERTED, files_per_s=400), "DRIFT is missing"),
        (EVEN, profiled((EMULATED, "CACHED"), INSERTED, files_per_s=500), None),
        (
            EVEN,
            profiled((EMULATED, "CACHED"), f"{INSERTED}; DRIFT at 1 of 1 points", files_per_s=500),
            "DRIFT is false",
        ),
        (REFUSED, profiled((), "45 connections REFUSED", refused=45, refused_there=45), None),
        (REFUSED, profiled((), "", refused=44, refused_there=45), "the ceiling is 45 refused, not 44"),
        (REFUSED, profiled((), "", refused=45, refused_there=46), "the server refused 46 connections, not 45"),
        (SEARCH, profiled((), "", found={"iops": 1049.0}), None),
        (SEARCH, profiled((), "", found={"iops": 1051.0}), "the ceiling is 1,000 IOPS found, not 1051.0"),
        (SEARCH, profiled((), "", found={"iops": 949.0}), "the ceiling is 1,000 IOPS found, not 949.0"),
        (CACHES, profiled((), "no cache answered: 1.02", figures={"cache_ratio": 1.02}), None),
        (CACHES, profiled((), "A CACHE ANSWERED", figures={"cache_ratio": 1.02}), "'no cache answered' is not said"),
        (
            CACHES,
            profiled((), "no cache answered", figures={"cache_ratio": 1.2}),
            "the ceiling is 1 reread ÷ read, not 1.2",
        ),
    ],
)
def test_profiles_are_judged_by_drift_refusals_figures_and_words(
    situation: Situation, outcome: Heard, why: str | None
) -> None:
    wrong = judged(situation, outcome).wrong
    assert (wrong == ()) if why is None else (why in wrong)


def test_a_refusal_is_one_for_want_of_room_only() -> None:
    assert outcome_of(Heard(status=2, errors="there is no room for 42 MB", document={})).labels == ("REFUSED",)
    assert outcome_of(Heard(status=2, errors="no such option", document={})).labels == ("exit 2: no such option",)


def test_no_situation_may_call_storage_the_generator() -> None:
    assert len({situation.name for situation in SITUATIONS}) == len(SITUATIONS) >= 20
    for situation in SITUATIONS:
        if situation.limit == "generator":
            assert "GENERATOR-LIMITED" in situation.labels
        elif situation.limit not in (None, "space"):
            assert "GENERATOR-LIMITED" in situation.never


def test_a_job_that_was_predicted_is_reported_in_seconds_with_the_load() -> None:
    job = next(one for one in SITUATIONS if one.name == "job-queues-8-slower")
    run = {
        "elapsed_s": 43.0,
        "job_s": 40.0,
        "recorded_s": 21.0,
        "busy": (0.22, 0.33, 0.31),
        "calls_waited_s": (2.0, 0.5),
    }
    shown = heard("replay", (EMULATED,), "", {"figures": {}, "repeats": [run]}, "job")
    verdict = judged(job, shown)
    assert verdict.wrong == ()
    assert row(verdict)[5] == "1.075"
    assert "replay 43.0 s, job 40.0 s, recorded 21.0 s" in row(verdict)[2]
    assert "waited 2.0 s and 0.5 s for a processor; processors busy 22%, 33%, 31%" in row(verdict)[2]
    run["elapsed_s"] = 45.0
    assert judged(job, shown).wrong[0].startswith("the ceiling is 1 x the job's elapsed, not 1.125")


@pytest.mark.parametrize(("theirs", "wrong"), [(2.03, False), (2.05, True), (1.95, True)])
def test_every_way_to_cut_is_held_against_the_independent_chunker(theirs: float, wrong: bool) -> None:
    expected = [{"cut": "4K", "bytes": 100, "different_bytes": 50}, {"cut": "CDC", "bytes": 100, "different_bytes": 25}]
    one = next(situation for situation in SITUATIONS if situation.name == "dedup-chunks")
    shown = profiled(("CACHED",), "", expected=expected, independent={"4K": theirs, "CDC": 4.01})
    assert bool(judged(one, shown).wrong) == wrong


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
    assert found({"points": points, "conditions": conditions}) == {
        "iops": 1000.0,
        "mean_us": 9_000.0,
        "outstanding": 16,
    }
