"""Snapshots of a running job."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.jobs.progress import Pace, items_text, left_text, one_line
from core.records import JobOptions, JobState, OcrChoice, Phase
from sql.jobs import JobProgress, PhaseProgress


def part(phase: Phase, *, open: int = 1, done: int = 1, weight_open: int = 0, weight_done: int = 0) -> PhaseProgress:
    """Sums over a phase's tasks that has run for 10 s."""
    return PhaseProgress(
        phase=phase,
        open=open,
        done=done,
        weight_open=weight_open,
        weight_done=weight_done,
        items=0,
        raw_bytes=0,
        extracted_bytes=0,
        index_bytes=0,
        elapsed_s=10.0,
    )


def look(
    phase: Phase,
    *parts: PhaseProgress,
    state: JobState = JobState.RUNNING,
    items: int = 0,
    indexed: int = 0,
    raw: int = 0,
    extracted: int = 0,
) -> JobProgress:
    """A look at a job that has run for 100 s."""
    return JobProgress(
        state=state,
        phase=phase,
        reason=None,
        phases={p.phase: p for p in parts},
        items=items,
        items_indexed=indexed,
        containers=0,
        exceptions=7,
        raw_bytes=raw,
        extracted_bytes=extracted,
        index_bytes=0,
        index_written_bytes=0,
        elapsed_s=100.0,
        total_known=phase in (Phase.INDEX, Phase.OCR, Phase.FINALISE) or state.over,
    )


def test_while_walking_nothing_is_promised() -> None:
    snapshot = Pace(JobOptions()).snapshot(look(Phase.WALK, part(Phase.WALK)), 0.0, 0.0)
    assert (snapshot.share, snapshot.items_known, snapshot.left_s, snapshot.phase_left_s) == (None, None, None, None)
    assert left_text(snapshot) == "end unknown yet"
    assert "so far" in items_text(snapshot)


def test_expand_of_two_passes_tells_its_own_end_only() -> None:
    now = look(Phase.EXPAND, part(Phase.EXPAND, weight_done=50, weight_open=50), items=10)
    two = Pace(JobOptions()).snapshot(now, 0.0, 0.0)
    assert (two.left_s, two.phase_left_s) == (None, pytest.approx(10.0))
    assert left_text(two) == "expand about 10 s more, then index"
    one = Pace(JobOptions(single_pass=True)).snapshot(now, 0.0, 0.0)
    assert one.left_s == pytest.approx(10.0)


def test_index_knows_its_total() -> None:
    now = look(Phase.INDEX, part(Phase.INDEX, weight_done=80, weight_open=20), items=100, indexed=80)
    snapshot = Pace(JobOptions()).snapshot(now, 0.0, 0.0)
    assert items_text(snapshot) == "80 of 100 items"
    assert snapshot.left_s == pytest.approx(2.5)


@pytest.mark.parametrize(("single_pass", "before"), [(False, Phase.INDEX), (True, Phase.EXPAND)])
def test_with_ocr_the_end_is_known_in_phase_ocr(single_pass: bool, before: Phase) -> None:
    pace = Pace(JobOptions(single_pass=single_pass, ocr=OcrChoice(languages="eng")))
    early = pace.snapshot(look(before, part(before, weight_done=80, weight_open=20), items=100, indexed=80), 0.0, 0.0)
    assert early.left_s is None
    assert left_text(early).endswith("more, then ocr")
    now = look(Phase.OCR, part(Phase.OCR, weight_done=50, weight_open=50), items=100, indexed=100)
    snapshot = pace.snapshot(now, 0.0, 1.0)
    assert (snapshot.left_s, snapshot.share) == (pytest.approx(10.0), 0.5)


def test_rates_since_start_and_now_differ() -> None:
    """Since the start is over the job's elapsed; now is over the last seconds."""
    pace = Pace(JobOptions())
    expand = part(Phase.EXPAND, weight_done=1, weight_open=1)
    pace.snapshot(look(Phase.EXPAND, expand, raw=1_000_000_000, extracted=0), 0.0, 0.0)
    later = pace.snapshot(look(Phase.EXPAND, expand, raw=2_000_000_000, extracted=1_000_000_000), 5.0, 10.0)
    assert later.raw_gb_per_hour == pytest.approx(72.0)
    assert later.discovered_gb_per_hour == pytest.approx(108.0)
    assert later.raw_gb_per_hour_now == pytest.approx(360.0)
    assert later.discovered_gb_per_hour_now == pytest.approx(720.0)


@given(st.integers(0, 10**12), st.integers(0, 10**12), st.sampled_from(list(Phase)), st.sampled_from(list(JobState)))
def test_100_percent_is_for_the_end(done: int, left: int, phase: Phase, state: JobState) -> None:
    """The line of a job that is not over never says 100 %, not even between two phases with no task open."""
    now = look(phase, part(phase, weight_done=done, weight_open=left), state=state)
    line = one_line(Pace(JobOptions()).snapshot(now, 3.0, 0.0))
    assert ("100 %" in line) == state.over
