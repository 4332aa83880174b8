"""`make test-filers`: what there is beside a discovery, on each storage: a corpus that is made there, a worker that dies,
jobs of the other types, an experiment, a replay."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from installation import Bench
from real_mounts import CASELESS, Real, delete_verified, installed

from experiments.result.codec import read_result

_SEED = "18"  # kills it when a task of unpacking is about to be finished
_SOON_DRAWN = "size:<6000 AND type:text"  # pages of all of it take minutes


@pytest.fixture
def there(storage: Real, bench: Bench, tiny: Path) -> Iterator[Bench]:
    """An installation on it."""
    with installed(bench, storage, tiny) as made:
        yield made


def _checked(bench: Bench, printed: str) -> Path:
    """The package of the report that a command named last: its figures are what was observed."""
    package = Path(printed.splitlines()[-1]).parent
    assert (
        "every figure, label and verdict follows from the observations"
        in bench.ask("result", "check", str(package)).stdout
    )
    return package


def test_a_killed_worker_costs_nothing(there: Bench) -> None:
    reported = there.home / "chaos.json"
    asked = ("--faults", "worker-killed", "--kind", "two-pass", "--seed", _SEED, "--runs", "1")
    there.chaos("--corpus", str(there.corpus), *asked, "--json", str(reported))
    (run,) = map(json.loads, reported.read_text().splitlines())
    assert run["struck"]
    assert not run["faults"]


def test_productions_are_whole(there: Bench) -> None:
    out, held = there.storage.parent / "out", there.holdable("export")
    with there.standing():
        there.edbench("discover", str(there.corpus))
        there.edbench("produce", "text", "last", "--out", str(out / "extract"))
        there.edbench(
            "produce", "images", "last", "--out", str(out / "process"), "--query", _SOON_DRAWN, "--prefix", "PAGE"
        )
        held.after(1)
        process = there.start("produce", "export", "last", "--out", str(out / "export"), "--folder-files", "40")
        held.until_reached(process).kill()
        held.let_go()
        there.end(process)
        assert ": 0 faults" in there.ask("produce", "check", str(out / "export")).stdout
        delete_verified(there, 3)
    assert [path for path in out.rglob("*") if path.is_file()] == []


def test_a_corpus_is_made_there(storage: Real, there: Bench, tiny: Path) -> None:
    """Of the same bytes as anywhere, which are read back; refused where its names would not be kept."""
    made, hashes = there.storage / "made", json.loads((tiny / "dataset.json").read_text())
    like_tiny = ("--profile", "reference", "--scale", "0.00005", "--seed", "7", "--processes", "2")
    asked = ("corpus", "generate", str(made), *like_tiny)
    there.storage.mkdir(exist_ok=True)
    if storage.name in CASELESS:
        assert "cannot hold a corpus, which has names of every kind" in there.edbench(*asked, check=2).stderr
        assert list(there.storage.iterdir()) == []
        return
    there.edbench(*asked)
    assert json.loads((made / "dataset.json").read_text())["hash"] == hashes["hash"]
    there.ask("corpus", "check", str(made))


def test_an_experiment_there_is_a_package(storage: Real, there: Bench) -> None:
    """Of a run that began cold, with its pair, that found all there is; nothing but the result is left on the storage."""
    there.spare_the_machine()
    asked = ("--corpus", str(there.corpus), "--workers", "1", "--slots", "2", "--repeats", "1", "--cold")
    result = read_result(_checked(there, there.edbench("bench", "scale-up", *asked).stdout))
    (run,) = result.points[0].repeats
    known = json.loads((there.corpus / "dataset.json").read_text())
    assert run.result["items"] == known["items"]  # type: ignore[attr-defined]  # of a discovery
    assert run.null_elapsed_s is not None
    assert result.conditions["storage"]["device"] == storage.directory.stat().st_dev
    assert {path.name for path in there.storage.iterdir()} == {"results"}


def test_a_recorded_job_is_played_there(there: Bench) -> None:
    target = there.storage.parent / "target"
    target.mkdir()
    with there.attached():
        there.end(there.discover("--workers", "1", "--slots", "2", "--trace"))
        trace = there.result()["trace"]
        asked = ("--path", str(target), "--clients", "1,2", "--pace", "max", *there.to_result)
        _checked(there, there.edbench("trace", "replay", "--repeats", "1", trace["path"], *asked).stdout)
    runs = [run for point in there.result()["points"] for run in point["repeats"]]
    assert [(run["calls"], run["differences"]) for run in runs] == [(trace["calls"], {})] * 2
    assert list(target.iterdir()) == []
