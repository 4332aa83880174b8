"""The reference corpus at scale 0.01, measured from its manifest and from a discovery job (`make test-corpus`; long).

Not named `test_…`, so that the ordinary run leaves it out: it writes a gigabyte and takes minutes."""

import json
import os
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dataset_gen.corpus import generate_corpus
from dataset_gen.planning.tally import pages_of
from dataset_gen.profile import load_profile
from dataset_gen.truth import manifest as m
from dataset_gen.truth.check import PUBLISHED

ROOT = Path(__file__).parents[2]
SCALE, SEED = 0.01, 1
WITHIN = 0.03
PROFILE = load_profile("reference")
RAW = PROFILE.raw_bytes * SCALE


@dataclass(frozen=True)
class Totals:
    """What a corpus comes to."""

    raw: int
    discovered: int
    items: int
    pages: int
    types: Counter[str]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made by one process."""
    directory = tmp_path_factory.mktemp("reference") / "corpus"
    generate_corpus(directory, "reference", SCALE, SEED, 1, lambda done, total: None)
    return directory


@pytest.fixture(scope="module")
def job(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A discovery job over it; the settings that its commands need."""
    root = tmp_path_factory.mktemp("job")
    where = {"EDBENCH_STORAGE": root / "storage", "EDBENCH_SCRATCH": root / "scratch"}
    _edbench(where, "discover", str(corpus), "--workers", "1")
    return where


def _edbench(where: dict[str, Path], *arguments: str) -> str:
    environment = {**os.environ, **{name: str(path) for name, path in where.items()}}
    command = [str(ROOT / ".venv" / "bin" / "edbench"), *arguments]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def _of_manifest(corpus: Path) -> Totals:
    rows = list(m.iterate(m.read_manifest(corpus)))
    return Totals(
        raw=sum(r[m.BYTES] for r in rows if r[m.DEPTH] == 0),
        discovered=sum(r[m.BYTES] for r in rows),
        items=len(rows),
        pages=sum(map(pages_of, rows)),
        types=Counter(r[m.MEDIA_TYPE] for r in rows),
    )


def _of_job(job: dict[str, Path]) -> Totals:
    shown: dict[str, Any] = json.loads(_edbench(job, "job", "show", "last", "-o", "json"))
    items = [json.loads(line) for line in _edbench(job, "review", "items", "last", "-o", "jsonl").splitlines()]
    return Totals(
        raw=shown["raw_bytes"],
        discovered=shown["discovered_bytes"],
        items=len(items),
        pages=sum(item["pages"] or 0 for item in items),
        types=Counter(item["media_type"] for item in items),
    )


def _hold(found: Totals) -> None:
    """The totals within 3 %, each stated type within 3 % or one item."""
    assert found.raw == pytest.approx(RAW, rel=WITHIN)
    assert found.items / found.raw * 1e9 == pytest.approx(PROFILE.targets.items_per_gb, rel=WITHIN)
    assert found.pages / found.items == pytest.approx(PROFILE.targets.pages_per_item, rel=WITHIN)
    assert found.discovered / found.raw == pytest.approx(PROFILE.targets.expansion, rel=WITHIN)
    wrong = {
        name: (found.types[name], share * found.items)
        for name, share in PROFILE.types.items()
        if abs(found.types[name] - share * found.items) > max(1.0, WITHIN * share * found.items)
    }
    assert not wrong


def test_totals_and_shares_of_the_manifest(corpus: Path) -> None:
    _hold(_of_manifest(corpus))


def test_totals_and_shares_of_a_discovery_job(job: dict[str, Path]) -> None:
    _hold(_of_job(job))


def test_a_discovery_job_finds_all_of_it(job: dict[str, Path]) -> None:
    _edbench(job, "verify", "last")


def test_custodians(corpus: Path) -> None:
    """The spread between custodians is that of the profile, but for a large file or two: 5 % at this scale."""
    shown = json.loads((corpus / "dataset.json").read_text())["custodians"]
    weight = sum(c.weight for c in PROFILE.custodians)
    wanted = sorted(RAW * c.weight / weight for c in PROFILE.custodians)
    assert sorted(shown.values()) == pytest.approx(wanted, rel=0.05)


def test_four_processes_and_the_published_hash(corpus: Path, tmp_path: Path) -> None:
    other = generate_corpus(tmp_path / "c", "reference", SCALE, SEED, 4, lambda done, total: None)
    alone = json.loads((corpus / "dataset.json").read_text())
    assert other == alone
    assert m.read_manifest(tmp_path / "c").equals(m.read_manifest(corpus))
    assert alone["hash"] == PUBLISHED["reference", PROFILE.version, SCALE, SEED]
    assert alone["hash"] in (ROOT / "docs" / "corpus.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("seed", [2, 3])
def test_totals_do_not_depend_on_the_seed(seed: int, tmp_path: Path) -> None:
    generate_corpus(tmp_path / "c", "reference", SCALE, seed, 2, lambda done, total: None)
    _hold(_of_manifest(tmp_path / "c"))
