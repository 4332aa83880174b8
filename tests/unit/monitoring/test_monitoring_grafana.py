"""The Grafana dashboards are provisioned, readable, and query only metrics that the product exposes."""

import re
from pathlib import Path

import pytest
from dashboards import DASHBOARDS, Dashboard

from monitoring.metrics import SPECS

_SUFFIX = re.compile(r"_(bucket|sum|count)$")
REPOSITORY = Path(__file__).parents[3]


def test_compose_mounts_every_dashboard() -> None:
    definition = (REPOSITORY / "docker-compose.yml").read_text()
    for dashboard in DASHBOARDS:
        assert f"file: ./monitoring/grafana/dashboards/{dashboard.uid}.json" in definition
        assert f"target: /etc/grafana/dashboards/{dashboard.uid}.json" in definition


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda d: d.uid)
def test_panels_do_not_overlap(dashboard: Dashboard) -> None:
    panels = dashboard.panels
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        assert all(0 <= x < 24 for x, _ in cells)
        taken |= cells
        letters = [target["refId"] for target in panel.get("targets", ())]
        assert len(set(letters)) == len(letters)


def _metrics(text: str) -> set[str]:
    found = re.findall(r"\b(?<!:)edbench_\w+", text)
    return {name if name in SPECS else _SUFFIX.sub("", name) for name in found}


def test_queries_and_rules_ask_only_for_metrics_that_there_are() -> None:
    asked = set().union(*(_metrics(query.expr) for dashboard in DASHBOARDS for query in dashboard.queries))
    rules = (REPOSITORY / "monitoring/prometheus/rules/edbench.rules.yml").read_text()
    expressions = re.sub(r"^ *(- record|- alert|summary|description):.*$|#.*$", "", rules, flags=re.M)
    ruled = {name for name in _metrics(expressions) if f":{name}:" not in rules}
    assert len(asked) > 30
    assert len(ruled) > 5
    assert asked | ruled <= SPECS.keys(), (asked | ruled) - SPECS.keys()
    for dashboard in DASHBOARDS:
        for query in dashboard.queries:
            labels = set(re.findall(r"{{(\w+)}}", query.legend))
            assert all(label in query.expr or label == "job" for label in labels), query
