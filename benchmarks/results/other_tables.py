"""The tables beside the one: limits and labels, other programs' figures, counters by phase, and where everything lies."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.results import steps
from benchmarks.results.differs import differs
from benchmarks.results.figures_table import marked, number
from benchmarks.results.told import NOTHING, Told
from experiments.summary import NO_RESULT

APART = 0.10  # a ratio further from one than that, as it is written, is explained
_HOUR = 60  # minutes
_STUDIES = (
    steps.CALIBRATION,
    steps.MOST,
    steps.LOOP,
    steps.KNEE,
    steps.EMPTY,
    steps.BLOCK,
    steps.DRIFT,
    steps.SWEEP,
    steps.MATRIX,
)


def limits(storages: Sequence[Told]) -> list[str]:
    """Who or what it was, at the point with the most of each test."""
    lines = ["| test | storage | limit | labels |", "|---|---|---|---|"]
    for study in _STUDIES:
        for one in storages:
            result = one.results.get(study)
            if result is None:
                continue
            labels = ", ".join(label.replace(NO_RESULT, "") for label in result.labels) or NOTHING
            lines.append(f"| {study} | {one.title} | {_cell(one.limit(study))} | {_cell(labels)} |")
    return lines


def tools(storages: Sequence[Told]) -> list[str]:
    """Ours beside theirs."""
    lines = ["| storage | quantity | edbench | other program | says (least – most) | edbench ÷ it | apart in time |",
             "|---|---|---|---|---|---|---|"]  # fmt: skip
    notes: dict[str, str] = {}
    for one in storages:
        for entry in one.record["beside"]:
            lines.append(_compared(one, entry, notes))
    return [*lines, "", *(f"{mark} {why}." for why, mark in notes.items())]


def _compared(one: Told, entry: Mapping[str, Any], notes: dict[str, str]) -> str:
    ours = entry["ours"]
    point = one.point(ours["package"], ours["at"])
    value = None if point is None or ours["figure"] not in point.figures else point.figures[ours["figure"]].median
    by = f"{entry['tool']}{' ' + entry['version'] if 'version' in entry else ''}: {entry['how']}"
    said = NOTHING if value is None or point is None else marked(point, f"{number(value)} {ours['unit']}")
    head = f"| {one.title} | {ours['what']} | {said} | {_cell(by)} |"
    if "why_not" in entry or value is None or point is None:
        return f"{head} {NOTHING} ({_cell(str(entry.get('why_not', 'not measured by edbench')))}) | {NOTHING} | {NOTHING} |"
    ratio = round(value / entry["median"], 2)
    told = f"{ratio:.2f}"
    if round(abs(ratio - 1), 2) > APART:
        told += f" {notes.setdefault(_why(entry, value), f'({len(notes) + 1})')}"
    least, most = min(entry["values"]), max(entry["values"])
    minutes = abs(entry["began"] - point.repeats[0].started_at) / 60
    between = f"{number(entry['median'])} ({number(least)} – {number(most)})"
    apart = f"{minutes:.1f} min" if minutes <= _HOUR else f"**{minutes / 60:.1f} hours**"
    return f"{head} {between} | {told} | {apart} |"


def _why(entry: Mapping[str, Any], ours: float) -> str:
    if min(entry["values"]) <= ours <= max(entry["values"]):
        return "within what that program itself differs by from time to time"
    return differs(entry, ours)


def counters(storages: Sequence[Told]) -> list[str]:
    """Calls, what the client sent, what the servers did: sums by phase, then the ops that there are most of."""
    lines = ["| storage | phase | calls | of the client | of the servers | client ÷ calls | servers ÷ client |",
             "|---|---|---:|---:|---:|---:|---:|"]  # fmt: skip
    for one in storages:
        lines += _by_phase(one)
    lines += ["", "| storage | who counts | ops of the whole job, most first |", "|---|---|---|"]
    for one in storages:
        lines += _by_op(one)
    return lines


def _by_phase(one: Told) -> Iterator[str]:
    told = one.record.get("counters")
    calls = _calls(one)
    if not told or not calls:
        return
    for phase in told["phases"]:
        ours = sum(calls.get(phase["phase"], {}).values())
        client, server = (sum(_ops(phase[side]).values()) for side in ("client", "server"))
        ratios = f"{_ratio(client, ours)} | {_ratio(server, client)}"
        yield f"| {one.title} | {phase['phase']} | {ours:,} | {client:,} | {server:,} | {ratios} |"


def _by_op(one: Told) -> Iterator[str]:
    told, calls = one.record.get("counters"), _calls(one)
    if not told or not calls:
        return
    sides: dict[str, dict[str, int]] = {"calls": _summed(calls.values())}
    for side in ("client", "server"):
        sides[f"{side} ({told['kinds'][side]})"] = _summed(_ops(phase[side]) for phase in told["phases"])
    for who, ops in sides.items():
        most = sorted(ops.items(), key=lambda item: (-item[1], item[0]))
        yield f"| {one.title} | {who} | {', '.join(f'{name} {count:,}' for name, count in most)} |"


def _calls(one: Told) -> dict[str, dict[str, int]]:
    """By phase and op, of the one run of package `counted`."""
    result = one.results.get(steps.COUNTED)
    if result is None:
        return {}
    (run,) = result.points[0].repeats
    return {use.phase: {op: called.calls for op, called in use.calls.items()} for use in run.phases}  # type: ignore[attr-defined]


def _ops(counted: Mapping[str, int]) -> dict[str, int]:
    """Without bytes."""
    return {name: count for name, count in counted.items() if not name.endswith("bytes")}


def _summed(several: Any) -> dict[str, int]:
    out: dict[str, int] = {}
    for one in several:
        for name, count in one.items():
            out[name] = out.get(name, 0) + count
    return out


def _ratio(over: int, under: int) -> str:
    return f"{over / under:.2f}" if under else NOTHING


def packages(storages: Sequence[Told]) -> list[str]:
    """What lies there, and how it was made."""
    lines = ["| storage | step | began (UTC) | took | processors busy before | package, and the hash of its manifest |",
             "|---|---|---|---:|---:|---|"]  # fmt: skip
    for one in storages:
        for step in one.record["steps"]:
            began = time.strftime("%Y-%m-%d %H:%M", time.gmtime(step["began"]))
            lines.append(
                f"| {one.title} | {step['name']} | {began} | {step['took_s']:.0f} s | {step['busy']:.0%} | {_where(one, step)} |"
            )
    return lines


def _where(one: Told, step: Mapping[str, Any]) -> str:
    if step["why_not"]:
        return f"not measured: {_cell(step['why_not'])}"
    name, there = step["name"], f"packages/{one.record['storage']}"
    if name in one.results:
        return f"[{name}]({there}/{name}.tar.xz) `{one.manifests[name][:16]}`"
    return f"in [record.json]({there}/record.json)"


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
