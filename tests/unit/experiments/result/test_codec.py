"""result.json: what is written is read again, and what is wrong is named."""

import json
from pathlib import Path
from typing import Any

import pytest
from experiment_runs import a_result, a_run

from core.errors import UsageError
from experiments.result.codec import FILE, from_json, read_result, to_json, write_result
from experiments.workloads.discovery.result import PointSpec

RESULT = a_result(
    {PointSpec(1, 1, 4): [a_run(10.0), a_run(11.0)], PointSpec(1, 2, 4): [a_run(6.0, null_elapsed_s=None)]}
)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    written = write_result(RESULT, tmp_path / "run")
    assert read_result(written) == RESULT
    assert read_result(tmp_path / "run") == RESULT
    assert written.name == FILE


def _with(path: list[str | int], value: Any) -> Any:
    data = json.loads(json.dumps(to_json(RESULT)))
    at = data
    for key in path[:-1]:
        at = at[key]
    if value is KeyError:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["schema"], "edbench-result/9", "schema is 'edbench-result/9'"),
        (["workload"], "guess", "workload 'guess' is not one of analysis-replay, block-8k, .*discovery, .*replay"),
        (["kind"], "guess", r"'guess' - at `result.kind`"),
        (["points"], [], "every result must have points"),
        (["points", 0, "repeats"], [], "every point repeats"),
        (["points", 0, "at", "workers"], "two", r"Expected `int`, got `str` - at `result.points\[0\].at.workers`"),
        (["points", 0, "at", "workers"], True, r"Expected `int`, got `bool` - at `result.points\[0\].at.workers`"),
        (["points", 0, "at", "workers"], KeyError, r"missing required field `workers` - at `result.points\[0\].at`"),
        (["points", 0, "surplus"], 1, r"unknown field result.points\[0\].surplus"),
        (["points", 0, "figures", "elapsed_s", "median"], None, "Expected `float`, got `null`"),
        (["points", 0, "repeats", 0, "series", "queue_depth"], [[1.0, 2]], "of length 4, got 2"),
        (["conditions"], [], "Expected `object`, got `array` - at `result.conditions`"),
    ],
)
def test_a_wrong_field_is_named(path: list[str | int], value: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        from_json(_with(path, value))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"), [(None, "does not exist"), ("{", "has a syntax error"), ("[]", "object")]
)
def test_a_file_that_is_no_result_is_named(tmp_path: Path, content: str | None, message: str) -> None:
    file = tmp_path / "r.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UsageError, match=message) as caught:
        read_result(file)
    assert str(file) in str(caught.value)
