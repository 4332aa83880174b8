"""Section: what stood on the other side of the calls: stations of an emulated filer, reads over the wire of an NFS mount."""

from __future__ import annotations

from experiments.report import words
from experiments.report.markup import table
from experiments.report.parts import Cell, Part, Section, Series, Tabled, note
from experiments.workloads.replay.result import ReplayPoint, ReplayResult

_Row = tuple[tuple[object, ...], tuple[Cell, ...]]  # as shown, as numbers

ANCHOR, TITLE = "filer", "What the filer did"


def filer_side(result: ReplayResult) -> Section | None:
    """A line for each station of each point, and one for the wire; None where there is neither."""
    parts: list[Part] = []
    stations = [_station(point, name, station) for point in result.points for name, station in _stations(point)]
    if stations:
        parts.append(_tabled("stations", ("storage", "clients", "station", "busy", "mean wait", "calls"), stations))
        parts.append(note("Stations of the emulated filer over the whole job; they are idle while files are prepared."))
    wire = [_wire(point) for point in result.points if point.run.job.get("wire")]
    if wire:
        parts.append(_tabled("wire", ("storage", "clients", "read by calls", "over the wire", "wire ÷ call"), wire))
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


def _station(point: ReplayPoint, name: str, station: dict[str, float]) -> _Row:
    busy, wait, calls = station["utilisation"], station["mean_wait_us"], int(station["calls"])
    shown = (words.percent(busy), words.microseconds(wait), words.count(calls))
    return (point.storage, point.clients, name, *shown), (point.storage, point.clients, name, busy, wait, calls)


def _wire(point: ReplayPoint) -> _Row:
    total = point.run.job["wire"]["total"]
    calls, wire, ratio = total["call_read_bytes"], total["wire_read_bytes"], total["ratio"]
    shown = (words.size(calls), words.size(wire), total.get("why", "–") if ratio is None else words.figure(ratio))
    return (point.storage, point.clients, *shown), (point.storage, point.clients, calls, wire, ratio)


def _tabled(name: str, header: tuple[str, ...], rows: list[_Row]) -> Tabled:
    plain = tuple(word.replace(" ÷ ", "_by_").replace(" ", "_") for word in header)
    series = Series(name=name, header=plain, rows=tuple(numbers for _, numbers in rows))
    return Tabled(table=table(header, [shown for shown, _ in rows]), series=series)
