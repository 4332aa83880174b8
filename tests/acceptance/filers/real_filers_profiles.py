"""`make test-filers`: every profile on each storage, and those of clients on an S3 server as well."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from debian_programs import program
from memory_traces import write_trace

pytest.importorskip("storage_tests")

from endpoint import CREDENTIALS, served
from profile_runs import carried_out
from real_mounts import Real
from replay_traces import reading_trace
from testbeds import Skipped

from experiments.package.check import check
from storage_tests.devices import Direct, direct_on
from storage_tests.profile import Targets, profiles

# Seconds of each; what they need beside is added where they are run.
_GIVEN = {
    "analysis-replay": ["clients=2"],
    "block-8k": ["cases=1,6", "path_size=2MiB", "seconds=1", "most_outstanding=2", "most_ms=1e6"],
    "client-sweep": ["clients=1,3", "size=100000", "window=0.01"],
    "dedup": ["data=zeros,random", "size=1MiB", "settle=0"],
    "insert-drift": ["files=60", "group=5", "clients=2"],
    "matrix": ["threads=2", "records=64KiB", "files=256KiB", "seconds=0"],
    "stream": ["streams=1,2", "file_size=1MiB"],
}
_OF_NO_STORAGE = {"self-check"}  # measures the null storage
_OF_CLIENTS = ("client-sweep", "insert-drift")


@pytest.fixture
def under_test(storage: Real) -> Iterator[Path]:
    """An empty directory there."""
    root = Path(tempfile.mkdtemp(prefix="edbench ", dir=storage.directory))
    (root / "under test").mkdir()
    yield root / "under test"
    shutil.rmtree(root)


def _needed(name: str, under_test: Path, tmp_path: Path) -> list[str]:
    """What a profile cannot be run there without."""
    if name == "analysis-replay":
        write_trace(reading_trace(streams=2, files=3), tmp_path / "calls.edbtrace")
        return [f"trace={tmp_path / 'calls.edbtrace'}"]
    if name == "block-8k" and direct_on(under_test) is Direct.REFUSED:
        return ["direct=false", "engine=posixaio"]
    return []


def test_there_is_a_setting_of_each_profile() -> None:
    assert set(_GIVEN) | _OF_NO_STORAGE == set(profiles())


@pytest.mark.parametrize("name", sorted(_GIVEN))
def test_a_profile_is_a_study_there(name: str, under_test: Path, tmp_path: Path) -> None:
    program("fio", "fio")
    given = [*_GIVEN[name], *_needed(name, under_test, tmp_path)]
    result, directory = carried_out(name, Targets(paths=(under_test,)), given, tmp_path)
    runs = [run for point in result.points for run in point.repeats]
    assert runs
    assert {getattr(run, "refused", 0) + getattr(run, "failed", 0) for run in runs} == {0}
    assert check(directory).differences == ()
    assert list(under_test.iterdir()) == []


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a real S3 server."""
    with contextlib.ExitStack() as stack:
        try:
            port = stack.enter_context(served(tmp_path_factory.mktemp("s3")))
        except Skipped as why:
            pytest.skip(f"S3: {why}")
        patched = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in CREDENTIALS.items():
            patched.setenv(name, value)
        yield f"http://127.0.0.1:{port}/bucket"


@pytest.mark.parametrize("name", _OF_CLIENTS)
def test_a_profile_of_clients_is_a_study_on_s3(name: str, bucket: str, tmp_path: Path) -> None:
    result, directory = carried_out(name, Targets(s3=f"{bucket}/profiles"), _GIVEN[name], tmp_path)
    runs = [run for point in result.points for run in point.repeats]
    assert {run.refused + run.failed for run in runs} == {0}  # type: ignore[attr-defined]
    assert check(directory).differences == ()
