"""result.json: what is written is read again, and what is wrong is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from experiment_runs import a_result, a_run

from core.errors import UsageError
from experiments.base import PointSpec
from experiments.result import FILE, from_json, read_result, to_json, write_result

RESULT = a_result(
    {PointSpec(1, 1, 4): [a_run(10.0), a_run(11.0)], PointSpec(1, 2, 4): [a_run(6.0, null_elapsed_s=None)]}
)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """Through the file and back every figure and series is the same, by file or by directory."""
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
    ("path", "value", "said"),
    [
        (["schema"], "edbench-result/9", "schema is 'edbench-result/9'"),
        (["kind"], "guess", "'guess' is not one of"),
        (["points"], [], "every result has points"),
        (["points", 0, "repeats"], [], "every point has repeats"),
        (["points", 0, "workers"], "two", r"points\[0\].workers: a whole number"),
        (["points", 0, "workers"], True, r"points\[0\].workers: a whole number"),
        (["points", 0, "workers"], KeyError, r"points\[0\]: field 'workers' is missing"),
        (["points", 0, "surplus"], 1, r"points\[0\]: unknown field 'surplus'"),
        (["points", 0, "elapsed_s", "median"], None, "null is not allowed|a number is expected"),
        (["points", 0, "repeats", 0, "series", "queue_depth"], [[1.0, 2]], "4 values are expected, there are 2"),
        (["conditions"], [], "conditions: an object|conditions: dict"),
    ],
)
def test_a_wrong_field_is_named(path: list[str | int], value: Any, said: str) -> None:
    """A damaged or foreign result is refused in one line that says where, and never half read."""
    with pytest.raises(UsageError, match=said) as caught:
        from_json(_with(path, value))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("content", "said"), [(None, "No such file"), ("{", "is not JSON"), ("[]", "object")])
def test_a_file_that_is_no_result_is_named(tmp_path: Path, content: str | None, said: str) -> None:
    """The file's name stands in the line."""
    file = tmp_path / "r.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UsageError, match=said) as caught:
        read_result(file)
    assert str(file) in str(caught.value)
