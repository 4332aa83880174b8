"""The R1 report in words and tables, for the terminal. Everything in it comes from the data of `r1_report`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_Data = Mapping[str, Any]


def r1_text(report: _Data) -> str:
    """What `edbench predict --r1` prints."""
    return "\n".join([*_opening(report), *_alone(report), *_third(report), *_everything(report), *_ahead(report)])


def _opening(report: _Data) -> Iterator[str]:
    points, drawn = report["data_points"], report["parameters"]["drawn"]
    fitted = len(report["parameters"]["fitted"])
    yield "Report R1 and the capacity model: a consistency check, not a validation."
    yield ""
    yield f"Fitted: {points['fitted']} elapsed times, by {fitted} parameters. Taken as anchor: what the filer's two units do at"
    yield f"39,000 op/s ({points['anchored']} figures). Not fitted: {points['held_out']} figures of the timeline, and whether"
    yield f"39,000 op/s and 99 % are reached. {len(drawn)} more parameters the report does not give; they are drawn from boxes:"
    yield ""
    for box in drawn:
        yield f"  {box['name']:<21} {box['low']:5.2f} to {box['high']:5.2f}   {box['why']}"
    yield ""


def _alone(report: _Data) -> Iterator[str]:
    found = report["elapsed_alone"]
    yield f"1. By the elapsed times alone: {found['sets']} of {report['drawn']} sets fit all three within {report['within']:.0%}."
    yield "   The middle one of them, which no check chose:"
    yield ""
    yield from _rows(found)
    yield from _parameters(found)
    yield from _checks(found)


def _rows(found: _Data) -> Iterator[str]:
    yield "  workers  databases  published s   model s    error   simulated s   limit in each phase (first job)"
    for row in found["rows"]:
        error = row["model_s"] / row["elapsed_s"] - 1
        yield (
            f"  {row['workers']:7}  {row['databases']:9}  {row['elapsed_s']:11,.0f}  {row['model_s']:8,.0f}  {error:+6.1%}"
            f"   {row['simulated_s']:11,.0f}   {', '.join(row['limits'])}"
        )
    yield ""


def _parameters(found: _Data) -> Iterator[str]:
    yield "  parameter              middle set   in all sets that fit"
    for name, value in found["parameters"].items():
        yield f"  {name:<21}  {value['middle']:10.3g}   {value['least']:.3g} to {value['most']:.3g}"
    yield "  (filer_ops: million operations in discovery; hours: of one job, all phases, on the first database server)"
    yield ""


def _checks(found: _Data) -> Iterator[str]:
    yield "  not fitted                            published      middle set   in all sets        passed by   check"
    for check in found["checks"]:
        spread = f"{check['least']:.1f} to {check['most']:.1f}"
        note = "  (ceiling anchored)" if check["anchored"] else ""
        yield (
            f"  {check['says']:<37} {check['published']:<13} {check['middle']:7.1f} {check['unit']:<6} {spread:<18}"
            f" {check['share_passed']:6.0%}   {'pass' if check['passed'] else 'FAIL'}{note}"
        )
    yield ""


def _third(report: _Data) -> Iterator[str]:
    third, rivals = report["third_row"], report["rivals"]
    published = rivals["published"]

    def off(value: float) -> str:
        return f"{value:5.1f} ({value / published - 1:+.0%})"

    yield f"2. The third row ({published:.1f} GB/hour) from the other two, in GB/hour:"
    yield f"   Amdahl's law {off(rivals['amdahl'])}, a straight line {off(rivals['straight_line'])}; each of 2 parameters."
    one = report["one_phase"]
    rates = ", ".join(f"{row['gb_per_hour']:.1f}" for row in one)
    busy = ", ".join(f"{row['filer_busy']:.0%}" for row in one)
    yield f"   A network of one phase, 3 parameters fitted to all rows: {rates}; but its filer is {busy} busy from beginning"
    yield "   to end, where the report has 99 % at first and next to nothing at last."
    for name, says in (
        ("two_rows", "model, two elapsed times"),
        ("two_rows_and_timeline", "and the timeline of one database"),
        ("second_server_by_clock", "and a second server 0.55 to 0.7 as fast (its clock: 0.63)"),
        ("second_server_nearly_equal", "and a second server at least 0.8 as fast"),
    ):
        value = third[name]
        if value is None:
            yield f"   {says}: no set found"
        else:
            yield (
                f"   {says}: {value['least']:.1f} to {value['most']:.1f}, median {off(value['median'])},"
                f" {value['sets']:.0f} sets"
            )
    plateau = third["plateau_2_min"]
    if plateau is not None:
        yield (
            f"   Plateau with two databases, from the timeline of one: {plateau['least']:.0f} to {plateau['most']:.0f} min,"
            f" median {plateau['median']:.0f} (published 45: {'pass' if 36 <= plateau['median'] <= 54 else 'FAIL'})"
        )
    yield ""


def _everything(report: _Data) -> Iterator[str]:
    found, all_checks = report["everything"], len(report["elapsed_alone"]["checks"])
    yield f"3. Can one set hold everything? Best found: {report['most_checks_passed']} of {all_checks} checks, all rows within 2 %."
    if found is not None:
        yield f"   {found['sets']} such sets, found by a search for the checks: here nothing is held out. The middle one:"
        yield ""
        yield from _rows(found)
        yield from _parameters(found)
        yield from _checks(found)
    yield ""


def _ahead(report: _Data) -> Iterator[str]:
    yield "4. Predictions, GB/hour. 44 cores as in the report, or two for each worker; third and fourth server as the first:"
    yield ""
    yield "  workers  databases  fit elapsed times   fit everything   everything, cores to match"
    for point in report["predictions"]:
        texts = [_span(point[name]) for name in ("elapsed_alone", "everything", "everything_hosts_to_match")]
        yield f"  {point['workers']:7}  {point['databases']:9}  {texts[0]:<17}   {texts[1]:<14}   {texts[2]}"
    yield ""
    yield from verdict(report)


def _span(value: _Data | None) -> str:
    return "-" if value is None else f"{value['least']:.1f} to {value['most']:.1f}"


def verdict(report: _Data) -> list[str]:
    """Whether the model earns its parameters, plainly."""
    rivals, two = report["rivals"], report["third_row"]["two_rows_and_timeline"] or report["third_row"]["two_rows"]
    best = min(abs(rivals[name] / rivals["published"] - 1) for name in ("amdahl", "straight_line"))
    own = abs(two["median"] / rivals["published"] - 1)
    alone = report["elapsed_alone"]["checks"]
    passed = sum(check["passed"] for check in alone)
    figures = sum(report["data_points"].values())
    parameters = (
        len(report["parameters"]["fitted"]) + len(report["parameters"]["drawn"]) + report["data_points"]["anchored"]
    )
    earned = own < best
    lines = [
        f"Verdict: as a predictor of the third row the model {'earns' if earned else 'does NOT earn'} its parameters:",
        f"its median is {own:.0%} off, the better simple law {best:.0%}. The speed of the second database server decides that row,",
        "and the report does not say it. Fitted to elapsed times alone, its middle set passes"
        f" {passed} of {len(alone)} checks it was not fitted to.",
    ]
    if report["everything"] is not None:
        first, second = (_middle(report["everything"], name) for name in ("plateau_1", "plateau_2"))
        lines += [
            f"It can hold all {len(alone)} figures and three rows at once, which a network of one phase cannot; but that is",
            f"{figures} figures by {parameters} parameters: an explanation that may be true, not one that was tested. And where",
            f"the report has plateaus of 30 and 45 minutes, 1 : 1.5, the model has {first:.0f} and {second:.0f},"
            f" 1 : {second / first:.1f}: the tolerance lets both pass.",
        ]
    return lines


def _middle(found: _Data, name: str) -> float:
    return float(next(check["middle"] for check in found["checks"] if check["name"] == name))
