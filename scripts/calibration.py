"""Measure what the pipeline demands, by phase and type of item, and write the shipped calibration: `make calibration`.

Each job discovers a small generated corpus of one type of item with one worker of one slot, and one of all types also
in many tasks and with many slots. The database's work is measured in larger jobs: it is the same for every item, so
they differ only in items a second. The demands of each type, task and slot follow from the jobs' CPU accounts, calls
and database counters (`simulate.demands.solve`). An interrupted run continues with the jobs that are missing in DIR."""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

# ruff: noqa: E402 - imports from the directory above
import experiments.workloads.discovery.run_point as run_point
import experiments.workloads.discovery.sampler as sampler
import experiments.workloads.discovery.site as cold
from controller.databases import JobHandle
from core.records import JobOptions
from core.residency import drop_pages
from experiments.conditions import Drop
from experiments.workloads.discovery.sampler import Sampler
from experiments.workloads.discovery.site import Deployment
from experiments.workloads.discovery.workload import Discovery
from simulate.demands import CPU, DATABASE_CPU, ROWS, WAIT, job_of, write_shipped
from simulate.plan import contents_of

_ITEMS = 600  # loose files or messages of a job: phases of seconds on one core
_LEAST, _MOST = 2.5e6, 60e6  # bytes of a job
_CONTENTS = ("reference", 0.02, 1)  # profile, scale and seed of the corpus that shows what files of each format hold
_SAMPLE_SECONDS = 0.2  # CPU accounts are read this often: phases are short
_SETTLE_SECONDS = 11.0  # an idle connection of PostgreSQL reports the rows that it has counted after 10 s
# Rows of phase expand are known when connections have been idle; while a job is held for that, what its workers used is not known by
# phase. So a job is measured for its database or for its workers.
_DATABASE_QUANTITIES, _WORKER_QUANTITIES = (DATABASE_CPU, ROWS), (CPU, WAIT)
# Sizes of a job's files, relative to the median of the reference profile: to separate the effects of items and bytes.
_SIZES = {"small": 0.4, "large": 3.0}

# Jobs over the corpus of all types: loose files of a task, and slots.
_CREWS = {"crew-few": (500, 1), "crew-tasks": (16, 1), "crew-slots": (16, 8)}

# Jobs that are measured for their database: times the loose files or messages of the job of that name, and files of a task. Fast and
# slow items tell apart what comes with items and with time; few and many tasks, what comes with items and with transactions.
_DATABASE = (
    ("loose-text-small", 16, 500), ("loose-text-small", 16, 50), ("loose-text-small", 16, 12), ("mail-mbox-bare", 16, 500),
    ("loose-office-small", 6, 25), ("loose-pdf-large", 3, 500), ("loose-pdf-large", 3, 20),
)  # fmt: skip

# Formats of one type of item with their weights and medians in bytes.
_TYPES: dict[str, dict[str, tuple[float, float]]] = {
    "office": {"docx": (6, 8_500), "xlsx": (3, 5_500), "doc": (3, 14_000), "xls": (1.5, 11_000), "pptx": (0.4, 90_000), "rtf": (0.8, 20_000)},
    "pdf": {"pdf": (1, 60_000)},
    "image": {"jpg": (6, 60_000), "png": (4, 40_000), "gif": (2, 6_000), "tif": (0.35, 60_000)},
    "text": {"html": (3, 5_500), "txt": (2.5, 2_800), "csv": (1.2, 4_500), "log": (0.8, 9_000), "xml": (0.8, 12_000), "json": (0.6, 5_000)},
    "media": {"mp3": (1, 100_000), "m4a": (1, 100_000), "wav": (1, 100_000)},
}  # fmt: skip
_MAIL = {"store": "mbox", "pst": "pst", "files": "eml", "maildir": "maildir", "msg": "msg"}


def _profile(
    name: str, raw: float, style: str, mail: float, shares: dict[str, float], formats: list[str], attached: float
) -> str:
    lines = [
        f'name = "{name}"', "version = 1", 'about = "one type of item, for the calibration"', f"raw_bytes = {round(raw)}",
        "[[custodians]]", f'mail = "{style}"', "[shares]", *([f"mail = {mail}"] if mail else []),
        *(f"{fmt} = {share}" for fmt, share in shares.items()), "[mail]", f"attachment_share = {attached}", "attachment_counts = [60, 20, 8, 4]",
        "html_share = 0.45", "thread_lengths = [[1, 1, 80], [2, 6, 20]]", "[terms]", "token_share = 0.0", "phrase_share = 0.0", "[formats]", *formats,
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _format(name: str, weight: float, median: float, places: str = "loose") -> str:
    weights = ", ".join(f"{place} = {weight}" for place in places.split())
    return f"{name} = {{ {weights}, median = {median}, sigma = 0.8, largest = 6_000_000 }}"


def _mean(formats: dict[str, tuple[float, float]], factor: float) -> float:
    median = sum(share * size for share, size in formats.values()) / sum(share for share, _ in formats.values())
    return median * factor * math.exp((0.8 * math.log(2)) ** 2 / 2)


def _bounded(raw: float) -> float:
    return min(max(raw, _LEAST), _MOST)


def profiles() -> dict[str, str]:
    """Return the corpus profile of each job."""
    out = {}
    for kind, formats in _TYPES.items():
        for size, factor in _SIZES.items():
            listed = [_format(fmt, share, median * factor) for fmt, (share, median) in formats.items()]
            name = f"loose-{kind}-{size}"
            out[name] = _profile(name, _bounded(_ITEMS * _mean(formats, factor)), "files", 0, {}, listed, 0)
    every = {fmt: both for formats in _TYPES.values() for fmt, both in formats.items()}
    attached = [_format(fmt, share, median, "attached") for fmt, (share, median) in every.items()]
    for style, name in _MAIL.items():
        for size, share in (("bare", 0.0), ("attached", 0.6)):
            raw = _ITEMS * (4_000 + share * 1.4 * _mean(every, 1.3))
            out[f"mail-{name}-{size}"] = _profile(name, _bounded(raw), style, 1.0, {}, attached, share)
    for kind in ("office", "image", "text", "pdf"):
        members = [_format(fmt, share, median, "member") for fmt, (share, median) in _TYPES[kind].items()]
        sizes = ["zip = { loose = 0, median = 1_000_000, sigma = 1.0, largest = 30_000_000 }"]
        out[f"zip-{kind}"] = _profile(
            kind, _bounded(_ITEMS * _mean(_TYPES[kind], 1.0) * 0.8), "files", 0, {"zip": 1.0}, members + sizes, 0
        )
    members = [_format(fmt, share, median, "member") for fmt, (share, median) in every.items()]
    for fmt in ("tgz", "7z"):
        sizes = [f"{fmt} = {{ loose = 0, median = 1_000_000, sigma = 1.0, largest = 30_000_000 }}"]
        out[f"{fmt}-mixed"] = _profile(fmt, 40e6, "files", 0, {fmt: 1.0}, members + sizes, 0)
    every_loose = [_format(fmt, share, median) for fmt, (share, median) in every.items()]
    mixed = _profile("crew", 2 * _ITEMS * _mean(every, 1.0), "files", 0, {}, every_loose, 0)
    return out | dict.fromkeys(_CREWS, mixed)


def _measure(name: str, profile: str, work: Path, times: float | None = None, batch: int = 0) -> None:
    """Generate the corpus, run the job, and keep what `solve` needs: with `times` for its database, else for its
    workers."""
    files, slots = _CREWS.get(name, (batch or JobOptions().batch_files, 1))
    label = name if times is None else f"{name}-database-{batch}"
    kept, result = (work / f"{label}.{suffix}" for suffix in ("json", "result.json"))
    if kept.exists():
        return
    described, corpus = work / f"{name}.toml", work / "corpora" / (name if times is None else f"{name}-database")
    described.write_text(profile)
    if not (corpus / "manifest.parquet").exists():
        _generate(corpus, str(described), times or 1.0)
    command: list[str | Path] = [sys.executable, __file__, "--run", corpus, result, "--files", f"{files}"]
    subprocess.run([*command, "--slots", f"{slots}", *(["--settle"] if times else [])], check=True, cwd=ROOT)
    job = job_of(json.loads(result.read_text()), corpus / "manifest.parquet", label)
    dropped = _WORKER_QUANTITIES if times else _DATABASE_QUANTITIES
    for phase, took in job["phases"].items():
        job["phases"][phase] = {quantity: value for quantity, value in took.items() if quantity not in dropped}
    kept.write_text(json.dumps(job))


def _generate(corpus: Path, profile: str, scale: float) -> None:
    edbench = [sys.executable, "-m", "cli", "corpus", "generate"]
    options = ["--profile", profile, "--scale", str(scale), "--seed", "1"]
    subprocess.run(
        [*edbench, corpus, *options], check=True, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


class _Settling(Sampler):
    """A sampler that waits until rows are counted: before the job those of creating its tables, at the barrier into
    phase index those of phase expand."""

    def __init__(self, handles: Sequence[JobHandle], meter: Deployment, *, at_index: object) -> None:
        super().__init__(handles, meter, at_index=self._settle)

    def __enter__(self) -> Self:
        time.sleep(_SETTLE_SECONDS)
        return super().__enter__()

    def _settle(self) -> None:
        self._look()
        time.sleep(_SETTLE_SECONDS)
        self._look()


def _run(corpus: Path, result: Path, files: int, slots: int, settle: bool) -> None:
    """Run the experiment in this process: CPU accounts must be read more often than in a user's experiment."""
    from cli.main import main

    sampler.SAMPLE_SECONDS = _SAMPLE_SECONDS
    if settle:
        run_point.Sampler = _Settling  # type: ignore[attr-defined, assignment]
    # Only the barrier of --cold is used.
    cold.drop = lambda _, when: Drop.of(when, drop_pages([], everything=False))  # type: ignore[assignment]
    Discovery.on_null = lambda *_: {}  # type: ignore[method-assign]  # no null baseline: half the time
    sys.argv = ["edbench", "bench", "scale-up", "--corpus", str(corpus), "--workers", "1", "--slots", f"{slots}", "--batch-files", f"{files}", "--repeats", "1", "-o", "json", "--output-file", str(result), *(["--cold"] if settle else [])]  # fmt: skip
    sys.exit(main(sys.argv[1:], os.environ))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("calibration"), help="keep corpora and results here")
    parser.add_argument("--run", type=Path, nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--files", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--slots", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--settle", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        corpus, result = args.run
        _run(corpus, result, args.files, args.slots, args.settle)
        sys.exit()
    args.work.mkdir(parents=True, exist_ok=True)
    made, began = profiles(), time.monotonic()
    for name, times, batch in [*((name, None, 0) for name in made), *_DATABASE]:
        _measure(name, made[name], args.work.absolute(), times, batch)
        print(
            f"{name} {times or ''} {batch or ''}: {(time.monotonic() - began) / 60:.1f} min since the start", flush=True
        )
    print("contents", flush=True)
    corpus = args.work.absolute() / "corpora" / "contents"
    _generate(corpus, _CONTENTS[0], _CONTENTS[1])
    print(write_shipped(args.work, contents_of(corpus, *_CONTENTS).to_plain()))
