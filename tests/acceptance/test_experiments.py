"""Experiments as the README shows them, on a corpus that takes seconds."""

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from installation import Bench, until
from result_packages import edit_json

from cli.main import USAGE, main
from dataset_gen.truth.manifest import BYTES, PARENT, read_manifest
from experiments.result.codec import read_result


def _measured(bench: Bench, *arguments: str) -> Path:
    """Run an experiment; the directory of its result."""
    done = bench.edbench("bench", *arguments)
    report = Path(done.stdout.splitlines()[-1])
    assert report.stat().st_size > 10_000
    return report.parent


def _needs(corpus: Path) -> list[int]:
    """What each loose file and all that is taken out of it need at most: whole blocks and a name each."""
    table = read_manifest(corpus)
    needs: dict[int, int] = {}
    loose: list[int] = []
    for row, (size, parent) in enumerate(zip(*(table[name].to_pylist() for name in (BYTES, PARENT)), strict=True)):
        loose.append(row if parent < 0 else loose[parent])
        needs[loose[row]] = needs.get(loose[row], 0) + -(-(size or 0) // 4096) * 4096 + 1024
    return list(needs.values())


def test_a_scale_up_leaves_a_result_that_can_be_compared(bench: Bench, small: Path) -> None:
    """Two points, disclosed and labelled; the storage root holds nothing but the result. Each is paired on null storage,
    which holds a part of the corpus at a time, never more than it may, and finds the same."""
    cap = max(2 * max(_needs(small)), sum(_needs(small)) * 3 // 5)
    at = _measured(
        bench, "scale-up", "--corpus", str(small), "--workers", "1,2", "--slots", "2", "--repeats", "1",
        "--null-memory", f"{cap}B",
    )  # fmt: skip
    result = read_result(at)
    assert [(p.at.databases, p.at.workers, p.at.slots) for p in result.points] == [(1, 1, 2), (1, 2, 2)]
    assert sorted(run.order for p in result.points for run in p.repeats) == [0, 1]
    dataset: dict[str, Any] = json.loads((small / "dataset.json").read_text())
    for point in result.points:
        (run,) = point.repeats
        assert run.result["items"] == dataset["items"]
        assert run.null_elapsed_s is not None
        assert run.null.portions > 1
        assert 0 < run.null.held_bytes <= cap < run.result["discovered_bytes"]
        assert run.null.discarded_bytes > 0
        assert (run.null.items, run.null.discovered_bytes) == (run.result["items"], run.result["discovered_bytes"])
        assert 0 < run.worker_cpu < 1.1  # what the workers told against what the database measured
        assert run.first_done_s is not None
        assert run.last_done_s is not None
        assert 0 < run.first_done_s <= run.last_done_s <= run.elapsed_s + 0.01
        series = run.series
        calls = {op: totals["count"] for op, totals in run.result["calls"].items()}
        assert {op: sum(by.get(op, 0) for _, by in series.calls_per_second) for op in calls} == calls
        assert {op: run.latency[op].calls for op in calls} == calls
        assert {op: sum(s[op].calls for s in series.latency_stages if op in s) for op in calls} == calls
        assert [use.phase for use in run.phases] == ["walk", "expand", "index", "finalise"]
        by_phase = [use.calls for use in run.phases]
        assert {op: sum(by[op].calls for by in by_phase if op in by) for op in calls} == calls
        assert all(
            use.tasks and use.task_s and use.busy_s <= use.elapsed_s * 2 * point.at.workers for use in run.phases
        )
        assert sum(use.cpu_s["databases"] for use in run.phases) > 0  # PostgreSQL works, and is told from the workers
        assert run.phases[1].heaviest[0][0] >= 1
        assert {span[0] for span in series.tasks} <= {f"w{n + 1}" for n in range(point.at.workers)}
        assert {span[2] for span in series.tasks} == {"walk", "expand", "index", "finalise"}
        assert sum(by["db1"]["rows"] for _, by in series.database_activity) > dataset["items"]
        assert series.queue_depth
        assert series.worker_cpu
    conditions = result.conditions
    assert conditions["corpus"]["hash"] == dataset["hash"]
    assert conditions["corpus"]["content"]["files"] == conditions["corpus"]["files"]
    assert conditions["databases"][0]["mount"]["type"]
    assert conditions["null_storage"]["cap_bytes"] == cap
    assert "NO BASELINE" not in result.labels
    assert len(conditions["clock_offset_s"]) == 2
    assert abs(conditions["clock_offset_s"][0]["start"]["db1"]) < 1
    assert result.verdict.startswith("CACHED: not a storage result")  # some megabytes, and gigabytes of memory
    assert {path.name for path in bench.storage.iterdir()} == {"results"}
    assert not (bench.scratch / "experiments").exists()

    assert (
        "every figure, label and verdict follows from the observations" in bench.ask("result", "check", str(at)).stdout
    )
    shown = bench.ask("result", "compare", str(at), str(at / "result.json")).stdout
    assert "fewer than 5 repeats, or a zero: no statement" in shown
    other = shutil.copytree(at, bench.home / "other")
    edit_json(other / "result.json", lambda data: data["conditions"]["configuration"].update(fsync="file"))
    edit_json(other / "result.json", lambda data: data["points"][0]["figures"]["elapsed_s"].update(median=0.5))
    forged = bench.ask("result", "check", str(other), check=1)
    assert "result.json: changed since the manifest was written" in forged.stdout
    assert 'result.json: conditions.configuration.fsync is "file"; observed is "none"' in forged.stdout
    assert "result.json: points[0].figures.elapsed_s.median is 0.5; observed is" in forged.stdout
    both = ("result", "compare", str(at), str(other))
    refused = bench.ask(*both, check=2).stderr
    assert "result.json: changed since the manifest was written" in refused
    assert "fsync file, the first has none" in refused
    assert bench.ask(*both, "--force").stdout.count("NOT COMPARABLE  result 2") == 2


def test_a_scale_out_counts_every_database(bench: Bench, small: Path) -> None:
    """With two databases two jobs run at once over the same data: twice the bytes over the longest, both in the series;
    --cold drops twice a run, the second time with both jobs held at the barrier, and says what stayed."""
    part = bench.home / "part of it"
    for custodian in sorted((small / "data").iterdir())[:2]:
        shutil.copytree(custodian, part / custodian.name)
    bench.spare_the_machine()
    at = _measured(
        bench, "scale-out", "--corpus", str(part), "--databases", "2", "--workers", "2", "--slots", "1",
        "--repeats", "1", "--cold",
    )  # fmt: skip
    (point,) = read_result(at).points
    (run,) = point.repeats
    jobs = run.result["jobs"]
    assert len(jobs) == 2
    assert run.result["raw_bytes"] == 2 * read_result(at).conditions["corpus"]["raw_bytes"]
    assert run.result["discovered_bytes"] == 2 * jobs[0]["discovered_bytes"] > run.result["raw_bytes"]
    assert (run.null.portions, run.null.items) == (1, run.result["items"])
    assert run.elapsed_s == run.result["elapsed_s"] >= max(job["elapsed_s"] for job in jobs) - 0.001  # rounded
    assert {name for _, by in run.series.database_activity for name in by} == {"db1", "db2"}
    cache = read_result(at).conditions["cache"]
    assert [(drop["when"], drop["drop_caches"]) for drop in cache["drops"]] == [("before", False), ("index", False)]
    assert "not dropped: caches of the filer itself" in cache["state"]
    at_barrier = cache["drops"][1]["seconds"]  # all of it while both jobs were held, and taken off
    starts, ends = zip(*(job["held_s"] for job in jobs), strict=True)
    assert min(ends) - max(starts) >= at_barrier
    assert not run.result["disturbances"]
    bench.ask("result", "check", str(at))


def test_an_interrupted_experiment_leaves_nothing(bench: Bench, corpus: Path) -> None:
    """Ctrl-C in the middle of a run: exit status 130, no result, no files on the storage, none in memory."""
    runs = bench.storage / "experiments"
    process = bench.start("bench", "scale-up", "--corpus", str(corpus), "--workers", "1", "--repeats", "1")
    until(lambda: list(runs.glob("*/000/jobs/*/items")), "the first run writes")
    assert list(Path("/dev/shm").glob(f"edbench-null-{process.pid}-*"))
    process.send_signal(signal.SIGINT)
    assert "there is no result" in bench.end(process, 130)
    assert not runs.exists()
    assert not (bench.scratch / "experiments").exists()
    assert not (bench.storage / "results").exists()
    assert not list(Path("/dev/shm").glob(f"edbench-null-{process.pid}-*"))


def test_a_corpus_with_other_bytes_is_refused(bench: Bench, small: Path) -> None:
    """One of its files holds zeroes: the published hash would stand on data that nobody published."""
    zeroed = shutil.copytree(small, bench.home / "zeroed")
    victim = next(path for path in sorted((zeroed / "data").rglob("*.*")) if path.is_file() and path.stat().st_size)
    victim.write_bytes(bytes(victim.stat().st_size))
    refused = bench.ask("bench", "scale-up", "--corpus", str(zeroed), "--workers", "1", check=2)
    assert f"{victim.name} of {zeroed} differs from its manifest" in " ".join(refused.stderr.split())


def test_what_cannot_be_measured_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c" / "custodian").mkdir(parents=True)
    (tmp_path / "c" / "custodian" / "a.txt").write_text("sesame")
    corpus = ("--corpus", "c")
    cases: tuple[tuple[tuple[str, ...], str], ...] = (
        (("scale-up", *corpus, "--workers", "1,x"), "--workers is '1,x'"),
        (("knee", *corpus, "--max-p99", "reed=1ms"), "unknown op 'reed'"),
        (("scale-out", *corpus, "--shard", "--source-copies"), "exclude each other"),
        (("scale-up", *corpus, "--filer-cache", "lots"), "--filer-cache is 'lots'"),
        (("scale-up", *corpus, "--null-memory", "some"), "--null-memory is 'some'"),
        (("scale-up", "--corpus", "none"), "does not exist"),
        (("job-types", *corpus, "--listen", "127.0.0.1"), "--listen starts a separate system"),
    )
    given = {"EDBENCH_DATABASES": "db1=postgresql+psycopg2://u:p@h/d", "EDBENCH_BROKER": "redis://u:p@h"}
    for arguments, shown in cases:
        assert main(["bench", *arguments], given) == USAGE
        assert shown in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["c"]
