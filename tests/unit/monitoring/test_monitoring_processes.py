"""Processors that a process may use."""

from __future__ import annotations

from pathlib import Path

from monitoring.machine import processors, usable_processors


def test_a_limit_of_the_control_group_counts(tmp_path: Path) -> None:
    every = processors()
    assert usable_processors(tmp_path) == every
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    for quota, usable in (("-1", every), ("50000", 0.5), (str(100_000 * (every + 1)), every)):
        (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text(quota)
        assert usable_processors(tmp_path) == usable
    for text, usable in (("25000 50000\n", 0.5), ("max 100000\n", every)):
        (tmp_path / "cpu.max").write_text(text)
        assert usable_processors(tmp_path) == usable
