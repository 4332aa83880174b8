"""What is told of duplicates in a production: by one finding, from its beginning to its end."""

import hashlib
import os
import uuid
from pathlib import Path

import pytest
from shelf import Shelf, digest

from controller.custody import actions_of
from controller.databases import JobHandle, Jobs
from controller.findings import check_findings
from core.errors import UsageError
from core.job_types import JobType
from core.records import JobOptions
from core.settings import Settings
from core.storage.layer import Storage
from review.dedupe.run import dedupe
from review.denist.run import denist
from review.kinds import By, Scope
from sql import states
from sql.session import Database

pytest.importorskip("production")

from production.choosing import with_findings
from production.create import ProductionPlan, create_production
from production.options import ProductionChoice
from production.statements import PRODUCTION


@pytest.fixture
def found(database: Database, tmp_path: Path) -> tuple[Shelf, Jobs]:
    """A message with an attachment that Anna and Boris have in their stores, and what Clara alone has."""
    shelf = Shelf(database)
    for custodian in ("boris", "anna"):
        mail = shelf.message(shelf.loose(custodian, "a.mbox", "store", container=True), 0, "mail", "says")
        shelf.child(mail, 0, "x.txt", "x")
    shelf.loose("clara", "alone.txt", "alone")
    return shelf, shelf.stored(storage=os.fsencode(tmp_path / "storage"))


def _options(source: Jobs, out: Path, images: JobHandle | None = None, **more: bool) -> JobOptions:
    choice = ProductionChoice(type=JobType.EXTRACTION, out=str(out), prefix="A", **more)  # type: ignore[arg-type]
    handles = list(source.each)
    return with_findings(
        JobOptions(of_type=choice), handles, [handles[0].database], None if images is None else images.job
    )


def _created(source: Jobs, options: JobOptions) -> JobHandle:
    home = Path(options.of_type.out).parent
    settings = Settings(storage=home / "storage", scratch=home / "scratch")
    plan = ProductionPlan(sources=list(source.each), options=options, name="x", workers=1, slots=1)
    return create_production(Storage(), settings, plan).each[0]


def _custodians(made: JobHandle) -> list[tuple[str, str, list[str] | None]]:
    deduped = [uuid.UUID(source) for source in made.job.options.of_type.deduped]
    with made.database.transaction() as conn:
        rows = PRODUCTION.production_records(conn, job=made.id, images=None, deduped=deduped, first=1, last=100)
    return [(row.custodian, row.container_path[-1], row.custodians) for row in rows]


def _cancel(made: JobHandle) -> None:
    with made.database.transaction(durable=True) as conn:
        assert states.request_cancel(conn, made.id).over


def test_every_member_of_a_family_names_who_has_it(found: tuple[Shelf, Jobs], tmp_path: Path) -> None:
    _, source = found
    everyone = ["anna", "boris"]
    alone = [("clara", "clara/alone.txt", None)]
    members = [("anna", "mail"), ("anna", "x.txt"), ("boris", "mail"), ("boris", "x.txt")]
    made = _created(source, _options(source, tmp_path / "unknown"))
    assert _custodians(made) == [(*member, None) for member in members] + alone
    for number, by in enumerate((By.FAMILY, By.ITEM)):
        dedupe([source], Scope.JOB, by)
        made = _created(source, _options(source, tmp_path / f"all {number}"))
        assert _custodians(made) == [(*member, everyone) for member in members] + alone, by
        _cancel(made)
    dedupe([source], Scope.JOB, By.FAMILY)
    made = _created(source, _options(source, tmp_path / "originals", originals=True))
    assert _custodians(made) == [(*member, everyone) for member in members[:2]] + alone
    _cancel(made)
    dedupe([source], Scope.CUSTODIAN, By.FAMILY)
    made = _created(source, _options(source, tmp_path / "each", originals=True))
    assert _custodians(made) == [(*member, None) for member in members] + alone


def test_a_production_goes_by_one_finding(found: tuple[Shelf, Jobs], tmp_path: Path) -> None:
    """Its sources are not looked through anew while it is not over, nor between its choice and its creation; an export of pages
    goes by the finding by which originals were drawn. What it goes by is written down."""
    shelf, source = found
    dedupe([source], Scope.JOB, By.FAMILY)
    old = _options(source, tmp_path / "old", originals=True)
    made = _created(source, _options(source, tmp_path / "first", originals=True))
    with pytest.raises(UsageError, match=f"job {made.id} uses the duplicates"):
        dedupe([source], Scope.CUSTODIAN, By.FAMILY)
    assert _options(source, tmp_path / "x", made, originals=True).of_type.findings == old.of_type.findings
    _cancel(made)
    dedupe([source], Scope.CUSTODIAN, By.FAMILY)
    with pytest.raises(UsageError, match="got new duplicate findings meanwhile"):
        _created(source, old)
    assert not (tmp_path / "old" / ".edbench-production.json").exists()
    with pytest.raises(UsageError, match="run the processing job again"):
        _options(source, tmp_path / "x", made, originals=True)
    dedupe([source], Scope.JOB, By.FAMILY)  # as it was then, so that it is the finding that there was
    assert _options(source, tmp_path / "x", made, originals=True).of_type.findings == old.of_type.findings
    dedupe([source], Scope.CUSTODIAN, By.FAMILY)
    token = shelf.rows("SELECT token FROM review WHERE job = %(job)s")[0][0].hex
    assert _options(source, tmp_path / "x", made).of_type.findings == (token,)
    created, cancelled = actions_of([made])
    assert (created.details["findings"], created.details["originals"]) == ([*old.of_type.findings], True)
    assert cancelled.action == "cancelled"
    assert (cancelled.details["files"], cancelled.details["hashes"]) == (0, None)


def test_findings_of_several_sources(found: tuple[Shelf, Jobs], database: Database, tmp_path: Path) -> None:
    """Duplicates have to be found in all of them together, and the line that says so names all; system files are each job's
    own. What was found, by which list, stands in the chain of custody."""
    shelf, source = found
    other = Shelf(database)
    other.loose("clara", "copy.txt", "alone")
    jobs = [source, other.stored()]
    handles = [handle for job in jobs for handle in job.each]
    known = tmp_path / "known.txt"
    known.write_text(f"{digest('alone').hex()}\n")
    for job in jobs:
        dedupe([job], Scope.JOB, By.ITEM)
        denist([job], [known])
    ids = " ".join(str(handle.id) for handle in handles)
    with pytest.raises(UsageError, match=rf"findings in common.*run `edbench review dedupe {ids}` for.*--scope jobs"):
        check_findings(handles, [database], duplicates=True)
    check_findings(handles, [database], system=True)
    shelf.rows("DELETE FROM review WHERE job = %(job)s AND kind = 'dedupe' RETURNING 1")
    with pytest.raises(
        UsageError, match=rf"job {source.id} was not searched for duplicates yet; run `edbench review dedupe {ids}`"
    ):
        check_findings(handles, [database], duplicates=True)
    dedupe(jobs, Scope.JOBS, By.ITEM)
    check_findings(handles, [database], duplicates=True)
    done = [one.details for one in actions_of(jobs[1].each) if one.action in ("denist", "dedupe")]
    flagged, together = done[-2:]
    assert (flagged["found"]["system"], flagged["found"]["lists"][0]["sha256"]) == (
        1,
        hashlib.sha256(known.read_bytes()).hexdigest(),
    )
    assert (together["jobs"], together["found"]["copies"]) == ([str(handle.id) for handle in handles], 3)
