"""Wire-read ÷ call-read by phase, from rows as the workers' frames leave them."""

import io
import json
import os
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from rich.console import Console
from taskbench import TaskBench

from cli.summary import show_wire
from controller.arrays.importing import forget_array, import_array
from controller.arrays.mapping import collected_map, read_map
from controller.databases import JobHandle
from controller.observe.wire import wire_shares
from controller.timeline.read import read_timeline
from core.errors import SystemFault, UsageError
from core.operations import Op
from core.records import Phase
from sql.jobs import get_job

START = 1_700_000_000  # epoch seconds


@pytest.fixture
def handle(task_bench: TaskBench) -> JobHandle:
    """A job that walked for one second, expanded for ten and indexed for ten, and read 1,000 bytes in each phase."""
    task_bench.create()
    database, job = task_bench.database, str(task_bench.job)
    with database.transaction() as conn:
        conn.execute("DELETE FROM job_phase")
        for phase, start, finish in (("walk", 0, 1), ("expand", 1, 11), ("index", 11, 21)):
            conn.execute(
                "INSERT INTO job_phase (job, phase, started_at, finished_at) "
                "VALUES (%(job)s, %(phase)s, to_timestamp(%(start)s), to_timestamp(%(finish)s))",
                {"job": job, "phase": phase, "start": START + start, "finish": START + finish},
            )
            conn.execute(
                "INSERT INTO call_second VALUES (%(job)s, gen_random_uuid(), %(at)s, %(phase)s, %(op)s, 1, 1000, 0, 1, 1, '')",
                {"job": job, "at": START + start, "phase": phase, "op": int(Op.READ)},
            )
        found = get_job(conn, task_bench.job)
    return JobHandle(database, found)


def observe(
    handle: JobHandle, source: str, values: Sequence[int], *, storage: bool, points: Sequence[str] = ()
) -> None:
    """Cumulative bytes of a source, a reading a second from just before the job's start."""
    with handle.database.transaction() as conn:
        for at, value in enumerate(values):
            conn.execute(
                "INSERT INTO observation (second, kind, source, \"values\") VALUES (%(at)s, 'wire', %(source)s, %(json)s)",
                {
                    "at": START - 1 + at,
                    "source": source,
                    "json": json.dumps({"read_bytes": value, "storage": storage, "points": list(points)}),
                },
            )


def test_without_nfs_there_are_no_shares(handle: JobHandle) -> None:
    assert wire_shares([handle]) is None


def test_phases_get_what_the_wire_grew_by_in_their_time(handle: JobHandle) -> None:
    """100 bytes a second while expanding, then a cache answered; two hosts add up, and other mounts do not count."""
    cold = [*(50_000 + 100 * max(0, min(at - 1.5, 10)) for at in range(23))]
    observe(handle, "aaaaaaaa:filer:0:50", [round(value) for value in cold], storage=True)
    observe(handle, "bbbbbbbb:filer:0:61", [7] * 23, storage=True)
    observe(handle, "aaaaaaaa:other:0:51", [at * 10**6 for at in range(23)], storage=False, points=["/elsewhere"])
    shares = wire_shares([handle])
    assert shares.sources == ("aaaaaaaa:filer:0:50", "bbbbbbbb:filer:0:61")
    expand, index, walk = (shares.phases[phase] for phase in (Phase.EXPAND, Phase.INDEX, Phase.WALK))
    assert expand.call_read_bytes == 1000
    assert expand.ratio == pytest.approx(1.0, abs=0.06)
    assert index.ratio == pytest.approx(0.0, abs=0.06)
    assert (walk.ratio, walk.why) == (None, "shorter than 2 s")
    assert shares.total.ratio == pytest.approx(1 / 3, abs=0.02)
    assert shares.other_jobs == 0
    out = io.StringIO()
    show_wire(Console(file=out, width=120), shares)
    assert "NFS mounts of 2 hosts" in out.getvalue()
    assert "whole job" in out.getvalue()
    json.dumps(shares.to_json())


def test_the_sources_own_mount_counts_and_a_counter_may_begin_again(handle: JobHandle) -> None:
    above = os.path.dirname(os.fsdecode(handle.job.source))
    observe(handle, "cccccccc:source:0:70", [500, 600, 0, *range(100, 2_100, 100)], storage=False, points=["/", above])
    observe(handle, "cccccccc:root:0:71", [0, 10**9], storage=False, points=["/"])
    shares = wire_shares([handle])
    assert shares.sources == ("cccccccc:source:0:70",)
    assert 1_900 <= shares.total.wire_read_bytes <= 2_100


def test_phases_of_a_group_that_overlap_have_no_ratio(handle: JobHandle) -> None:
    """The wire does not know of phases: with another in the same seconds there is no telling."""
    with handle.database.transaction() as conn:
        conn.execute("UPDATE job_phase SET started_at = to_timestamp(%(at)s) WHERE phase = 'index'", {"at": START + 5})
    observe(handle, "aaaaaaaa:filer:0:50", list(range(0, 2_300, 100)), storage=True)
    shares = wire_shares([handle])
    assert shares.phases[Phase.EXPAND].why == "another phase of the group ran at the same time"
    assert shares.total.ratio is not None


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
        "alike": {
            "resultType": "matrix",
            "result": [{"metric": {of: "a"}, "values": values} for of in ("pool", "disk")],
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
def discovered(task_bench: TaskBench) -> JobHandle:
    """A job that ran for a hundred seconds."""
    task_bench.create()
    with task_bench.database.transaction() as conn:
        conn.execute(
            "UPDATE job SET first_claim_at = to_timestamp(%(a)s), finished_at = to_timestamp(%(b)s)",
            {"a": START, "b": START + 100},
        )
        return JobHandle(task_bench.database, get_job(conn, task_bench.job))


def stored(discovered: JobHandle) -> list[tuple[int, str, dict[str, float]]]:
    """The job's array observations."""
    with discovered.database.transaction() as conn:
        rows = conn.execute(
            "SELECT second, source, \"values\" FROM observation WHERE kind = 'array' AND job = %(job)s ORDER BY 2, 1",
            {"job": str(discovered.id)},
        )
        return [(row.second - START, row.source, row.values) for row in rows]


def test_a_file_is_moved_by_the_offset_clipped_averaged_and_replaced(discovered: JobHandle, tmp_path: Path) -> None:
    """The database's clock is a second ahead; a second's values are averaged; what is far away is left out."""
    (tmp_path / "array1.toml").write_text(CSV_MAP)
    times = (-1000, 4.1, 4.6, 10, 159, 400)
    (tmp_path / "a.csv").write_text("t,v\n" + "".join(f"{START + at},{at}\n" for at in times) + "x,1\n")
    mapping = read_map(tmp_path / "array1.toml")
    done = import_array([discovered], mapping, tmp_path / "a.csv", 1.0, {})
    source = "array1 · ops/s · clock +1 s"
    assert stored(discovered) == [
        (5, source, {"v": 4.35}),
        (11, source, {"v": 10}),
        (160, source, {"v": 159}),
    ]
    assert (done.values, done.outside, [str(bad) for bad in done.bad]) == (
        3,
        2,
        ["line 8: 'x' is not a time of the form unix"],
    )
    (panel,) = [p for p in read_timeline([discovered]).panels if p.id.startswith("array_")]
    assert (panel.id, source in panel.title, [s.id for s in panel.series]) == ("array_1", True, ["v"])
    import_array([discovered], mapping, tmp_path / "a.csv", 0.0, {})
    assert {row[1] for row in stored(discovered)} == {"array1 · ops/s · clock unchanged"}
    assert forget_array([discovered], "array") == 0
    assert forget_array([discovered], "array1") == 3
    assert stored(discovered) == []


def test_the_only_value_about_a_short_job_comes_after_it(discovered: JobHandle, tmp_path: Path) -> None:
    """An array that reports every five minutes: a value is over the interval before it."""
    (tmp_path / "m.toml").write_text(CSV_MAP)
    (tmp_path / "a.csv").write_text("t,v\n" + "".join(f"{START + at},{at}\n" for at in (-400, -100, 200, 500)))
    done = import_array([discovered], read_map(tmp_path / "m.toml"), tmp_path / "a.csv", 0.0, {})
    assert ([row[2] for row in stored(discovered)], done.first, done.outside) == ([{"v": 200}], START + 200, 3)


def test_what_was_collected_needs_no_map(discovered: JobHandle, tmp_path: Path) -> None:
    """Counts become growth a second, at the later of two moments; ops and bytes are panels of their own."""
    file = tmp_path / "c.jsonl"
    header = {"schema": "edbench-counters/1", "kind": "glusterfs", "name": "bricks", "command": ["gluster"]}
    moments = [(10, 100, 0), (12, 140, 4_000_000), (14, 30, 5_000_000)]  # the ops began anew in between
    lines = [header, *({"at": START + at, "values": {"lookup": n, "read bytes": b}} for at, n, b in moments)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    import_array([discovered], collected_map(file), file, 0.0, {})
    assert stored(discovered) == [
        (12, "bricks · MB/s · clock unchanged", {"read": 2.0}),
        (14, "bricks · MB/s · clock unchanged", {"read": 0.5}),
        (12, "bricks · filer ops/s · clock unchanged", {"lookup": 20.0}),
    ]


def test_nothing_is_stored_of_another_time(discovered: JobHandle, tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(CSV_MAP)
    (tmp_path / "a.csv").write_text(f"t,v\n{START + 5},1\n")
    mapping = read_map(tmp_path / "m.toml", "array2")
    import_array([discovered], mapping, tmp_path / "a.csv", 0.0, {})
    for offset in (86_400.0, float("nan")):
        with pytest.raises(UsageError):
            import_array([discovered], mapping, tmp_path / "a.csv", offset, {})
    assert len(stored(discovered)) == 1


def test_prometheus_is_asked_for_the_jobs_time(discovered: JobHandle, prometheus: str, tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(
        f'name = "arr"\n[prometheus]\nurl = "{prometheus}"\nstep_s = 5\ntoken_env = "TOKEN"\n'
        '[[column]]\nquery = "one"\nname = "n"\n[[column]]\nquery = "two"\nname = "rate"\nkind = "counter"\n'
    )
    mapping = read_map(tmp_path / "m.toml")
    with pytest.raises(UsageError, match="TOKEN is not set"):
        import_array([discovered], mapping, None, 0, {})
    import_array([discovered], mapping, None, 10.0, {"TOKEN": "secret"})
    asked = Prometheus.asked[0]
    assert (float(asked["start"]), float(asked["end"])) == (START - 70, START + 150)
    assert (asked["step"], asked["authorization"]) == ("5.000", "Bearer secret")
    rows = stored(discovered)
    assert rows[0] == (10, "arr · clock +10 s", {"n": 0})
    assert rows[1] == (15, "arr · clock +10 s", {"n": 5, "rate a": 1.0, "rate b": 1.0})


def test_what_prometheus_refuses_is_reported_in_its_words(
    discovered: JobHandle, prometheus: str, tmp_path: Path
) -> None:
    table = f'[prometheus]\nurl = "{prometheus}"\n[[column]]\nquery = "sum("\n'
    (tmp_path / "m.toml").write_text(table)
    with pytest.raises(UsageError, match="400 parse error"):
        import_array([discovered], read_map(tmp_path / "m.toml"), None, 0, {})
    (tmp_path / "m.toml").write_text(table.replace("sum(", "alike"))
    with pytest.raises(UsageError, match="second series 'alike a'"):
        import_array([discovered], read_map(tmp_path / "m.toml"), None, 0, {})
    (tmp_path / "m.toml").write_text(table.replace(prometheus, "http://127.0.0.1:9"))
    with pytest.raises(SystemFault, match=r"http://127\.0\.0\.1:9 cannot be queried"):
        import_array([discovered], read_map(tmp_path / "m.toml"), None, 0, {})
