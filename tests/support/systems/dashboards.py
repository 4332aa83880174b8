"""The Grafana dashboards of the product, as Grafana reads them."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).parents[3] / "monitoring" / "grafana" / "dashboards"
_OF_A_MOUNT_OR_DISK = ("edbench_wire_", "edbench_block_")  # metrics that not every machine has


@dataclass(frozen=True, slots=True)
class Query:
    """A target of a panel."""

    expr: str
    legend: str

    @property
    def everywhere(self) -> bool:
        """Whether every machine has the data that it asks for."""
        return not any(name in self.expr for name in _OF_A_MOUNT_OR_DISK)


@dataclass(frozen=True, slots=True)
class Dashboard:
    """One file."""

    uid: str
    panels: list[dict[str, Any]]
    queries: list[Query]
    variables: list[tuple[str, str]]  # of each its expression, and the label that it takes from what that finds


def _read(path: Path) -> Dashboard:
    plain = json.loads(path.read_text(encoding="utf-8"))
    asked = [one for one in plain["templating"]["list"] if one["type"] == "query"]
    return Dashboard(
        uid=plain["uid"],
        panels=plain["panels"],
        queries=[
            Query(one["expr"], one["legendFormat"]) for panel in plain["panels"] for one in panel.get("targets", ())
        ],
        variables=[
            (re.sub(r"^query_result\((.*)\)$", r"\1", one["query"]["query"]), one["regex"].strip("/").partition("=")[0])
            for one in asked
        ],
    )


DASHBOARDS = [_read(path) for path in sorted(DIRECTORY.glob("*.json"))]
