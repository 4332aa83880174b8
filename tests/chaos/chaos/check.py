"""What has to hold after a run, whatever was done to it."""

from dataclasses import dataclass
from pathlib import Path

from pyarrow import Table

from chaos.clock import QUERIES
from chaos.follow import patiently, state_of
from chaos.source import Source, inside
from controller.browse.counts import count_job
from controller.databases import JobHandle, Jobs
from controller.jobs.groups import refresh
from controller.jobs.jobs import job_directory
from controller.jobs.source import MANIFEST
from controller.verify.group import verify_group
from controller.verify.job import Part, Verification, verify_job
from core.errors import SourceFileError, UsageError
from core.records import Phase
from core.settings import Settings
from core.storage.layer import Storage
from dataset_gen.truth.manifest import read_manifest

_EXAMPLES = 5
_ALL_EXAMPLES = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What every run of a kind has to come to, whatever happened on the way."""

    items: int
    texts: int
    exceptions: int
    raw_bytes: int
    extracted_bytes: int
    fingerprint: str  # of everything that is known of its items
    read: tuple[tuple[str, int], ...]  # items of each phase, as its tasks counted them


def totals_of(jobs: Jobs) -> list[Totals]:
    """Of each job. Raises DatabaseFault."""
    out = []
    for handle in jobs.each:
        counts = count_job(handle)
        done = counts.progress
        with handle.database.transaction() as conn:
            fingerprint = str(QUERIES["fingerprint"].run(conn, job=handle.id).scalar_one())
        out.append(
            Totals(
                items=counts.items,
                texts=sum(row.items for row in counts.texts),
                exceptions=sum(row.exceptions for row in counts.exceptions),
                raw_bytes=done.raw_bytes,
                extracted_bytes=done.extracted_bytes,
                fingerprint=fingerprint,
                read=tuple((p.value, part.items) for p, part in done.phases.items() if p is not Phase.FINALISE),
            )
        )
    return out


def check_job(
    jobs: Jobs,
    settings: Settings,
    source: Source,
    usual: list[Totals] | None,
    deadline: float,
    *,
    truth: bool,
) -> list[str]:
    """What is wrong with a finished job; empty: nothing. `usual`: what an undisturbed run comes to; `truth`: the
    manifest holds for it."""
    faults = patiently(lambda: _verified(jobs, settings, source, truth), deadline)
    for handle in jobs.each:
        faults += patiently(lambda h=handle: _orphans(h), deadline)  # type: ignore[misc]
        violations = patiently(lambda h=handle: count_job(h).violations, deadline)  # type: ignore[misc]
        faults += [f"counts do not add up: {violation.line()}" for violation in violations]
    totals = patiently(lambda: totals_of(jobs), deadline)
    if source.added:
        faults += patiently(lambda: _not_excepted(jobs, source), deadline)
    if usual is not None and totals != usual and not source.spoiled:
        faults.append(f"counted {totals} instead of {usual}")
    return faults


def _verified(jobs: Jobs, settings: Settings, source: Source, truth: bool) -> list[str]:
    storage, manifest = Storage(), source.corpus / MANIFEST
    examples = _ALL_EXAMPLES if source.spoiled else _EXAMPLES
    jobs = refresh(jobs)
    if jobs.group is not None:
        group = verify_group(jobs, settings, storage, manifest, examples=examples, progress=_quiet)
        whole = [f"{count.items} {count.what} of {count.kind}" for count in group.counts]
        return whole + [line for one in group.jobs for line in _differences(one, source)]
    part = Part(_table(manifest)) if truth else None
    one = verify_job(jobs.each[0], settings, storage, None, examples=examples, progress=_quiet, part=part)
    return _differences(one, source)


def _quiet(_line: str) -> None:
    return None


_TABLES: dict[Path, Table] = {}


def _table(manifest: Path) -> Table:
    """Read once: a campaign verifies against the same one hundreds of times."""
    if manifest not in _TABLES:
        _TABLES[manifest] = read_manifest(manifest)
    return _TABLES[manifest]


def _differences(verification: Verification, source: Source) -> list[str]:
    """Those that the run's faults do not explain. A file that was spoiled may differ in anything."""
    examples = [e for e in verification.examples if not inside(e.container_path, source.spoiled)]
    if not examples and (source.spoiled or not verification.differences):
        return []
    by_kind = ", ".join(f"{count.items} {count.what} ({count.kind})" for count in verification.counts)
    first = [f"{e.what}: {'/'.join(e.container_path)}: {e.expected} / {e.found}" for e in examples[:_EXAMPLES]]
    return [f"verify: {verification.differences} differences: {by_kind}", *first]


def _not_excepted(jobs: Jobs, source: Source) -> list[str]:
    """Poison has to have a row and an exception, each one."""
    excepted: set[str] = set()
    for handle in jobs.each:
        with handle.database.transaction() as conn:
            excepted |= set(QUERIES["excepted"].run(conn, job=handle.id).scalars())
    return [f"{name} is not an exception" for name in source.added if name not in excepted]


def _orphans(handle: JobHandle) -> list[str]:
    with handle.database.transaction() as conn:
        row = QUERIES["orphans"].run(conn, job=handle.id).one()._asdict()
    return [f"{count} {what} that belong to nothing" for what, count in row.items() if count]


def check_gone(jobs: Jobs, settings: Settings, deadline: float) -> list[str]:
    """What a deleted job has left in its databases and on the filer."""
    faults = []
    storage = Storage()
    for handle in jobs.each:
        if _has_row(handle, deadline):
            faults.append(f"job {handle.id} still has its row in {handle.database.name}")
        try:
            left = storage.scan(job_directory(settings.storage, handle.id))
            faults.append(f"job {handle.id} still has {len(left)} entries on the storage root")
        except SourceFileError:
            continue
    return faults


def _has_row(handle: JobHandle, deadline: float) -> bool:
    try:
        patiently(lambda: state_of(handle), deadline)
    except UsageError:
        return False
    return True
