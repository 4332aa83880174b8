"""Section: what stood on the other side of the calls: stations of an emulated filer, reads over the wire of an NFS mount."""

from __future__ import annotations

from typing import Any

from experiments.report import words
from experiments.report.columns import Column, tabled
from experiments.report.parts import Part, Section, note
from experiments.workloads.replay.result import ReplayPoint, ReplayResult

ANCHOR, TITLE = "filer", "What the filer did"
_STATIONS: tuple[Column[tuple[ReplayPoint, str, dict[str, float]]], ...] = (
    Column("storage", "storage", lambda row: row[0].storage, text=True),
    Column("clients", "clients", lambda row: row[0].clients),
    Column("station", "station", lambda row: row[1]),
    Column("busy", "busy", lambda row: row[2]["utilisation"], words.percent),
    Column("mean_wait", "mean wait", lambda row: row[2]["mean_wait_us"], words.microseconds),
    Column("calls", "calls", lambda row: int(row[2]["calls"]), words.count),
)
_WIRE: tuple[Column[tuple[ReplayPoint, dict[str, Any]]], ...] = (
    Column("storage", "storage", lambda row: row[0].storage, text=True),
    Column("clients", "clients", lambda row: row[0].clients),
    Column("read_by_calls", "read by calls", lambda row: row[1]["call_read_bytes"], words.size),
    Column("over_the_wire", "over the wire", lambda row: row[1]["wire_read_bytes"], words.size),
    Column("wire_by_call", None, lambda row: row[1]["ratio"]),
    Column(
        "",
        "wire ÷ call",
        lambda row: row[1].get("why", "–") if row[1]["ratio"] is None else words.figure(row[1]["ratio"]),
    ),
)


def filer_side(result: ReplayResult) -> Section | None:
    """A line for each station of each point, and one for the wire; None where there is neither."""
    parts: list[Part] = []
    stations = [(point, name, station) for point in result.points for name, station in _stations(point)]
    if stations:
        parts.append(tabled("stations", _STATIONS, stations))
        parts.append(note("Stations of the emulated filer over the whole job; they are idle while files are prepared."))
    wire = [(point, point.run.job["wire"]["total"]) for point in result.points if point.run.job.get("wire")]
    if wire:
        parts.append(tabled("wire", _WIRE, wire))
        parts.append(
            note(
                "NFS mounts that hold the paths, on all hosts, everything that read there counted; well below 1, a client's"
                " cache answered. Counters of the array are put on a job's time axis with edbench counters import."
            )
        )
    return Section(anchor=ANCHOR, title=TITLE, parts=tuple(parts)) if parts else None


def _stations(point: ReplayPoint) -> list[tuple[str, dict[str, float]]]:
    filer = point.run.job.get("filer") or {}
    return list(filer.get("stations", {}).items())
