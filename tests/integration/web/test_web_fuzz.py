"""Whatever the API's own document allows to be asked, and much that it does not: no error of ours, no other answer than
documented."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.services

TOKEN = "a token for the tests of the API"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
EXAMPLES = 12  # an operation
_NEVER = frozenset(("/api/v1/jobs/{job}/events",))  # goes on for as long as its job


@pytest.fixture(scope="module")
def schema(make_site: Any) -> Any:
    """The document, as an application with a token serves it."""
    import schemathesis  # slow to come, and every process of a test run reads this file

    return schemathesis.openapi.from_asgi("/api/v1/openapi.json", make_site(token=TOKEN).app, headers=HEADERS)


def test_no_request_is_too_odd(schema: Any) -> None:
    statuses: Counter[int] = Counter()
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.path not in _NEVER:
            _fuzz(operation, statuses)
    # It came through to the routes, and through them to the job.
    assert {200, 404, 422} <= set(statuses), statuses
    assert statuses[200] > 50, statuses


def _fuzz(operation: Any, statuses: Counter[int]) -> None:
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks as of_schemas

    held = (
        *(not_a_server_error, of_schemas.status_code_conformance),
        *(of_schemas.content_type_conformance, of_schemas.response_schema_conformance),
    )

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(), ours=st.booleans())
    def ask(case: Any, ours: bool) -> None:
        if "job" in (case.path_parameters or {}):
            if operation.method.upper() != "GET":  # "a" may be the beginning of the job's id, and then it is deleted
                case.path_parameters["job"] = f"x{case.path_parameters['job']}"
            elif ours:
                case.path_parameters["job"] = "last"
        response = case.call(headers=HEADERS)
        statuses[response.status_code] += 1
        case.validate_response(response, checks=held)

    ask()
