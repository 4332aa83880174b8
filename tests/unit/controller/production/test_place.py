"""What is removed with a job is what the job wrote."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from controller.production.place import claim, remove_output
from core.operations import NullRecorder
from core.options.production import JobType, ProductionChoice
from core.storage.layer import Storage

_THEIRS = (
    "loadfile.notes.txt",
    "loadfile.dat.bak",
    "hashes.csv.sig",
    "metadata.old",
    "loadfile.dat.mine.tmp",
    "VOLUME",
)


@pytest.mark.parametrize(
    ("kind", "ours", "theirs"),
    [
        (JobType.EXPORT, ("loadfile.dat", "loadfile.xml", "loadfile.csv", "loadfile.opt"), ("metadata.csv",)),
        (JobType.EXTRACTION, ("metadata.csv", "metadata.jsonl"), ("loadfile.dat",)),
        (JobType.PROCESSING, ("metadata.csv", "loadfile.opt"), ("loadfile.xml",)),
    ],
)
def test_what_others_put_beside_a_production_stays(
    tmp_path: Path, kind: JobType, ours: tuple[str, ...], theirs: tuple[str, ...]
) -> None:
    """Whatever it is called like: a report of another type of job, a signature beside ours. Drafts of ours go."""
    out, job, storage = tmp_path / "out", uuid.uuid4(), Storage(NullRecorder())
    claim(storage, out, job, tmp_path / "storage")
    (out / "VOL001" / "NATIVES" / "0001").mkdir(parents=True)
    for name in ("VOL001/NATIVES/0001/A1.eml", "hashes.csv", *ours, f"{ours[0]}.0123456789ab.tmp", *_THEIRS, *theirs):
        (out / name).write_text("x")
    remove_output(storage, ProductionChoice(type=kind, out=str(out)), job)
    storage.let_go()
    assert {path.name for path in out.rglob("*")} == {*_THEIRS, *theirs}
