"""An array's counters on a job's time axis: stored, replaced, removed, asked of a server that speaks Prometheus' way."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from taskbench import TaskBench

from controller.arrays.importing import forget_array, import_array
from controller.arrays.mapping import collected_map, read_map
from controller.databases import JobHandle
from controller.timeline.read import read_timeline
from core.errors import SystemFault, UsageError
from sql.jobs import get_job

pytestmark = pytest.mark.services

START = 1_700_000_000
CSV_MAP = '[csv]\ntime = "t"\nformat = "unix"\n[[column]]\ncolumn = "v"\nunit = "ops/s"\n'


class Prometheus(BaseHTTPRequestHandler):
    """Answers range queries as Prometheus documents it; `asked` has the parameters of each."""

    asked: list[dict[str, str]]
    answers: dict[str, Any]

    def do_GET(self) -> None:
        query = {key: values[0] for key, values in parse_qs(urlsplit(self.path).query).items()}
        type(self).asked.append(query | {"authorization": self.headers.get("Authorization", "")})
        found = self.answers.get(query["query"])
        self.send_response(400 if found is None else 200)
        self.end_headers()
        body = {"status": "error", "error": "parse error"} if found is None else {"status": "success", "data": found}
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def prometheus() -> Iterator[str]:
    """Address of a server with one query of one series and one of two."""
    values = [[START + at, str(at)] for at in range(0, 30, 5)]
    Prometheus.asked = []
    Prometheus.answers = {
        "one": {"resultType": "matrix", "result": [{"metric": {"__name__": "x"}, "values": values}]},
        "two": {
            "resultType": "matrix",
            "result": [{"metric": {"pool": pool}, "values": [*values, [START + 30, "NaN"]]} for pool in ("a", "b")],
        },
    }
    server = ThreadingHTTPServer(("127.0.0.1", 0), Prometheus)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def handle(task_bench: TaskBench) -> JobHandle:
    """A job that ran for a hundred seconds."""
    task_bench.create()
    with task_bench.database.transaction() as conn:
        conn.exec_driver_sql(
            "UPDATE job SET first_claim_at = to_timestamp(%(a)s), finished_at = to_timestamp(%(b)s)",
            {"a": START, "b": START + 100},
        )
        return JobHandle(task_bench.database, get_job(conn, task_bench.job))


def stored(handle: JobHandle) -> list[tuple[int, str, dict[str, float]]]:
    """The job's array observations."""
    with handle.database.transaction() as conn:
        rows = conn.exec_driver_sql(
            "SELECT second, source, \"values\" FROM observation WHERE kind = 'array' AND job = %(job)s ORDER BY 2, 1",
            {"job": str(handle.id)},
        )
        return [(row.second - START, row.source, row.values) for row in rows]


def test_a_file_is_moved_by_the_offset_clipped_averaged_and_replaced(handle: JobHandle, tmp_path: Path) -> None:
    """The database's clock is a second ahead; a second's values are averaged; what is far away is left out."""
    (tmp_path / "array1.toml").write_text(CSV_MAP)
    times = (-1000, 4.1, 4.6, 10, 159, 400)
    (tmp_path / "a.csv").write_text("t,v\n" + "".join(f"{START + at},{at}\n" for at in times) + "x,1\n")
    mapping = read_map(tmp_path / "array1.toml")
    done = import_array([handle], mapping, tmp_path / "a.csv", 1.0, {})
    source = "array1 · ops/s · clock +1 s"
    assert stored(handle) == [(5, source, {"v": 4.35}), (11, source, {"v": 10}), (160, source, {"v": 159})]
    assert (done.values, done.outside, [str(bad) for bad in done.bad]) == (
        3,
        2,
        ["line 8: 'x' is not a time of the form unix"],
    )
    (panel,) = [p for p in read_timeline([handle]).panels if p.id.startswith("array_")]
    assert (panel.id, source in panel.title, [s.id for s in panel.series]) == ("array_1", True, ["v"])
    import_array([handle], mapping, tmp_path / "a.csv", 0.0, {})
    assert {row[1] for row in stored(handle)} == {"array1 · ops/s · clock as it was"}
    assert forget_array([handle], "array") == 0
    assert forget_array([handle], "array1") == 3
    assert stored(handle) == []


def test_what_was_collected_needs_no_map(handle: JobHandle, tmp_path: Path) -> None:
    """Counts become growth a second, at the later of two moments; ops and bytes are panels of their own."""
    file = tmp_path / "c.jsonl"
    header = {"schema": "edbench-counters/1", "kind": "glusterfs", "name": "bricks", "command": ["gluster"]}
    moments = [(10, 100, 0), (12, 140, 4_000_000), (14, 30, 5_000_000)]  # the ops began anew in between
    lines = [header, *({"at": START + at, "values": {"lookup": n, "read bytes": b}} for at, n, b in moments)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    import_array([handle], collected_map(file), file, 0.0, {})
    assert stored(handle) == [
        (12, "bricks · MB/s · clock as it was", {"read": 2.0}),
        (14, "bricks · MB/s · clock as it was", {"read": 0.5}),
        (12, "bricks · filer ops/s · clock as it was", {"lookup": 20.0}),
    ]


def test_nothing_is_stored_of_another_time(handle: JobHandle, tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(CSV_MAP)
    (tmp_path / "a.csv").write_text(f"t,v\n{START + 5},1\n")
    mapping = read_map(tmp_path / "m.toml", "array2")
    import_array([handle], mapping, tmp_path / "a.csv", 0.0, {})
    for offset in (86_400.0, float("nan")):
        with pytest.raises(UsageError):
            import_array([handle], mapping, tmp_path / "a.csv", offset, {})
    assert len(stored(handle)) == 1


def test_prometheus_is_asked_for_the_jobs_time(handle: JobHandle, prometheus: str, tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(
        f'name = "arr"\n[prometheus]\nurl = "{prometheus}"\nstep_s = 5\ntoken_env = "TOKEN"\n'
        '[[column]]\nquery = "one"\nname = "n"\n[[column]]\nquery = "two"\nname = "rate"\nkind = "counter"\n'
    )
    mapping = read_map(tmp_path / "m.toml")
    with pytest.raises(UsageError, match="TOKEN is not set"):
        import_array([handle], mapping, None, 0, {})
    import_array([handle], mapping, None, 10.0, {"TOKEN": "secret"})
    asked = Prometheus.asked[0]
    assert (float(asked["start"]), float(asked["end"])) == (START - 70, START + 150)
    assert (asked["step"], asked["authorization"]) == ("5.000", "Bearer secret")
    rows = stored(handle)
    assert rows[0] == (10, "arr · clock +10 s", {"n": 0})
    assert rows[1] == (15, "arr · clock +10 s", {"n": 5, "rate a": 1.0, "rate b": 1.0})


def test_what_prometheus_refuses_is_said_in_its_words(handle: JobHandle, prometheus: str, tmp_path: Path) -> None:
    table = f'[prometheus]\nurl = "{prometheus}"\n[[column]]\nquery = "sum("\n'
    (tmp_path / "m.toml").write_text(table)
    with pytest.raises(UsageError, match="400 parse error"):
        import_array([handle], read_map(tmp_path / "m.toml"), None, 0, {})
    (tmp_path / "m.toml").write_text(table.replace(prometheus, "http://127.0.0.1:9"))
    with pytest.raises(SystemFault, match=r"http://127\.0\.0\.1:9 cannot be queried"):
        import_array([handle], read_map(tmp_path / "m.toml"), None, 0, {})
