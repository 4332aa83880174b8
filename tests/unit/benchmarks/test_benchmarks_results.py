"""docs/dev/results: each published package is intact, checks, and stays small."""

from pathlib import Path

import pytest

from benchmarks import results
from experiments.package.check import check
from experiments.package.manifest import broken, seal
from experiments.result.codec import read_result


@pytest.mark.parametrize("name", [path.name for path in results.published()])
def test_what_is_published_is_what_was_sealed(name: str) -> None:
    assert broken(results.PUBLISHED / name) == []


def test_a_package_of_each_kind_checks() -> None:
    """Recompute figures from observations; after a change on purpose: make results RESULTS_ARGS=--recompute. All packages are
    checked by make results RESULTS_ARGS=--check, in minutes."""
    done = set()
    for there in results.published():
        with results.unpacked(there) as packages:
            for path in packages.values():
                result = read_result(path)
                if (result.workload, result.kind) not in done:
                    done.add((result.workload, result.kind))
                    assert not check(path).differences
    assert len(done) > 5


def test_what_is_published_stays_small() -> None:
    """A clone must not grow by what is measured."""
    assert sum(path.stat().st_size for path in results.PUBLISHED.rglob("*") if path.is_file()) < 10_000_000


def test_packed_and_unpacked_is_the_same(tmp_path: Path) -> None:
    state = tmp_path / "state"
    package = state / "packages/one"
    (package / "raw").mkdir(parents=True)
    (package / "raw/study.json").write_text("{}")
    seal(package)
    (state / results.FILE).write_text("{}")
    there = tmp_path / "packages/somewhere"
    results.publish(state, there)
    first = (there / "one.tar.xz").read_bytes()
    (package / "raw/study.json").touch()
    assert results.packed(package) == first
    with results.unpacked(there) as found:
        assert broken(found["one"]) == []
        assert (found["one"] / "raw/study.json").read_text() == "{}"
