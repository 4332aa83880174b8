"""An extraction, a processing or an export of a discovery that nothing happened to: written in peace, then with faults. The
bytes are the same."""

import dataclasses
import hashlib
import os
import time
import uuid
from pathlib import Path

from chaos.follow import patiently, state_of, to_rest
from chaos.scripts import Stage, create, delete_found, follow
from chaos.site import SLOTS, WORKERS
from controller.databases import JobHandle, Jobs
from controller.jobs.groups import refresh
from core.job_types import JobType
from core.records import JobState
from core.storage.layer import Storage
from production.create import ProductionPlan, create_production
from production.options import DPI, MARKER, ProductionChoice
from production.verify import verify_production

_FEW_FILES = 20  # in a folder
_COARSE = "72"  # dots an inch: what a page looks like is not what is looked for
_EXAMPLES = 5


def produce(stage: Stage) -> None:
    """From the creation of the second job to its end; the first two have time of their own."""
    found = create(stage)
    _in_peace(stage, found)
    (source,) = refresh(found).each
    calm, calm_out = _create(stage, source)
    _in_peace(stage, calm)
    in_peace, kept = _tree(calm_out), [calm, found]
    if stage.kind.produces is JobType.PROCESSING:  # spoiled evidence has other pages
        delete_found(stage, refresh(calm))
        kept = [found]
    started = time.monotonic()
    wild, wild_out = _create(stage, source)
    stage.begin()
    follow(stage, wild, started)
    stage.wrong += _faults(stage, wild)
    if not stage.source.spoiled:  # of evidence that was changed, what is left of it may differ
        stage.wrong += _differences(in_peace, _tree(wild_out))
    if not stage.wrong:
        for jobs in (wild, *kept):
            delete_found(stage, refresh(jobs))


def _in_peace(stage: Stage, jobs: Jobs) -> None:
    began = time.monotonic()
    to_rest(jobs, stage.deadline, mend=stage.mend)
    stage.deadline += time.monotonic() - began


def _create(stage: Stage, source: JobHandle) -> tuple[Jobs, Path]:
    settings, kind = stage.site.settings, stage.kind
    out = settings.storage / f"produced-{uuid.uuid4().hex}"
    choice = ProductionChoice(
        type=kind.produces,
        out=str(out),
        prefix="EDB",
        folder_files=_FEW_FILES,
        query=kind.taken,
        families=not kind.taken,
        extras=((DPI, _COARSE),) if kind.produces is JobType.PROCESSING else (),
    )
    plan = ProductionPlan(
        sources=[source],
        options=dataclasses.replace(kind.options, of_type=choice),
        name=stage.plan.title[:80],
        workers=WORKERS,
        slots=SLOTS,
    )
    return create_production(Storage(), settings, plan), out


def _faults(stage: Stage, jobs: Jobs) -> list[str]:
    """What is wrong with it as it ended: each of its files is what its row says, and there is none beside them."""
    (handle,) = jobs.each
    state, reason = patiently(lambda: state_of(handle), stage.deadline)
    if state not in (JobState.COMPLETED, JobState.COMPLETED_WITH_EXCEPTIONS):
        return [f"it is {state}: {reason}"]

    def verified() -> list[str]:
        (ended,) = refresh(jobs).each
        found = verify_production(ended, Storage(), examples=_EXAMPLES, progress=lambda _: None)
        differ = [f"{one.what} {one.path}: {one.expected} expected, {one.found} found" for one in found.examples]
        return differ + found.load_file_examples

    return patiently(verified, stage.deadline)


def _differences(one: dict[str, str], other: dict[str, str]) -> list[str]:
    return [
        f"{path} is not as in peace" for path in sorted(one.keys() | other.keys()) if one.get(path) != other.get(path)
    ]


def _tree(top: Path) -> dict[str, str]:
    """Every file but the marker, which names the job, with the hash of its bytes."""
    files = (Path(above, name) for above, _, names in os.walk(top) for name in names if name != MARKER)
    return {str(path.relative_to(top)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
