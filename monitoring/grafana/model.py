"""What a dashboard is made of; grafana-foundation-sdk writes it down as Grafana wants it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.builders import common, prometheus, timeseries
from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as units
from grafana_foundation_sdk.models import dashboard as models

WIDTH, HEIGHT = 12, 8  # of a panel, in the units of Grafana's grid of 24 columns
_SOURCE = units.DataSourceRef(type_val="prometheus", uid="${datasource}")
_QUERY_RESULT = 3  # what Grafana calls this kind of variable


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
    out = (
        build.Dashboard(dashboard.title)
        .uid(dashboard.uid)
        .tags(["edbench"])
        .version(1)
        .editable()
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .refresh("5s")
        .time("now-15m", "now")
        .timezone("")
        .link(
            build.DashboardLink("edbench").type(models.DashboardLinkType.DASHBOARDS).tags(["edbench"]).as_dropdown(True)
        )
        .with_variable(build.DatasourceVariable("datasource").label("Source").type("prometheus"))
    )
    for variable in dashboard.variables:
        out = out.with_variable(_variable(variable))
    number = 0
    for title, panels in dashboard.rows.items():
        number += 1
        out = out.with_row(build.Row(title).id(number))
        for panel in panels:
            number += 1
            out = out.with_panel(_panel(panel).id(number))
    return JSONEncoder(indent=1, ensure_ascii=False).encode(out.build()) + "\n"


def _variable(variable: Variable) -> build.QueryVariable:
    return (
        build.QueryVariable(variable.name)
        .label(variable.label)
        .datasource(_SOURCE)
        .query({"qryType": _QUERY_RESULT, "query": variable.query, "refId": "PrometheusVariableQueryEditor"})
        .regex(f'/{variable.of}="([^"]+)"/')
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(".*")
        .current(models.VariableOption(selected=True, text=["All"], value=["$__all"]))
    )


def _panel(panel: Panel) -> timeseries.Panel:
    mode = units.StackingMode.NORMAL if panel.stacked else units.StackingMode.NONE
    legend = common.VizLegendOptions().show_legend(True).display_mode(units.LegendDisplayMode.TABLE)
    out = (
        timeseries.Panel()
        .title(panel.title)
        .description(panel.note)
        .datasource(_SOURCE)
        .height(HEIGHT)
        .span(24 if panel.repeat else WIDTH)
        .unit(panel.unit)
        .min(0)
        .draw_style(units.GraphDrawStyle.LINE)
        .line_width(1)
        .fill_opacity(40 if panel.stacked else 8)
        .show_points(units.VisibilityMode.NEVER)
        .stacking(common.StackingConfig().mode(mode).group("A"))
        .legend(legend.placement(units.LegendPlacement.RIGHT).calcs(["lastNotNull", "mean", "max"]))
        .tooltip(common.VizTooltipOptions().mode(units.TooltipDisplayMode.MULTI).sort(units.SortOrder.DESCENDING))
    )
    for number, query in enumerate(panel.queries):
        target = prometheus.Dataquery().ref_id(chr(ord("A") + number)).datasource(_SOURCE).range()
        out = out.with_target(target.expr(query.expr).legend_format(query.legend))
    if panel.most is not None:
        out = out.max(panel.most)
    return out.repeat(panel.repeat).repeat_direction("h").max_per_row(3) if panel.repeat else out
