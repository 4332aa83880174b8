"""What an experiment needs of the machine: the corpus's identity, processor time of workers."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from controller.jobs.source import PreparedSource, prepare_source
from core.errors import UsageError
from core.storage.layer import Storage
from experiments.conditions import configuration_hash, database_places
from experiments.workloads.discovery import corpus as content
from experiments.workloads.discovery.corpus import content_of, look_at
from monitoring.machine import host_seconds, place
from monitoring.processes import WorkerMeter


def _source(directory: Path) -> PreparedSource:
    return prepare_source(Storage(), directory)


def test_a_directory_is_known_by_its_listing(custodians: Path) -> None:
    first = look_at(_source(custodians))
    assert first.hash.startswith("listing:")
    assert (first.files, first.raw_bytes) == (2, 6)
    (custodians / "ann" / "a.txt").write_text("anna")
    assert look_at(_source(custodians)).hash != first.hash
    (custodians / "ann" / "a.txt").write_text("ann")
    assert look_at(_source(custodians)).hash == first.hash
    for name in ("ann", "bob"):
        (custodians / name / "a.txt").unlink()
    with pytest.raises(UsageError, match="contains no data"):
        look_at(_source(custodians))


def test_a_corpus_has_the_hash_of_its_generator(tmp_path: Path) -> None:
    data = tmp_path / "data" / "ann"
    data.mkdir(parents=True)
    (data / "a").write_text("x")
    (tmp_path / "manifest.parquet").touch()
    (tmp_path / "dataset.json").write_text(json.dumps({"hash": "abc", "seed": 7, "depths": {}}))
    corpus = look_at(_source(tmp_path))
    assert corpus.hash == "abc"
    assert corpus.root == tmp_path
    assert corpus.describe()["seed"] == 7
    (tmp_path / "dataset.json").write_text("{")
    with pytest.raises(UsageError, match=r"dataset\.json has a syntax error: .*line 1"):
        look_at(_source(tmp_path))


def test_the_time_of_workers_is_counted_after_their_end(tmp_path: Path) -> None:
    spin = "import time, sys\nwhile (s := time.process_time()) < 0.3: pass\nprint(s, flush=True)\nsys.stdin.read()"
    meter = WorkerMeter(os.getpid())
    before = meter.read()[0]
    children = [
        subprocess.Popen([sys.executable, "-c", spin, *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for more in (("-m", "worker"), ("-m", "worker.sandbox"), ("-m", "something"))
    ]
    try:
        reported = [float(child.stdout.readline()) for child in children if child.stdout is not None]
        used = meter.read()[0] - before
    finally:
        for child in children:
            child.communicate()
    assert sum(reported[:2]) - 0.05 < used < sum(reported[:2]) + 0.25
    assert meter.read()[0] - before == used


def test_the_time_of_threads_that_have_ended_is_counted() -> None:
    """Promise: an index writer's threads live shorter than the time between two looks, and count."""
    spin = (
        "import sys, threading, time\n"
        "def work():\n    while time.thread_time() < 0.3: pass\n"
        "thread = threading.Thread(target=work); thread.start(); thread.join(); print(flush=True); sys.stdin.read()"
    )
    meter = WorkerMeter(os.getpid())
    before = meter.read()[0]
    with subprocess.Popen(
        [sys.executable, "-c", spin, "-m", "worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        child.stdout.readline()
        used = meter.read()[0] - before
        child.communicate()
    assert used > 0.28


def test_the_host_is_never_busier_than_time_allows() -> None:
    """Busy seconds never fall, and grow no faster than all seconds (Linux may take back a little of its iowait)."""
    first = host_seconds()
    deadline = time.monotonic() + 300
    while (now := host_seconds())[1] < first[1] + 0.1:
        assert time.monotonic() < deadline
    assert 0 <= now[0] - first[0] <= now[1] - first[1] + 0.05


def test_places_report_their_mount_and_the_hash_ignores_order(tmp_path: Path) -> None:
    found = place(tmp_path)
    assert found["mount"]["type"]
    assert found["free_bytes"] <= found["total_bytes"]
    assert database_places({"db1": tmp_path}, tmp_path)[0]["on_storage_under_test"] is True
    assert database_places({"db1": Path("/proc")}, tmp_path)[0]["on_storage_under_test"] is False
    assert database_places({"db1": tmp_path}, tmp_path, emulated=True)[0]["on_storage_under_test"] is False
    assert configuration_hash({"a": 1, "b": 2}) == configuration_hash({"b": 2, "a": 1}) != configuration_hash({"a": 1})


def test_content_is_distinguished_from_content_of_the_same_size(custodians: Path) -> None:
    corpus = look_at(_source(custodians))
    before = content_of(corpus)
    assert (before.files, before.of_files, before.bytes, before.of_bytes) == (2, 2, 6, 6)
    assert content_of(corpus) == before
    (custodians / "ann" / "a.txt").write_bytes(bytes(3))
    assert look_at(_source(custodians)).hash == corpus.hash
    assert content_of(corpus).hash != before.hash


def test_a_sample_is_the_same_for_the_same_data_and_states_how_much(
    custodians: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        (custodians / "bob" / f"{number}.txt").write_bytes(b"%d" % number * 50)
    corpus = look_at(_source(custodians))
    part = content_of(corpus, most=1_000)
    assert 0 < part.files < part.of_files == 42
    assert part.bytes <= 1_000 < part.of_bytes
    assert content_of(corpus, most=1_000) == part
    monkeypatch.setattr(content, "WHOLE", 640)
    monkeypatch.setattr(content, "_BLOCK", 10)
    long = custodians / "ann" / "long"
    long.write_bytes(bytes(10_000))
    whole = content_of(corpus)
    for at in (0, 9_999):
        long.write_bytes(bytes(at) + b"x" + bytes(9_999 - at))
        assert content_of(corpus).hash != whole.hash
