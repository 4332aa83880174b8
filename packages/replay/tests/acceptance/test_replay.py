"""What a storage engineer does: record a job once, and play its calls again elsewhere."""

import contextlib
import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import psutil
import pytest
from array_counters import NAME
from array_counters import options as array_options
from installation import COMMAND_SECONDS, Bench, Running, until
from memory_traces import write_trace
from relay_traces import run_local
from replay_traces import reading_trace
from unpacking import make_zip

from replay.orders import parse_pace
from replay.plan import plan_replay
from replay.program import compile_replay
from replay.runs import ALL, recorded_figures
from replay.tree import Target
from traces.file import open_trace
from traces.model import NodeKind

_HOUR_NS = 3_600_000_000_000


@pytest.fixture
def target(bench: Bench) -> Path:
    """An empty directory on the storage under test."""
    path = bench.home / "target"
    path.mkdir()
    return path


def _source(bench: Bench) -> Path:
    """Two custodians with loose files, and an archive for each."""
    for name in ("ann", "bob"):
        directory = bench.home / "source" / name
        directory.mkdir(parents=True)
        for number in range(6):
            (directory / f"note-{number}.txt").write_text(f"a word of {name} " * (50 + number))
        (directory / "more.zip").write_bytes(make_zip({f"{n}.txt": b"in an archive " * n for n in range(1, 5)}))
    return bench.home / "source"


def _levels(bench: Bench, trace: dict[str, Any], filer: Path) -> None:
    """Parts of the peak are offered as asked, whatever is achieved, by members that join with the file that the command writes, each
    with a clone of the trace, through the one emulated filer of this host; the package tells it again from the clients' own words."""
    target = bench.storage / "target"  # what members of other hosts see
    target.mkdir()
    options = ("--clients", "4", "--levels", "2", "--filer", str(filer), *bench.to_result)
    crew = ("--listen", "127.0.0.1", "--workers", "2")
    command = bench.start("trace", "replay", "--repeats", "1", trace["path"], "--path", str(target), *options, *crew)
    with _members(bench, command):
        page = bench.end(command).splitlines()[-1]
    result = bench.result()
    assert [host["name"] for host in result["conditions"]["hosts"]] == ["m1", "m2"]
    for run in (run for point in result["points"] for run in point["repeats"]):
        assert run["null_calls"] == run["calls"]
        assert run["job"]["filer"]["stations"], "the members' calls went through it"
    assert list(target.iterdir()) == []
    top, half, whole = (point["repeats"][0] for point in result["points"])
    levels = result["levels"]
    assert (result["kind"], levels["found"], levels["peak"]) == ("load", True, round(top["calls_per_second"]))
    assert [point["at"]["percent"] for point in result["points"]] == [0, 50, 100]
    assert (top["offered_per_second"], top["due_per_second"]) == (None, [])
    assert whole["offered_per_second"] == pytest.approx(2 * half["offered_per_second"], rel=1e-3)
    assert sum(whole["due_per_second"]) == whole["calls"] == 2 * trace["calls"]
    assert [level["offered"] for level in levels["levels"]] == [run["offered_per_second"] for run in (half, whole)]
    assert "SHORT: not a storage result" in result["labels"]
    assert result["fidelity"] is None
    bench.ask("result", "check", str(Path(page).parent))


@contextlib.contextmanager
def _members(bench: Bench, command: Running) -> Iterator[None]:
    """Two workers, as on hosts of their own."""
    join = bench.scratch / "join"
    until(lambda: join.exists() or command.poll() is not None, "the command waits for members", COMMAND_SECONDS)
    line = ("worker", "--storage", str(bench.storage), "--join", str(join), "--member")
    members = [bench.start_afresh(*line, name) for name in ("m1", "m2")]
    try:
        yield
    finally:
        for member in members:
            member.terminate()
        for member in members:
            member.communicate()


@pytest.mark.usefixtures("attached")
def test_a_job_is_recorded_and_replayed(bench: Bench, target: Path) -> None:
    """With one client and with as many as slots, on the storage and on an emulated filer, into one report that tells
    them apart; nothing is left where it was played."""
    bench.end(bench.discover("--workers", "1", "--slots", "2", "--trace", corpus=_source(bench)))
    trace, quick = bench.result()["trace"], bench.home / "quick.toml"
    quick.write_text('name = "quick"\nmetadata.service_us.default = 1\n')
    options = ("--clients", "1,2", "--filer", f"none,{quick}", "--pace", "max", *array_options(bench.home))
    replay = ("trace", "replay", "--repeats", "1", trace["path"], "--path", str(target), *bench.to_result)
    done = bench.edbench(*replay, *options)
    result = bench.result()
    points = [(point["at"]["storage"], point["at"]["clients"], point) for point in result["points"]]
    real, emulated = dict.fromkeys(storage for storage, _, _ in points)
    assert emulated == "EMULATED FILER quick, scale 1/1"
    assert [(storage, clients) for storage, clients, _ in points] == [
        (real, 1),
        (real, 2),
        (emulated, 1),
        (emulated, 2),
    ]
    assert result["verdict"].startswith(f"{emulated} at 2 of 4 points; ")
    runs = [(storage, run) for storage, _, point in points for run in point["repeats"]]
    assert sorted(run["order"] for _, run in runs) == list(range(4))
    for storage, run in runs:
        assert run["emulated"] == (storage == emulated) == (run["job"].get("filer") is not None)
        assert run["calls"] == trace["calls"] == result["recorded"]["calls"]
        assert run["differences"] == {}
        assert sum(run["per_second"]) == run["calls"]
        assert run["null_calls"] > 0
        assert [use["name"] for use in run["array"]] == [NAME]
        assert run["latency"].keys() == run["service"].keys() == result["recorded"]["latency"].keys()
    assert list(target.iterdir()) == []
    page = Path(done.stdout.strip().splitlines()[-1])
    assert "The trace compared with its replay" in page.read_text()
    assert result["verdict"] in " ".join(done.stdout.split())
    compared = bench.ask("result", "compare", str(page.parent), str(page.parent / "result.json")).stdout
    assert "response p99" in compared
    assert "fewer" in compared  # than five repeats: no statement, folded in its cell
    _levels(bench, trace, quick)


@pytest.mark.usefixtures("attached")
def test_jobs_that_produce_are_replayed(bench: Bench, target: Path) -> None:
    """Traces of the other types hold every call of theirs, and can be played as a discovery's: as fast as it goes, by their
    start times, and with the time in between. Where they write is no part of a trace, and how well it compresses is."""
    traces = {}
    with bench.standing():
        bench.end(bench.discover(corpus=_source(bench)))
        job = bench.result()["job_id"]
        for kind in ("text", "images", "export"):
            bench.edbench("produce", kind, job, "--out", str(bench.home / kind), "--trace", *bench.to_result)
            result = bench.result()
            traces[kind] = result["trace"]
            assert (traces[kind]["calls"] > 40, traces[kind]["lost"]) == (True, 0)
            _check_trace(bench, Path(traces[kind]["path"]), result["calls"])
    for (kind, trace), pace in product(traces.items(), ("job", "schedule", "max")):
        assert _played(Path(trace["path"]), pace, target, bench.home / f"{kind} {pace}") == (trace["calls"], ()), (
            kind,
            pace,
        )
        assert list(target.iterdir()) == []


def _played(path: Path, pace: str, target: Path, scratch: Path) -> tuple[int, tuple[object, ...]]:
    """By clients of this process, without services: its calls, and what came out otherwise than it was recorded."""
    asked = parse_pace(pace)
    with open_trace(path) as trace:
        clients = min(2, sum(1 for stream in trace.header.streams if stream.calls))
        plan = plan_replay(trace.header, clients=clients, speed=asked.speed or None, closed=asked.closed)
        program = compile_replay(trace, plan, scratch)
    found = run_local(program, Target(paths=(target,), replay_id="test")).merged
    return found.calls, found.differences


def _check_trace(bench: Bench, path: Path, calls: dict[str, dict[str, Any]]) -> None:
    """It is what the job's own call records say; no name that was given, and texts that compress."""
    with open_trace(path) as trace:
        latency = recorded_figures(str(path), trace).latency
        nodes, origin = list(trace.nodes), json.dumps(trace.header.origin)
    found = {op: (of.calls, of.bytes, of.errors) for op, of in latency.items() if op != ALL}
    assert found == {op: (of["count"], of["bytes"], of["errors"]) for op, of in calls.items()}
    assert str(bench.home) not in origin
    assert min(node.ratio for node in nodes if node.kind is NodeKind.FILE and not node.existed) < 500


def _long(bench: Bench, streams: int) -> Path:
    """A trace whose second call is an hour after the first."""
    path = bench.home / "long.edbtrace"
    write_trace(reading_trace(streams=streams, files=1, pause_ns=_HOUR_NS), path)
    return path


def _players(bench: Bench, process: Running, clients: int, target: Path) -> list[psutil.Process]:
    """The processes of the clients, once there are all of them, and their files."""

    def there() -> list[psutil.Process]:
        theirs = bench.processes(process, "-m", "replay.local")
        return [one for one in theirs if one.ppid() in {parent.pid for parent in theirs}]

    until(lambda: len(there()) == clients and any(target.iterdir()), "all play")
    return there()


def test_a_client_that_dies_ends_the_replay(bench: Bench, target: Path) -> None:
    process = bench.furnish().start("trace", "replay", "--repeats", "1", str(_long(bench, 2)), "--path", str(target))
    _players(bench, process, 2, target)[0].kill()
    _, error = process.communicate()
    assert process.returncode == 1, error
    assert "of the replay died (SIGKILL)" in error.strip().splitlines()[-1]
    assert list(target.iterdir()) == []


def test_an_interrupted_replay_leaves_nothing(bench: Bench, target: Path) -> None:
    process = bench.furnish().start("trace", "replay", "--repeats", "1", str(_long(bench, 1)), "--path", str(target))
    _players(bench, process, 1, target)
    process.terminate()
    _, error = process.communicate()
    assert process.returncode == 130, error
    assert "cannot be resumed" in error.strip().splitlines()[-1]
    assert list(target.iterdir()) == []
