"""`make test-filers`: four members of a crew, each with a MooseFS mount of its own, and the file system's own counters for each run."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from installation import EDBENCH, Bench, Running, until
from real_mounts import Real, installed, real
from testbeds import REPOSITORY

_SERVER = "192.0.2.10"
_MEMBERS = 4
_LISTEN = ("--listen", "127.0.0.1", "--wait", "300")
# The mount is this member's alone; it has to go before the namespace does, or its client process stays.
_MEMBER = """umount -l "$1"; nsenter --net=/run/netns/edb-moosefs mfsmount -H "$2" "$1" >&2 || exit 1
shift 2; trap 'kill $worker' TERM; "$@" & worker=$!; wait $worker; wait $worker; umount -l "$MOUNT"
"""


@pytest.fixture(scope="module")
def moosefs() -> Iterator[Real]:
    """One of the test's own."""
    with real("moosefs") as there:
        yield there


@contextlib.contextmanager
def _members(bench: Bench, mount: Path, command: Running) -> Iterator[None]:
    """Join the command's system once it waits for them."""
    join = bench.scratch / "join"
    until(join.exists, "the command waits for members", 120.0)
    begun = []
    for number in range(1, _MEMBERS + 1):
        scratch = bench.home / f"member {number}"
        scratch.mkdir(exist_ok=True)
        worker = (EDBENCH, "worker", "--storage", bench.storage, "--join", join, "--member", f"m{number}")
        env = {"PATH": os.environ["PATH"], "HOME": str(scratch), "EDBENCH_SCRATCH": str(scratch), "MOUNT": str(mount)}
        private = ("unshare", "--mount", "--propagation", "private")
        line = (*private, "sh", "-c", _MEMBER, "sh", mount, _SERVER, *worker)
        begun.append(subprocess.Popen(line, env=env, cwd=REPOSITORY, start_new_session=True))
    try:
        yield
    finally:
        for process in begun:
            process.terminate()
        for process in begun:
            process.wait(120)
        join.unlink(missing_ok=True)


@contextlib.contextmanager
def _collected(bench: Bench, mount: Path) -> Iterator[Path]:
    """What the mount counts, twice a second, by the product's collector."""
    file = bench.home / "counters.jsonl"
    command = ("counters", "collect", "moosefs-mount", "--every", "0.5", "--to", str(file))
    collecting = bench.start_afresh(*command, "--", "cat", str(mount / ".stats"))
    try:
        until(lambda: file.exists() and file.read_text().count("\n") > 2, "counters are collected")
        yield file
    finally:
        collecting.send_signal(signal.SIGINT)
        collecting.communicate(timeout=60)


def test_an_experiment_takes_members_that_mount_it_themselves(moosefs: Real, bench: Bench, tiny: Path) -> None:
    """With 1, 2 and 4 of them: the workers are spread over the mounts, what one wrote is read through another, and every run has
    what the file system counted meanwhile. A storage test's clients are at all of them."""
    mount = moosefs.directory
    with installed(bench, moosefs, tiny) as made, _collected(made, mount) as counters:
        corpus = made.storage / "corpora" / "c"  # members see nothing else
        shutil.copytree(tiny, corpus, copy_function=shutil.copyfile)
        points = ("--workers", "1,2,4", "--repeats", "1", "--min-seconds", "1", "--slots", "1", "--no-baseline")
        command = made.start_afresh(
            "bench", "scale-up", "--corpus", str(corpus), *points, *_LISTEN, "--array", str(counters), "-o", "json"
        )
        with _members(made, mount, command):
            out, err = command.communicate(timeout=900)
        assert command.returncode == 0, err
        result = json.loads(out[out.index("{") : out.rindex("}") + 1])
        runs = {point["at"]["workers"]: point["repeats"][0] for point in result["points"]}
        assert sorted(runs) == [1, 2, 4]
        assert all(any(use["peak"] > 0 for use in run["array"]) for run in runs.values())
        hosts = {one["name"] for one in result["conditions"]["hosts"]}
        assert hosts == {f"m{number}" for number in range(1, _MEMBERS + 1)}
        assert "fuse" in json.dumps(result["conditions"]["hosts"])
        under_test = made.storage / "under test"
        under_test.mkdir()
        settings = ("--set", "clients=1,8", "--set", "size=100000", "--set", "window=0.01", "--repeats", "1")
        sweep = ("bench", "storage", "client-sweep", "--path", str(under_test), *settings)
        command = made.start_afresh(*sweep, "--workers", str(_MEMBERS), *_LISTEN, "-o", "json")
        with _members(made, mount, command):
            out, err = command.communicate(timeout=600)
        assert command.returncode == 0, err
        result = json.loads(out[out.index("{") : out.rindex("}") + 1])
        assert len(result["conditions"]["hosts"]) == _MEMBERS
        for point in result["points"]:
            (run,) = point["repeats"]
            assert run["refused"] + run["failed"] == 0
            assert [phase["done"] for phase in run["phases"]] == [point["at"]["clients"]] * 3
        assert list(under_test.iterdir()) == []
