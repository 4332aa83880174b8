"""An experiment on hosts that joined: here two agents with a name and a scratch each, on one local storage."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from installation import COMMAND_SECONDS, Bench, Hold, until

from core.services.ports import free_port
from experiments.result.codec import read_result

ADDRESS = "127.0.0.2"  # one of this host that is not the services' own loopback address


def _join(bench: Bench, name: str, port: int) -> subprocess.Popen[str]:
    bench.env["EDBENCH_LOGIN_FILE"] = str(bench.scratch / "hosts/login")
    try:
        return bench.start("worker", "join", f"redis://{ADDRESS}:{port}", "--name", name)
    finally:
        del bench.env["EDBENCH_LOGIN_FILE"]


def test_a_lost_host_is_named_and_the_run_is_made_again_on_another(bench: Bench, small: Path) -> None:
    """Three hosts join an experiment of two. One is gone in the middle of a run: it is named, the third takes its place, and
    the result has the run of these two: who worked, with what clock and meters, whose index tasks read what the other wrote."""
    port = free_port(ADDRESS)
    bench.storage.mkdir()
    bench.hold("index").let_go()  # beside the command's scratch; a host's workers look beside their own
    held = Hold(bench.scratch / "joined/hold", "index")
    held.directory.mkdir(parents=True)
    held.after(1)
    experiment = bench.start(
        "experiment", "scale-up", "--hosts", "2", "--listen", f"{ADDRESS}:{port}", "--corpus", str(small),
        "--workers", "2", "--slots", "1", "--repeats", "1", "--cold",
    )  # fmt: skip
    agents: list[subprocess.Popen[str]] = []
    try:
        until(
            lambda: (bench.scratch / "hosts/login").exists() or experiment.poll() is not None, "login", COMMAND_SECONDS
        )
        agents += [_join(bench, name, port) for name in ("h1", "h2")]
        until(lambda: held.reached() or experiment.poll() is not None, "an index task is held", COMMAND_SECONDS)
        agents.append(_join(bench, "h3", port))
        assert agents[2].stderr is not None
        assert "waits for experiments" in agents[2].stderr.readline()  # it is there before the other is gone
        agents[1].terminate()
        agents[1].wait(COMMAND_SECONDS)
        held.let_go()
        said = bench.end(experiment)
    finally:
        for agent in agents:
            agent.terminate()
        told = [agent.communicate()[1] for agent in agents]
        bench.end(experiment, check=None)
    assert "host h2 was lost" in said, told
    assert "clock" in said
    result = read_result(Path(said.splitlines()[-1]).parent)
    (used,) = _used(result.conditions)
    assert [(host["name"], host["workers"]) for host in used["hosts"]] == [("h1", 1), ("h3", 1)]
    assert all(abs(host["clock_offset_s"]["end"]) < 1 for host in used["hosts"])
    assert all(host["workers_cpu_s"] > 0 for host in used["hosts"])
    assert used["tasks"] == used["on_another_host"] > 0
    drops = result.conditions["cache"]["drops"]
    assert {drop["host"] for drop in drops if drop["when"] == "index"} == {"", "h1", "h3"}
    assert {host["name"] for host in result.conditions["hosts"]} >= {"h1"}
    assert all(host["storage"]["mount"]["type"] for host in result.conditions["hosts"])
    assert result.conditions["databases"][0]["name"] == "db1"
    assert not list(bench.storage.glob(".edbench-hosts-*"))


def _used(conditions: dict[str, Any]) -> list[dict[str, Any]]:
    return list(conditions["hosts_by_run"])
