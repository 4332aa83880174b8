"""Figures of a job are recomputed from the rows of the ledger; what no row has is kept as it was observed."""

import uuid
from typing import Any

import pytest
from job_figures import GROUP, figures
from result_packages import CALL_TIME, IO, START, job, job_result

from controller.jobs.figures import FilerFigures, merge
from experiments.workloads.discovery.figures import recomputed_figures


def test_a_job_has_what_its_rows_say() -> None:
    observed = job_result() | {"elapsed_s": 1.0, "gb_per_hour_raw": 9.0, "phases": {}, "calls": {}}
    recomputed = recomputed_figures(observed, [job(40.0)])
    assert (recomputed["elapsed_s"], recomputed["gb_per_hour_raw"], recomputed["phases"]["walk"]) == (40.0, 90.0, 10.0)
    assert (recomputed["calls"]["read"]["count"], recomputed["calls"]["read"]["processor"]) == (400, ["p99"])
    assert (recomputed["call_time"], recomputed["io"]) == (CALL_TIME.to_json(), IO.to_json())
    assert recomputed == recomputed_figures(recomputed, [job(40.0)])


def test_a_group_is_put_together_again() -> None:
    jobs = [figures(job_id=uuid.UUID(int=n), database=f"db{n}") for n in (1, 2)]
    group = merge(jobs, **GROUP, call_time=CALL_TIME, io=IO).with_observed(
        {"filer": FilerFigures(name="nas", scale=2.0)}
    )
    recomputed = recomputed_figures(group.to_json(), [job(40.0), job(20.0)])
    assert (recomputed["elapsed_s"], recomputed["longest_job_s"]) == (40.0, 40.0)
    assert [one["elapsed_s"] for one in recomputed["jobs"]] == [40.0, 20.0]
    assert [one["span_s"] for one in recomputed["jobs"]] == [[START, START + 40.0], [START, START + 20.0]]
    assert (recomputed["calls"]["read"]["count"], recomputed["calls"]["read"]["processor"]) == (600, ["p99"])
    kept: dict[str, Any] = group.to_json()
    for name in ("job_id", "kind", "source_copies", "labels", "wire", "filer", "call_time", "io", "items"):
        assert recomputed[name] == kept[name], name


def test_figures_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="raw_bytes"):
        recomputed_figures(job_result() | {"raw_bytes": "many"}, [job(40.0)])
