"""Runs in containers: what their results and the report say of them, and the places that a run gets."""

import dataclasses
import json
from pathlib import Path

import report_results as made
from lxml import etree

from core.settings import Settings
from experiments.conditions import database_places
from experiments.places import fresh_place
from experiments.report.page import build_sections
from experiments.report.parts import Section, Tabled
from experiments.result.codec import from_json, to_json
from experiments.workloads.discovery.result import ContainerUse, Result
from experiments.workloads.discovery.sections.counted import containers


def _use(name: str, service: str, cpu: float, block: int | None, source: str | None = "engine") -> ContainerUse:
    return ContainerUse(
        name=name, service=service, cpu_s=cpu, memory_peak_bytes=int(cpu * 1e8), block_read_bytes=block,
        block_write_bytes=block, network_received_bytes=1_000, network_sent_bytes=2_000, block_source=source,
    )  # fmt: skip


def _result(*uses: ContainerUse) -> Result:
    point = made.point(2, repeats=1)
    run = dataclasses.replace(point.repeats[0], containers=uses)
    return made.result(dataclasses.replace(point, repeats=(run,)))


def _rows(section: Section) -> list[list[str]]:
    (part,) = (part for part in section.parts if isinstance(part, Tabled))
    rows = etree.fromstring(str(part.table)).iterfind(".//tbody/tr")
    return [[" ".join(cell.itertext()) for cell in row] for row in rows]


def test_containers_are_summed_by_service() -> None:
    section = containers(
        _result(
            _use("p-run-worker-1", "run-worker", 2.0, 10), _use("p-run-worker-2", "run-worker", 3.0, 20),
            _use("p-run-db1-1", "run-db1", 1.0, 0),
        )
    )  # fmt: skip
    database, worker = _rows(section)
    assert (database[1], worker[1], worker[2], worker[3]) == ("db1", "worker", "2", "5.0 s")
    assert worker[5] == "300 MB"
    assert (worker[6], worker[8]) == ("30 B", "2.00 kB")
    (table,) = (part for part in section.parts if isinstance(part, Tabled))
    assert len(table.series.rows) == 3


def test_block_io_without_a_report_is_not_zero() -> None:
    section = containers(_result(_use("a", "run-worker", 1.0, None, None), _use("b", "run-db1", 1.0, 5, "processes")))
    assert [row[6] for row in _rows(section)] == ["5 B", "not known"]
    assert "/proc/PID/io" in str(section.parts[-1])
    assert "not available" in str(section.parts[-1])


def test_the_section_is_only_where_there_were_containers() -> None:
    with_some = [s.anchor for s in build_sections(_result(_use("a", "run-worker", 1.0, 1)))]
    assert with_some[with_some.index("generator") + 1] == "containers"
    assert "containers" not in [s.anchor for s in build_sections(made.result())]


def test_older_results_are_read_as_they_are() -> None:
    result = _result(_use("a", "run-worker", 1.0, 1))
    assert from_json(json.loads(json.dumps(to_json(result)))).points == result.points
    data = json.loads(json.dumps(to_json(made.result())))
    for point in data["points"]:
        for run in point["repeats"]:
            del run["containers"]
    assert from_json(data).points[0].repeats[0].containers == ()


def test_a_run_has_an_empty_storage_root(tmp_path: Path) -> None:
    settings = Settings(scratch=tmp_path / "scratch", storage=tmp_path)
    with fresh_place(settings, tmp_path / "filer", "r/000") as place:
        assert list(place.storage.iterdir()) == []
    assert not (tmp_path / "filer" / "experiments").exists()


def test_database_files_out_of_sight_are_reported_to_be(tmp_path: Path) -> None:
    (found,) = database_places({"db1": tmp_path / "closed"}, tmp_path)
    assert found["on_storage_under_test"] is None
    assert "not visible from here" in found["label"]
