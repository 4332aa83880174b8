"""Profiles with clients, run whole: result, package, report, and nothing left behind."""

import contextlib
import dataclasses
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from profile_runs import carried_out

from core.errors import UsageError
from experiments.workloads import about
from storage_tests.client_sweep import SweepRun
from storage_tests.crowd import Place, crowd
from storage_tests.insert_drift import InsertRun
from storage_tests.null_server import null_endpoint
from storage_tests.owner import Owner
from storage_tests.profile import Targets, made, refuse_filer
from storage_tests.stores import claimed_prefix


@pytest.mark.parametrize(
    ("name", "given", "points", "series"),
    [
        ("insert-drift", ["files=60", "group=5", "clients=2"], 2, ("insert-rate", "insert-latency", "drift", "usage")),
        (
            "client-sweep",
            ["clients=1,3", "size=100000", "window=0.01", "mixed=true"],
            4,
            ("sweep-together", "sweep-spread", "clients"),
        ),
        (
            "insert-drift",
            ["files=30", "group=5", "clients=2", "directories=own", "fsync=none,file"],
            2,
            ("insert-rate",),
        ),
        (
            "client-sweep",
            ["clients=1", "size=100000", "start=together", "fsync=none,file"],
            2,
            ("sweep-together-fsync-none", "sweep-together-fsync-file"),
        ),
    ],
)
def test_a_profile_is_a_study(
    name: str, given: list[str], points: int, series: tuple[str, ...], tmp_path: Path
) -> None:
    under_test = tmp_path / "under test"
    under_test.mkdir()
    result, directory = carried_out(name, Targets(paths=(under_test,)), given, tmp_path)
    assert len(result.points) == points
    assert {run.failed + run.refused for point in result.points for run in point.repeats} == {0}  # type: ignore[attr-defined]
    assert all(run.null_elapsed_s is not None for point in result.points for run in point.repeats)
    assert {f"{one}.csv" for one in series} <= {file.name for file in (directory / "series").iterdir()}
    if "fsync=none,file" in given:
        synced = {point.at.values()["fsync"]: "fsync" in point.repeats[0].latency for point in result.points}
        assert synced == {"none": False, "file": True}
    if "mixed=true" in given:
        (run,) = result.points[-1].repeats
        assert isinstance(run, SweepRun)
        half = {phase.deed: phase.bytes for phase in run.phases if phase.deed.startswith("mixed")}
        assert half == {"mixed write": 200_000, "mixed read": 100_000}, "two clients write while the third reads"
        alone = result.points[0].repeats[0]
        assert isinstance(alone, SweepRun)
        assert [phase.deed for phase in alone.phases] == ["write", "read", "mixed write", "remove"]


def test_our_own_clients_go_through_the_emulated_filer(tmp_path: Path) -> None:
    under_test, filer = tmp_path / "under test", tmp_path / "filer.toml"
    under_test.mkdir()
    filer.write_text('name = "slow"\n[metadata]\nservers = 1\nservice_us.create = 5000.0\n')
    given = ["files=20", "group=10", "clients=2", "directories=shared"]
    result, _ = carried_out("insert-drift", Targets(paths=(under_test,)), given, tmp_path, str(filer))
    (run,) = result.points[0].repeats
    assert isinstance(run, InsertRun)
    assert sum(group.seconds for group in run.groups) >= 0.1
    assert run.ceilings["files_per_s"] > 0
    assert result.labels[0].startswith("EMULATED FILER slow")
    (served,) = result.conditions["emulated_filer"]["runs"]
    assert served["stations"]["metadata"]["calls"] >= 20


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("insert-drift", ["files=30", "group=3", "clients=2", "directories=own"]),
        ("client-sweep", ["clients=2", "start=spread", "size=100000", "window=0.01"]),
    ],
)
def test_an_endpoint_has_a_pair(name: str, given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On an endpoint that answers at once and keeps nothing: here also the one under test, since none other is sure to be there."""
    for key, value in (("ACCESS_KEY_ID", "edbench"), ("SECRET_ACCESS_KEY", "secret"), ("REGION", "us-east-1")):
        monkeypatch.setenv(f"AWS_{key}", value)
    with null_endpoint() as url:
        result, _ = carried_out(name, Targets(s3=f"{url}/p"), given, tmp_path)
    (run,) = result.points[0].repeats
    assert run.null_elapsed_s is not None
    assert about(name).headlines[0].name in run.ceilings  # type: ignore[attr-defined]
    assert "stores nothing" in result.conditions["null_storage"]["place"]
    assert not any(label.startswith("NO BASELINE") for label in result.labels)


def test_an_emulated_filer_is_refused_where_it_delays_nothing(tmp_path: Path) -> None:
    on_path, on_s3 = Targets(paths=(tmp_path,)), Targets(s3="http://127.0.0.1:1/bucket/p")
    for name, targets, filer, shown in (
        ("stream", on_path, "nas-1g", "delays only the calls of edbench's own clients"),
        ("client-sweep", on_s3, "nas-1g", "not to S3"),
    ):
        with pytest.raises(UsageError, match=shown):
            refuse_filer(made(name, targets, [], small=True), filer)
    refuse_filer(made("insert-drift", on_path, [], small=True), "nas-1g")
    refuse_filer(made("stream", on_path, [], small=True), "none")


def _gateway() -> str | None:
    """versitygw, on the path or as `filers up s3` has built it."""
    built = Path(os.environ.get("FILERS_DIR", "/var/tmp/edbench-filers")) / "bin" / "versitygw"
    return str(built) if os.access(built, os.X_OK) else shutil.which("versitygw")


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Path]]:
    """A real S3 server over a directory: the URL of a bucket, and what lies in it."""
    program = _gateway()
    if program is None:
        pytest.skip("no S3 server: versitygw is not built here")
    data = tmp_path / "s3" / "bucket"
    data.mkdir(parents=True)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "edbench")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "edbench-secret")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [program, "--access", "edbench", "--secret", "edbench-secret", "--port", f"127.0.0.1:{port}", "--quiet",
               "posix", str(data.parent)]  # fmt: skip
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _listening(server, port)
        yield f"http://127.0.0.1:{port}/bucket", data
    finally:
        server.kill()
        server.wait()


def _listening(server: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if server.poll() is not None:
            pytest.skip("the S3 server did not start: its port is taken")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    pytest.skip("the S3 server did not come up within a minute")


def _files(data: Path) -> list[Path]:
    return [path for path in data.rglob("*") if path.is_file()]


def test_profiles_run_on_a_real_endpoint(bucket: tuple[str, Path], tmp_path: Path) -> None:
    url, data = bucket
    (data / "theirs").write_text("not ours")
    given = ["clients=2", "start=together", "size=9000000"]  # over a part of 8 MiB
    swept, _ = carried_out("client-sweep", Targets(s3=f"{url}/profiles"), given, tmp_path / "a")
    run = swept.points[0].repeats[0]
    assert isinstance(run, SweepRun)
    assert [(phase.done, phase.bytes) for phase in run.phases] == [(2, 18_000_000), (2, 18_000_000), (2, 0)]
    assert (run.refused, run.failed) == (0, 0)
    inserted, _ = carried_out(
        "insert-drift", Targets(s3=f"{url}/profiles"), ["files=30", "group=3", "clients=4"], tmp_path / "b"
    )
    for point in inserted.points:
        reported = point.repeats[0]
        assert isinstance(reported, InsertRun)
        assert (reported.files, reported.refused, reported.failed) == (30, 0, 0)
    assert [path.name for path in _files(data)] == ["theirs"]


def test_a_prefix_is_taken_as_a_directory_is(bucket: tuple[str, Path]) -> None:
    """One that holds anything else, or where somebody works, is refused; what a dead command left is removed first."""
    url, data = bucket
    with claimed_prefix(f"{url}/p") as own:
        with pytest.raises(UsageError, match="runs a storage test there"), claimed_prefix(f"{url}/p"):
            pass
        dead = Owner(**json.loads(next(path for path in _files(data) if path.name.endswith(".json")).read_text()))
        with crowd(Place(s3=own), 1) as people:
            assert people.do("write", range(2), 10).files == 2
    assert _files(data) == []
    left = data / "p" / dead.directory / "client-0000" / "x"
    left.parent.mkdir(parents=True)
    left.write_text("left by a command that was killed")
    (data / "p" / f"{dead.directory}.owner.json").write_text(
        json.dumps(asdict(dataclasses.replace(dead, boot_id="before")))
    )
    with claimed_prefix(f"{url}/p"):
        assert left not in _files(data)
    (data / "p").mkdir(exist_ok=True)
    (data / "p" / "theirs").write_text("not ours")
    with pytest.raises(UsageError, match="not empty"), claimed_prefix(f"{url}/p"):
        pass
    assert [path.name for path in _files(data)] == ["theirs"]
