"""Readings from a Prometheus server's range queries."""

from __future__ import annotations

import json
import math
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from controller.arrays.mapping import ArrayMap, Column, PrometheusForm
from controller.arrays.readings import Point, Readings, converted
from core.errors import SystemFault, UsageError
from core.program.urls import shown_url

SERIES = 20  # of one query
_POINTS = 10_000  # of one series; Prometheus gives no more than 11,000
_SECONDS = 30.0
_BYTES = 64_000_000


def ask_prometheus(mapping: ArrayMap, start: float, finish: float, env: Mapping[str, str]) -> Readings:
    """The map's queries between two times by the array's clock; a query of several series has a column for each.

    Raises UsageError when the server refuses a query or its answer is not to be used, SystemFault when it is not there.
    """
    form = mapping.prometheus
    if form is None:
        raise UsageError("the map is for a CSV file; give the CSV file too")
    step = max(form.step_s, (finish - start) / _POINTS)
    points: dict[Column, tuple[Point, ...]] = {}
    for column in mapping.columns:
        parameters = {"query": column.origin, "start": f"{start:.3f}", "end": f"{finish:.3f}", "step": f"{step:.3f}"}
        series = _series(_ask(form, parameters, env), column)
        points |= {one: converted(one, values) for one, values in series.items()}
    return Readings(points)


def _ask(form: PrometheusForm, parameters: Mapping[str, str], env: Mapping[str, str]) -> Any:
    headers = {"Accept": "application/json"}
    if form.token_env:
        if not env.get(form.token_env):
            raise UsageError(f"{form.token_env} is not set; the map takes the bearer token from there")
        headers["Authorization"] = f"Bearer {env[form.token_env]}"
    url = f"{form.url}/api/v1/query_range?{urllib.parse.urlencode(parameters)}"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_SECONDS) as answer:
            data = answer.read(_BYTES)
    except urllib.error.HTTPError as error:
        raise UsageError(
            f"{shown_url(form.url)} refused {parameters['query']!r}: {error.code} {_said(error)}"
        ) from error
    except (OSError, ValueError) as error:  # URLError and time-outs among them
        raise SystemFault(f"{shown_url(form.url)} cannot be queried: {getattr(error, 'reason', error)}") from error
    try:
        return json.loads(data)
    except ValueError as error:
        raise UsageError(f"{shown_url(form.url)} does not answer like Prometheus: {error}") from error


def _said(error: urllib.error.HTTPError) -> str:
    """Prometheus' own words for what is wrong with a query."""
    try:
        return str(json.loads(error.read(10_000))["error"])
    except (OSError, ValueError, KeyError, TypeError):
        return str(error.reason)


def _series(answer: Any, column: Column) -> dict[Column, list[Point]]:
    try:
        result = answer["data"]["result"]
        if answer["data"]["resultType"] != "matrix":
            raise UsageError(f"{column.origin!r} gives no series over time")
        series = [(one["metric"], [(float(at), float(value)) for at, value in one["values"]]) for one in result]
        names = [
            " ".join((column.name, *(str(v) for k, v in metric.items() if k != "__name__"))) for metric, _ in series
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{column.origin!r} was not answered like Prometheus answers: {error!r}") from error
    if len(series) > SERIES:
        raise UsageError(
            f"{column.origin!r} gives {len(series)} series, more than {SERIES}; sum some of them in the query"
        )
    if len(series) == 1:
        names = [column.name]
    return {
        replace(column, name=name): [(at, value) for at, value in values if math.isfinite(value)]
        for name, (_, values) in zip(names, series, strict=True)
    }
