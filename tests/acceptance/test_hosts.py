"""Experiments and replays on hosts that joined: here agents with a name and a scratch each, on one local storage."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from installation import COMMAND_SECONDS, Bench, Hold, Running, until
from ports import own_ports
from replay_traces import reading_trace

from experiments.result.codec import read_result
from traces.write import write_trace

ADDRESS = "127.0.0.2"  # one of this host that is not the services' own loopback address


@pytest.fixture
def port() -> Iterator[int]:
    """Of this test's own: it is listened at, let go and listened at again."""
    with own_ports() as own:
        yield own


def _join(bench: Bench, name: str, port: int) -> Running:
    bench.env["EDBENCH_LOGIN_FILE"] = str(bench.scratch / "hosts/login")
    try:
        return bench.start("worker", "join", f"redis://{ADDRESS}:{port}", "--name", name)
    finally:
        del bench.env["EDBENCH_LOGIN_FILE"]


@contextlib.contextmanager
def _joined(bench: Bench, experiment: Running, port: int) -> Iterator[list[Running]]:
    """h1 and h2, once the command has made up the login; whatever is in the list then ends with the block."""
    agents: list[Running] = []
    try:
        login = bench.scratch / "hosts/login"
        until(lambda: login.exists() or experiment.poll() is not None, "login", COMMAND_SECONDS)
        agents += [_join(bench, name, port) for name in ("h1", "h2")]
        yield agents
    finally:
        for agent in agents:
            agent.terminate()
        for agent in agents:
            agent.communicate()
        bench.end(experiment, check=None)


def _held(bench: Bench, phase: str) -> Hold:
    """Of the next job of hosts, after a task."""
    bench.hold(phase).let_go()  # beside the command's scratch; a host's workers look beside their own
    held = Hold(bench.scratch / "joined/hold", phase)
    held.directory.mkdir(parents=True)
    held.after(1)
    return held


def _scale_up(bench: Bench, corpus: Path, port: int) -> Running:
    bench.storage.mkdir()
    bench.spare_the_machine()
    return bench.start(
        "bench", "scale-up", "--hosts", "2", "--listen", f"{ADDRESS}:{port}", "--corpus", str(corpus),
        "--workers", "2", "--slots", "1", "--repeats", "1", "--cold",
    )  # fmt: skip


def _workers(bench: Bench, host: str) -> list[psutil.Process]:
    """Processes of the workers that a host has, its agent not among them."""
    scratch, out = str(bench.scratch / "joined" / host), []
    for candidate in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if candidate.environ().get("EDBENCH_SCRATCH") == scratch and candidate.status() != psutil.STATUS_ZOMBIE:
                out.append(candidate)
    return out


def test_a_killed_host_is_named_and_the_run_is_made_again(bench: Bench, small: Path, port: int) -> None:
    """One of two is killed in the middle of a run, and started again as whoever looks after it does: its workers are gone
    with it, it is named as lost, and the result has the run that was made then: who worked, with what clock and meters,
    whose index tasks read what the other wrote."""
    held = _held(bench, "index")
    experiment = _scale_up(bench, small, port)
    with _joined(bench, experiment, port) as agents:
        until(lambda: held.reached() or experiment.poll() is not None, "an index task is held", COMMAND_SECONDS)
        assert _workers(bench, "h2")
        agents[1].kill()
        agents[1].communicate()
        until(lambda: not _workers(bench, "h2"), "no worker outlives the agent")
        agents[1] = _join(bench, "h2", port)
        held.let_go()
        said = bench.end(experiment)
    assert "host h2 was lost" in said
    assert "clock" in said
    result = read_result(Path(said.splitlines()[-1]).parent)
    (used,) = _used(result.conditions)
    assert [(host["name"], host["workers"]) for host in used["hosts"]] == [("h1", 1), ("h2", 1)]
    assert all(abs(host["clock_offset_s"]["end"]) < 1 for host in used["hosts"])
    assert all(host["workers_cpu_s"] > 0 for host in used["hosts"])
    assert used["tasks"] == used["on_another_host"] > 0
    drops = result.conditions["cache"]["drops"]
    assert {drop["host"] for drop in drops if drop["when"] == "index"} == {"", "h1", "h2"}
    assert not any(drop["drop_caches"] for drop in drops)
    assert [host["name"] for host in result.conditions["hosts"]] == ["h1", "h2", "h2"]  # the killed one was let in, too
    assert all(host["storage"]["mount"]["type"] for host in result.conditions["hosts"])
    assert result.conditions["databases"][0]["name"] == "db1"
    assert not list(bench.storage.glob(".edbench-hosts-*"))


def test_an_interrupted_command_leaves_nothing_on_hosts_which_play_the_next_one(
    bench: Bench, small: Path, port: int
) -> None:
    """Ctrl-C in the middle of a run: no worker is left anywhere. The agents stay, and play a replay, a clone of the trace
    each, with its pair on null storage."""
    held = _held(bench, "expand")
    experiment = _scale_up(bench, small, port)
    with _joined(bench, experiment, port):
        until(lambda: held.reached() or experiment.poll() is not None, "a task is held", COMMAND_SECONDS)
        assert _workers(bench, "h1")
        experiment.send_signal(signal.SIGINT)
        held.let_go()
        bench.end(experiment, check=130)
        assert not _workers(bench, "h1")
        assert not _workers(bench, "h2")
        result = _replayed(bench, port)
    (point,) = result["points"]
    (run,) = point["repeats"]
    assert (run["calls"], run["null_calls"]) == (2 * result["recorded"]["calls"],) * 2
    assert not [label for label in result["labels"] if label.startswith("NO BASELINE")]
    (used,) = _used(result["conditions"])
    assert [(host["name"], host["workers"]) for host in used["hosts"]] == [("h1", 1), ("h2", 1)]
    assert not list(bench.storage.glob(".edbench-*"))


def test_report_r1s_rows_are_run_on_hosts(bench: Bench, small: Path, port: int) -> None:
    """The same rows, of other numbers of workers: on one database and on two, with R1's tables beside, on no emulated filer."""
    bench.storage.mkdir()
    bench.spare_the_machine()
    experiment = bench.start(
        "bench", "r1", "--hosts", "2", "--listen", f"{ADDRESS}:{port}", "--corpus", str(small), "--workers", "1,2",
        "--repeats", "1",
    )  # fmt: skip
    with _joined(bench, experiment, port):
        said = bench.end(experiment)
    result = read_result(Path(said.splitlines()[-1]).parent)
    assert result.kind == "r1"
    assert [(point.at.databases, point.at.workers) for point in result.points] == [(1, 1), (1, 2), (2, 2)]
    assert result.conditions["emulated_filer"] is None
    assert {host["name"] for run in _used(result.conditions) for host in run["hosts"]} == {"h1", "h2"}
    rows = [line.split() for line in said.splitlines() if line.startswith(("R1 ", "ours "))]
    assert [row[:3] for row in rows] == [
        ["R1", "1", "10"], ["R1", "1", "30"], ["ours", "1", "1"], ["ours", "1", "2"],
        ["R1", "1", "30"], ["R1", "2", "30"], ["ours", "1", "2"], ["ours", "2", "2"],
    ]  # fmt: skip


def _replayed(bench: Bench, port: int) -> dict[str, Any]:
    """By two clients of the hosts, each a data set of its own."""
    trace, target, found = bench.home / "a.edbtrace", bench.home / "target", bench.home / "replay.json"
    write_trace(reading_trace(streams=1, files=5, pause_ns=0), trace)
    target.mkdir()
    options = (
        "--hosts",
        "2",
        "--listen",
        f"{ADDRESS}:{port}",
        "--clients",
        "2",
        "--pace",
        "max",
        "-o",
        "json",
        "--output-file",
        str(found),
    )
    bench.edbench("trace", "replay", "--repeats", "1", str(trace), "--path", str(target), *options)
    assert not list(target.iterdir())
    return dict(json.loads(found.read_text()))


def _used(conditions: dict[str, Any]) -> list[dict[str, Any]]:
    return list(conditions["hosts_by_run"])
