"""Report R1's facts: the shipped list is the given one, and each is computed as its text says."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from simulate.facts import FILE, Row, evaluate, facts, means, plateau_s

GIVEN = Path(__file__).parents[5] / "shared" / "reference" / "r1-facts.json"


def _row(ops: list[float], discovery_end_s: float, **series: list[float]) -> Row:
    flat = {name: [0.5] * len(ops) for name in ("fsa", "fsb", "database_io", "read_ms", "write_ms", "queued")}
    return Row(
        elapsed_s=len(ops) * 60.0, discovery_end_s=discovery_end_s, gb_before=45.0, gb_after=75.0,
        series=flat | {"filer_ops": ops} | series,
    )  # fmt: skip


def _held(rows: dict[str, Row]) -> dict[str, bool]:
    return {fact.id: fact.held for fact in evaluate(rows)}


@pytest.mark.skipif(not GIVEN.exists(), reason="the shared reference facts are not here")
def test_the_shipped_facts_are_the_given_ones() -> None:
    """Promise: no fact was dropped, redefined or loosened."""
    assert json.loads(FILE.read_text()) == json.loads(GIVEN.read_text())


def test_a_row_as_the_report_describes_it_holds_its_facts() -> None:
    """Promise: the report's own figures hold: 39,000 for 30 minutes, 20,000 in the middle, 10,000 late, zero at the end."""
    ops = [39_000.0] * 30 + [26_000.0] * 6 + [20_000.0] * 144 + [10_000.0] * 98 + [500.0] * 8
    minutes = len(ops)
    fsa = [0.99] * 30 + [0.55] * 6 + [0.3] * (minutes - 36)
    fsb = [0.60] * 30 + [0.45] * 6 + [0.4] * (minutes - 36)
    b = _row(ops, 36 * 60.0, fsa=fsa, fsb=fsb, database_io=[1_200.0] * 36 + [100.0] * (minutes - 36))
    b = dataclasses.replace(b, elapsed_s=17_136.0)
    held = _held({"A": b, "B": b, "C": b})
    wanted = (
        "elapsed-B",
        "peak-B",
        "plateau-B",
        "middle-B",
        "late-B",
        "end-B",
        "units-39k",
        "units-26k",
        "units-end",
        "sql-peak-B",
        "sql-after-B",
    )
    assert {name: held[name] for name in wanted} == dict.fromkeys(wanted, True)
    assert not held["elapsed-A"]
    assert not held["sql-peak-later-A"]


def test_what_is_flat_holds_none_of_the_course() -> None:
    """Promise: a filer that is asked for the same all the time fails plateau, middle, late and end."""
    flat = _row([39_000.0] * 286, 2_000.0)
    held = _held({"A": flat, "B": flat, "C": flat})
    for name in ("plateau-B", "plateau-C", "above-90-C", "middle-B", "late-B", "end-B", "units-26k", "units-end"):
        assert not held[name], name


def test_every_fact_has_a_value() -> None:
    """Promise: all 27 are evaluated, in the order of the list."""
    row = _row([100.0] * 10, 300.0)
    assert [fact.id for fact in evaluate({"A": row, "B": row, "C": row})] == [fact["id"] for fact in facts()]


def test_a_plateau_begins_at_the_start_and_ends_with_the_mean_of_five_minutes() -> None:
    assert means([0.0, 10.0], 5) == [5.0]
    assert plateau_s([10.0] * 30 + [0.0] * 30) == pytest.approx(30 * 60.0)
    assert plateau_s([1.0] * 10 + [10.0] * 10) == 0.0
