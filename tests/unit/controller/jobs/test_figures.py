"""A job's figures as JSON and back, and several jobs' as one."""

from __future__ import annotations

import json

import pytest
from job_figures import GROUP, TRACE, figures
from pydantic import ValidationError

from controller.jobs.figures import GroupFigures, JobFigures, merge
from core.records import Phase


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
