"""docs/schemas: what is written there is what documents are read with."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import jsonschema_rs
import pytest
import replay_results
import report_results
from job_figures import GROUP, TRACE, figures
from schema_check import refuse_unlike_schema

from controller.doctor import bad, ok
from controller.jobs.figures import merge
from experiments.result.codec import to_json
from experiments.result.schema import Result

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def schemas() -> ModuleType:
    spec = importlib.util.spec_from_file_location("schemas", REPOSITORY / "scripts" / "schemas.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["schemas"] = module  # its records look up their annotations there
    spec.loader.exec_module(module)
    return module


def test_every_schema_is_current(schemas: ModuleType) -> None:
    """`make schemas` would change nothing, and nothing lies there that it does not write."""
    there = {file.stem: file.read_text() for file in (REPOSITORY / "docs" / "schemas").iterdir()}
    assert there == {name: schemas.written(name) for name in schemas.DOCUMENTS}


@pytest.mark.parametrize(
    "result",
    [report_results.result(), replay_results.result(replay_results.point(4, 990.0))],
    ids=["discovery", "replay"],
)
def test_results_are_as_their_schema_says(schemas: ModuleType, result: Result) -> None:
    """And a field more, or one less, is not."""
    document = json.loads(json.dumps(to_json(result)))
    valid = jsonschema_rs.validator_for(json.loads(schemas.written("result")))
    assert valid.is_valid(document), [str(error) for error in valid.iter_errors(document)][:3]
    assert not valid.is_valid(document | {"surplus": 1})
    assert not valid.is_valid({key: value for key, value in document.items() if key != "points"})
    assert not valid.is_valid(document | {"workload": "guess"})


def test_figures_and_findings_are_as_their_schemas_say() -> None:
    """Of a job, of one with everything that may be beside, and of a group."""
    refuse_unlike_schema("discover", figures().to_json())
    refuse_unlike_schema("discover", figures(trace=TRACE, database="b", filer={"name": "t", "scale": 4.0}).to_json())
    refuse_unlike_schema("discover", merge([figures(), figures()], **GROUP).to_json())
    refuse_unlike_schema("doctor", [dataclasses.asdict(finding) for finding in (ok("there"), bad("gone", "mend it"))])
