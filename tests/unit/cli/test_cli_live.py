"""Progress on terminals and elsewhere."""

from __future__ import annotations

import io

from rich.console import Console

from cli.progress import PLAIN_SECONDS, PlainDisplay, panel, progress_display
from controller.jobs.progress import Snapshot
from core.records import JobState, Phase


def snapshot(share: float | None = 0.5) -> Snapshot:
    """A job in the middle of its index phase."""
    return Snapshot(
        state=JobState.RUNNING,
        phase=Phase.INDEX,
        reason=None,
        items_done=10,
        items_known=20,
        share=share,
        tasks_done=1,
        tasks_known=2,
        raw_gb_per_hour=1.0,
        discovered_gb_per_hour=2.0,
        raw_gb_per_hour_now=3.0,
        discovered_gb_per_hour_now=4.0,
        calls_per_second=5.0,
        exceptions=6,
        elapsed_s=7.0,
        phase_left_s=None,
        left_s=None,
    )


def test_a_pipe_gets_one_plain_line_every_five_seconds() -> None:
    out = io.StringIO()
    with progress_display(Console(file=out, width=200)) as display:
        assert isinstance(display, PlainDisplay)
        for tenth in range(161):
            display.show(snapshot(), tenth / 10)
    lines = out.getvalue().splitlines()
    assert len(lines) == int(16 / PLAIN_SECONDS)
    assert all(line.startswith("index 50 % · 10 of 20 items") and line.isprintable() for line in lines)


def test_the_panel_shows_everything_that_is_asked_for() -> None:
    """Phase, items, GB/hour now and since start, calls, exceptions, time; with and without a known share."""
    for share in (None, 0.5):
        out = io.StringIO()
        Console(file=out, width=160).print(panel(snapshot(share)))
        shown = out.getvalue()
        for piece in ("index", "10 of 20 items", "4.0 now, 2.0 since start", "5", "6 exceptions", "7.0 s elapsed"):
            assert piece in shown
