"""Snapshots of a running job."""

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from job_figures import GROUP, TRACE, figures
from made_records import progress, snapshot
from pydantic import ValidationError

from controller.doctor import Level, ocr
from controller.jobs.figures import GroupFigures, JobFigures, merge
from controller.jobs.groups import combined, group_state
from controller.jobs.progress import (
    Pace,
    Window,
    duration,
    gb_per_hour,
    items_text,
    left_text,
    one_line,
    per_second,
    percent,
    seconds_left,
    share_done,
)
from controller.jobs.run import Outcome, judge
from core.errors import RunFailed, UsageError
from core.options import ocr_choice
from core.records import JobOptions, JobState, OcrChoice, Phase
from sql.jobs import JobProgress, PhaseProgress
from worker.ocr.tesseract import refuse_no_ocr


def part(phase: Phase, *, weight_open: int = 0, weight_done: int = 0) -> PhaseProgress:
    """Return sums over a phase's tasks that has run for 10 s."""
    sums = {"items": 0, "raw_bytes": 0, "extracted_bytes": 0, "index_bytes": 0, "elapsed_s": 10.0}
    return PhaseProgress(phase=phase, open=1, done=1, weight_open=weight_open, weight_done=weight_done, **sums)


def look(phase: Phase, *parts: PhaseProgress, state: JobState = JobState.RUNNING, **sums: int) -> JobProgress:
    """Return the sums of a job that has run for 100 s."""
    known = phase in (Phase.INDEX, Phase.OCR, Phase.FINALISE) or state.over
    phases = {p.phase: p for p in parts}
    return progress(phase=phase, phases=phases, total_known=known, state=state, **sums)


def test_while_walking_nothing_is_promised() -> None:
    shown = Pace(JobOptions()).snapshot(look(Phase.WALK, part(Phase.WALK)), 0.0, 0.0)
    assert (shown.share, shown.items_known, shown.left_s, shown.phase_left_s) == (None, None, None, None)
    assert left_text(shown) == "end not known yet"
    assert "so far" in items_text(shown)


def test_expand_of_two_passes_reports_its_own_end_only() -> None:
    now = look(Phase.EXPAND, part(Phase.EXPAND, weight_done=50, weight_open=50), items=10)
    two = Pace(JobOptions()).snapshot(now, 0.0, 0.0)
    assert (two.left_s, two.phase_left_s) == (None, pytest.approx(10.0))
    assert left_text(two) == "expand about 10 s more, then index"
    one = Pace(JobOptions(single_pass=True)).snapshot(now, 0.0, 0.0)
    assert one.left_s == pytest.approx(10.0)


def test_index_knows_its_total() -> None:
    now = look(Phase.INDEX, part(Phase.INDEX, weight_done=80, weight_open=20), items=100, items_indexed=80)
    shown = Pace(JobOptions()).snapshot(now, 0.0, 0.0)
    assert items_text(shown) == "80 of 100 items"
    assert shown.left_s == pytest.approx(2.5)


@pytest.mark.parametrize(("single_pass", "before"), [(False, Phase.INDEX), (True, Phase.EXPAND)])
def test_with_ocr_the_end_is_known_in_phase_ocr(single_pass: bool, before: Phase) -> None:
    pace = Pace(JobOptions(single_pass=single_pass, ocr=OcrChoice(languages="eng")))
    early = pace.snapshot(
        look(before, part(before, weight_done=80, weight_open=20), items=100, items_indexed=80), 0.0, 0.0
    )
    assert early.left_s is None
    assert left_text(early).endswith("more, then ocr")
    now = look(Phase.OCR, part(Phase.OCR, weight_done=50, weight_open=50), items=100, items_indexed=100)
    shown = pace.snapshot(now, 0.0, 1.0)
    assert (shown.left_s, shown.share) == (pytest.approx(10.0), 0.5)


def test_rates_since_start_and_now_differ() -> None:
    """Since the start is over the job's elapsed; now is over the last seconds."""
    pace = Pace(JobOptions())
    expand = part(Phase.EXPAND, weight_done=1, weight_open=1)
    pace.snapshot(look(Phase.EXPAND, expand, raw_bytes=1_000_000_000), 0.0, 0.0)
    later = pace.snapshot(look(Phase.EXPAND, expand, raw_bytes=2_000_000_000, extracted_bytes=1_000_000_000), 5.0, 10.0)
    assert later.raw_gb_per_hour == pytest.approx(72.0)
    assert later.discovered_gb_per_hour == pytest.approx(108.0)
    assert later.raw_gb_per_hour_now == pytest.approx(360.0)
    assert later.discovered_gb_per_hour_now == pytest.approx(720.0)


def test_a_rate_that_is_not_known_is_not_zero() -> None:
    """Bytes are counted when a task ends: at the start of a phase, and while one large file is read, none has."""
    pace, expand = Pace(JobOptions()), part(Phase.EXPAND, weight_done=1, weight_open=1)
    for at in (0.0, 10.0):
        line = one_line(pace.snapshot(look(Phase.EXPAND, expand, raw_bytes=1_000_000_000), 0.0, at))
        assert " now" not in line
        assert "GB/h since start" in line


@given(st.integers(0, 10**12), st.integers(0, 10**12), st.sampled_from(list(Phase)), st.sampled_from(list(JobState)))
def test_100_percent_is_for_the_end(done: int, left: int, phase: Phase, state: JobState) -> None:
    """The line of a job that is not over never says 100 %, not even between two phases with no task open."""
    now = look(phase, part(phase, weight_done=done, weight_open=left), state=state)
    line = one_line(Pace(JobOptions()).snapshot(now, 3.0, 0.0))
    assert ("100 %" in line) == state.over


_ONE = snapshot(
    phase=Phase.EXPAND,
    items_known=None,
    elapsed_s=10.0,
    phase_left_s=10.0,
    raw_gb_per_hour=4.0,
    discovered_gb_per_hour=6.0,
)
_AHEAD = dataclasses.replace(
    _ONE, phase=Phase.INDEX, share=0.9, items_known=10, elapsed_s=20.0, phase_left_s=5.0, left_s=5.0
)
_DONE = dataclasses.replace(_AHEAD, state=JobState.COMPLETED, share=1.0, phase=Phase.FINALISE, left_s=None)


def test_one_job_is_shown_as_it_is() -> None:
    assert combined([_ONE]) is _ONE


def test_counts_add_up_and_the_one_behind_states_how_far() -> None:
    """Promise: rates are bytes of all over the longest time, as the result has it; nothing is promised of the end
    while one job does not know its own."""
    both = combined([_AHEAD, _ONE])
    assert (both.phase, both.share, both.items_done, both.items_known) == (Phase.EXPAND, 0.5, 20, None)
    assert both.elapsed_s == 20.0
    assert both.discovered_gb_per_hour == pytest.approx((6.0 * 20 + 6.0 * 10) / 20)
    assert both.left_s is None
    assert "then index" in left_text(both)


def test_a_job_that_is_done_holds_nothing_up() -> None:
    """Promise: what is left is what the others need, and it is over only when all are."""
    both = combined([_DONE, _AHEAD])
    assert (both.state, both.phase, both.left_s) == (JobState.RUNNING, Phase.INDEX, 5.0)
    assert combined([_DONE, _DONE]).state is JobState.COMPLETED
    unknown = combined([_AHEAD, dataclasses.replace(_AHEAD, phase_left_s=None, left_s=None)])
    assert left_text(unknown) == "end not known yet"


def test_the_state_of_a_group_is_its_worst() -> None:
    """Promise: a suspended or failed job is never hidden behind one that completed."""
    assert group_state([JobState.COMPLETED, JobState.SUSPENDED]) is JobState.SUSPENDED
    assert group_state([JobState.CANCELLED, JobState.COMPLETED_WITH_EXCEPTIONS]) is JobState.CANCELLED
    assert group_state([JobState.COMPLETED_WITH_EXCEPTIONS, JobState.COMPLETED]) is JobState.COMPLETED_WITH_EXCEPTIONS


amounts = st.integers(min_value=0, max_value=10**15)
times = st.floats(min_value=0.001, max_value=1e7)


@given(amounts, times)
def test_gb_per_hour_uses_decimal_gigabytes(nbytes: int, seconds: float) -> None:
    assert gb_per_hour(nbytes, seconds) * seconds / 3600 * 10**9 == pytest.approx(nbytes)
    assert (gb_per_hour(5, 0), per_second(10, 0)) == (0.0, 0.0)


@given(amounts, amounts)
def test_it_never_stands_at_100_percent_while_work_is_left(done: int, left: int) -> None:
    """100 % is said of what is over and of nothing else, and the share never leaves 0…1."""
    share = share_done(done, left)
    assert 0.0 <= share < 1.0
    assert percent(share) != "100 %"
    assert percent(1.0) == "100 %"


@given(amounts, amounts, st.floats(min_value=0, max_value=1e7))
def test_the_end_is_predicted_only_with_evidence(done: int, left: int, seconds: float) -> None:
    """No estimate before three seconds or two per cent; otherwise the pace so far goes on."""
    estimate = seconds_left(done, left, seconds)
    if done == 0 or seconds < 3 or done < 0.02 * (done + left):
        assert estimate is None
    else:
        assert estimate == pytest.approx(left * seconds / done)


@given(st.lists(st.tuples(st.floats(0.1, 5), st.integers(0, 10**9)), min_size=1, max_size=60))
def test_the_window_covers_the_last_seconds_only(steps: list[tuple[float, int]]) -> None:
    """The rate of now is growth over about the window: neither more than was added in it, nor of longer ago."""
    window = Window(10.0)
    at, value = 0.0, 0
    for step, growth in steps:
        at += step
        value += growth
        window.add(at, value)
    grown, seconds = window.growth()
    assert 0 <= grown <= sum(growth for _, growth in steps[1:])
    assert seconds <= 10.0 + 5.0 + 1e-6
    assert seconds == 0.0 or grown / seconds <= max(growth / step for step, growth in steps) * 1.0001


def test_the_window_begins_again_when_something_else_is_counted() -> None:
    window = Window(10.0)
    window.add(0.0, 100)
    window.add(1.0, 500)
    window.add(2.0, 3)
    assert window.growth() == (0, 0.0)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "0.0 s"), (3.46, "3.5 s"), (12.2, "12 s"), (200.0, "3 min 20 s"), (3720.0, "1 h 02 min"), (-1.0, "0.0 s")],
)
def test_durations_read_well(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_figures_are_read_as_they_were_written() -> None:
    for one in (figures(), figures(trace=TRACE, database="db2", filer={"name": "titan", "scale": 4.0})):
        text = json.dumps(one.to_json())
        assert JobFigures.model_validate_json(text) == one
        with pytest.raises(ValidationError, match="surplus"):
            JobFigures.model_validate(json.loads(text) | {"surplus": 1})
    assert not {"trace", "database"} & figures().to_json().keys()
    assert figures(filer={"name": "titan", "scale": 4.0}).to_json()["filer"] == {"name": "titan", "scale": 4.0}


def test_a_group_goes_from_the_first_start_to_the_last_end_less_what_all_were_held() -> None:
    one = figures(span_s=(100.0, 200.0), held_s=(120.0, 140.0), elapsed_s=80.0, disturbances=["paused"], database="a")
    two = figures(span_s=(110.0, 250.0), held_s=(130.0, 150.0), elapsed_s=120.0, phases={"walk": 3.0}, database="b",
                  labels=["other"], exceptions={"encrypted": 1, "corrupt": 2}, violations=["a.zip"])  # fmt: skip
    both = merge([one, two], **GROUP)
    assert (both.elapsed_s, both.longest_job_s) == (140.0, 120.0)
    assert both.items == 2_000_000
    assert both.items_per_second == pytest.approx(2_000_000 / 140, abs=1e-3)
    assert both.gb_per_hour_discovered == pytest.approx(150 / 140 * 3600, abs=1e-3)
    assert both.gb_per_hour_discovered_longest_job == pytest.approx(150 / 120 * 3600, abs=1e-3)
    assert both.phases == {Phase.WALK: 3.0, Phase.EXPAND: 11.0}
    assert both.exceptions == {"encrypted": 4, "corrupt": 2}
    assert (both.children.expected, both.violations, both.disturbances) == (20, ["a.zip"], ["paused"])
    assert both.labels == ["all jobs read one source"]
    assert list(both.each) == [one, two]
    assert GroupFigures.model_validate_json(json.dumps(both.to_json())) == both
    assert merge([one, figures(span_s=(110.0, None), elapsed_s=90.0)], **GROUP).elapsed_s == 90.0


@pytest.mark.parametrize(
    ("state", "violations", "failed", "shows"),
    [
        (JobState.COMPLETED, 0, False, "None"),
        (JobState.COMPLETED_WITH_EXCEPTIONS, 0, False, "None"),
        (JobState.COMPLETED, 3, True, "do not add up"),
        (JobState.COMPLETED_WITH_EXCEPTIONS, 3, True, "do not add up"),
        (JobState.SUSPENDED, 0, True, r"the filer is full.*edbench job resume j"),
        (JobState.RUNNING, 0, True, ""),
        (JobState.PAUSING, 0, True, ""),
        (JobState.PAUSED, 0, False, "edbench job resume j"),  # by another command
        (JobState.CANCELLED, 0, True, "edbench job delete j"),  # by another command
    ],
)
def test_a_job_at_rest_is_good_or_states_why_not_and_how_to_continue(
    state: JobState, violations: int, failed: bool, shows: str
) -> None:
    outcome = Outcome(state=state, reason="the filer is full", interrupted=False, calls_complete=True)
    if failed:
        with pytest.raises(RunFailed, match=shows):
            judge(outcome, "j", violations)
    else:
        assert shows in str(judge(outcome, "j", violations))


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a tesseract would be found; there is none yet."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / "tesseract"


def _install(program: Path) -> None:
    program.write_text('#!/bin/sh\ncase $1 in --version) echo tesseract 5.3.0;; *) echo "x (1):"; echo eng;; esac\n')
    program.chmod(0o755)


def test_what_is_asked_for() -> None:
    assert ocr_choice(False, None) == OcrChoice()
    assert ocr_choice(True, None).languages == "eng"
    assert ocr_choice(True, "deu+eng").languages == "deu+eng"
    with pytest.raises(UsageError, match="requires --ocr"):
        ocr_choice(False, "eng")


def test_without_tesseract(program: Path) -> None:
    refuse_no_ocr(OcrChoice())
    with pytest.raises(UsageError) as refused:
        refuse_no_ocr(OcrChoice(languages="eng"))
    assert str(refused.value) == (
        "--ocr: tesseract is not installed on this host; install it (Debian, Ubuntu: apt-get install tesseract-ocr),"
        " or remove --ocr"
    )
    found = ocr()
    assert (found.level, "apt-get install tesseract-ocr" in found.fix) == (Level.WARN, True)


def test_without_a_languages_data(program: Path) -> None:
    _install(program)
    refuse_no_ocr(OcrChoice(languages="eng"))
    with pytest.raises(UsageError) as refused:
        refuse_no_ocr(OcrChoice(languages="eng+deu"))
    assert str(refused.value) == (
        "--ocr-languages: tesseract has no data for deu on this host (it has data for eng);"
        " install it (Debian, Ubuntu: apt-get install tesseract-ocr-deu), or give other languages"
    )
    assert (ocr().level, ocr().what) == (Level.OK, "OCR: tesseract 5.3.0 with eng")
