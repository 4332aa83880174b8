"""What a dashboard is made of, and how Grafana writes it down."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH, HEIGHT = 12, 8  # of a panel, in the units of Grafana's grid of 24 columns
_SCHEMA = 39
_QUERY_RESULT = 3  # what Grafana calls this kind of variable
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a panel; `only` says what a system must have for it to find anything: nfs, disk."""

    expr: str
    legend: str
    only: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One chart."""

    title: str
    unit: str  # as Grafana calls it
    queries: Sequence[Query]
    note: str = ""
    stacked: bool = False
    repeat: str | None = None  # a variable: one chart for each of its values
    most: float | None = None  # upper end of the axis


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """Something to choose at the top, all of it by default: the label `of` in what a query finds."""

    name: str
    label: str
    expr: str
    of: str

    @property
    def query(self) -> str:
        """As Grafana wants it."""
        return f"query_result({self.expr})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """One page of rows of panels."""

    uid: str
    title: str
    variables: Sequence[Variable]
    rows: Mapping[str, Sequence[Panel]]

    @property
    def queries(self) -> list[Query]:
        """Every query, in order."""
        return [query for panels in self.rows.values() for panel in panels for query in panel.queries]


def to_text(dashboard: Dashboard) -> str:
    """The file, the same for the same dashboard."""
    return json.dumps(_dashboard(dashboard), indent=1, ensure_ascii=False) + "\n"


def _dashboard(dashboard: Dashboard) -> dict[str, Any]:
    panels: list[dict[str, Any]] = []
    y = 0
    for title, row in dashboard.rows.items():
        panels.append(_row(len(panels) + 1, title, y))
        y += 1
        x = 0
        for panel in row:
            if x and (x + WIDTH > 24 or panel.repeat):
                x, y = 0, y + HEIGHT
            panels.append(_panel(len(panels) + 1, panel, x, y))
            x += 24 if panel.repeat else WIDTH
        y += HEIGHT
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "tags": ["edbench"],
        "schemaVersion": _SCHEMA,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "5s",
        "time": {"from": "now-15m", "to": "now"},
        "timezone": "",
        "templating": {"list": [_source_variable(), *(_variable(v) for v in dashboard.variables)]},
        "annotations": {"list": []},
        "links": [{"type": "dashboards", "tags": ["edbench"], "title": "edbench", "asDropdown": True}],
        "panels": panels,
    }


def _source_variable() -> dict[str, Any]:
    return {"name": "datasource", "label": "Source", "type": "datasource", "query": "prometheus"}


def _variable(variable: Variable) -> dict[str, Any]:
    return {
        "name": variable.name,
        "label": variable.label,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"qryType": _QUERY_RESULT, "query": variable.query, "refId": "PrometheusVariableQueryEditor"},
        "definition": variable.query,
        "regex": f'/{variable.of}="([^"]+)"/',
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
        "sort": 1,
    }


def _row(number: int, title: str, y: int) -> dict[str, Any]:
    grid = {"h": 1, "w": 24, "x": 0, "y": y}
    return {"id": number, "type": "row", "title": title, "collapsed": False, "gridPos": grid, "panels": []}


def _panel(number: int, panel: Panel, x: int, y: int) -> dict[str, Any]:
    custom = {
        "drawStyle": "line",
        "lineWidth": 1,
        "fillOpacity": 40 if panel.stacked else 8,
        "showPoints": "never",
        "stacking": {"mode": "normal" if panel.stacked else "none", "group": "A"},
    }
    defaults: dict[str, Any] = {"unit": panel.unit, "min": 0, "custom": custom}
    if panel.most is not None:
        defaults["max"] = panel.most
    out: dict[str, Any] = {
        "id": number,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.note,
        "datasource": _SOURCE,
        "gridPos": {"h": HEIGHT, "w": 24 if panel.repeat else WIDTH, "x": x, "y": y},
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": {
            "legend": {"displayMode": "table", "placement": "right", "calcs": ["lastNotNull", "mean", "max"]},
            "tooltip": {"mode": "multi", "sort": "desc"},
        },
        "targets": [_target(n, query) for n, query in enumerate(panel.queries)],
    }
    if panel.repeat:
        out |= {"repeat": panel.repeat, "repeatDirection": "h", "maxPerRow": 3}
    return out


def _target(number: int, query: Query) -> dict[str, Any]:
    return {
        "refId": chr(ord("A") + number),
        "datasource": _SOURCE,
        "expr": query.expr,
        "legendFormat": query.legend,
        "range": True,
    }
