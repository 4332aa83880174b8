"""`make test-filers`: members of a crew, each with a MooseFS mount of its own, and the file system's own counters for each run."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from installation import EDBENCH, Bench, until
from real_mounts import Real, installed, real
from testbeds import REPOSITORY

_SERVER = "192.0.2.10"
_MEMBERS = 4
_LISTEN = ("--listen", "127.0.0.1", "--wait", "300")
_MOUNTING = 'nsenter --net=/run/netns/edb-moosefs mfsmount -H "$SERVER" "$MOUNT" >&2'
# What a member may have at the path in place of that, and how it is refused.
_STRANGE = {
    'mount -t tmpfs tmpfs "$MOUNT" && mkdir -p "$STORAGE"': "member m2 has a different storage at ",
    f"{_MOUNTING} -o noatime": "noatime on m2",
}
# The mount is this member's alone; it has to go before the namespace does, or its client process stays.
_MEMBER = """umount -l "$MOUNT"; eval "$MOUNTING" || exit 1
trap 'kill $worker' TERM; "$@" & worker=$!; wait $worker; wait $worker; umount -l "$MOUNT"
"""


@pytest.fixture(scope="module")
def moosefs() -> Iterator[Real]:
    """One of the test's own."""
    with real("moosefs") as there:
        yield there


def _begun(bench: Bench, mount: Path, name: str, mounting: str = _MOUNTING) -> subprocess.Popen[bytes]:
    """A member with a mount of its own."""
    scratch = bench.home / f"scratch of {name}"
    scratch.mkdir(exist_ok=True)
    worker = (EDBENCH, "worker", "--storage", bench.storage, "--join", bench.scratch / "join", "--member", name)
    env = {
        "PATH": os.environ["PATH"], "HOME": str(scratch), "EDBENCH_SCRATCH": str(scratch), "MOUNT": str(mount),
        "MOUNTING": mounting, "SERVER": _SERVER, "STORAGE": str(bench.storage),
    }  # fmt: skip
    line = ("unshare", "--mount", "--propagation", "private", "sh", "-c", _MEMBER, "sh", *worker)
    return subprocess.Popen(line, env=env, cwd=REPOSITORY, start_new_session=True)


@contextlib.contextmanager
def _members(
    bench: Bench, mount: Path, mountings: Sequence[str] = (_MOUNTING,) * _MEMBERS
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """m1, m2, … join the command's system once it waits for them; those of the list end with the block."""
    join = bench.scratch / "join"
    until(join.exists, "the command waits for members", 120.0)
    begun = [_begun(bench, mount, f"m{number}", mounting) for number, mounting in enumerate(mountings, start=1)]
    try:
        yield begun
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
        with _members(made, mount):
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
        with _members(made, mount):
            out, err = command.communicate(timeout=600)
        assert command.returncode == 0, err
        result = json.loads(out[out.index("{") : out.rindex("}") + 1])
        assert len(result["conditions"]["hosts"]) == _MEMBERS
        for point in result["points"]:
            (run,) = point["repeats"]
            assert run["refused"] + run["failed"] == 0
            assert [phase["done"] for phase in run["phases"]] == [point["at"]["clients"]] * 3
        assert list(under_test.iterdir()) == []


def test_a_killed_member_is_named_and_the_run_repeated(moosefs: Real, bench: Bench, tiny: Path) -> None:
    """By SIGKILL, with everything that it started; it joins again under its name. A member that mounts something else there, or the
    same with other options, is refused."""
    mount = moosefs.directory
    with installed(bench, moosefs, tiny) as made:
        corpus = made.storage / "corpora" / "c"
        shutil.copytree(tiny, corpus, copy_function=shutil.copyfile)
        words = ("bench", "scale-up", "--corpus", str(corpus), "--repeats", "1", "--min-seconds", "1", "--slots", "1")
        line = (*words, "--no-baseline", "--workers", "2", *_LISTEN)
        command = made.start_afresh(*line, "-o", "json")
        with _members(made, mount, (_MOUNTING,) * 2) as members:
            items = "experiments/*/*/jobs/*/items/*"
            until(lambda: any(made.storage.glob(items)), "the workers write items", 300.0)
            os.killpg(members[0].pid, signal.SIGKILL)
            members[0].wait()
            members[0] = _begun(made, mount, "m1")
            out, err = command.communicate(timeout=900)
        assert command.returncode == 0, err
        assert "not counted and run again: member m1 was lost: it no longer answers" in " ".join(err.split())
        result = json.loads(out[out.index("{") : out.rindex("}") + 1])
        (used,) = result["conditions"]["hosts_by_run"]
        assert {one["name"]: one["workers"] for one in used["hosts"]} == {"m1": 1, "m2": 1}
        for mounting, refusal in _STRANGE.items():
            command = made.start_afresh(*line)
            with _members(made, mount, (_MOUNTING, mounting)):
                _, err = command.communicate(timeout=600)
            assert command.returncode == 2
            assert refusal in err
