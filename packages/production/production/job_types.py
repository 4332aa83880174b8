"""Registers extraction, processing and export as job types (core.job_types)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from core.extensions import imported
from core.job_types import JobType, JobTypes, Phase
from core.records import FINALISE_REST, FINALISE_TABLES, JobOptions
from core.texts import many
from production.options import ProductionChoice

if TYPE_CHECKING:
    from rich.console import Console

    from production.verify import ProductionVerification


class _Production(JobTypes):
    options = ProductionChoice
    phases: ClassVar[Mapping[JobType, tuple[Phase, ...]]] = {
        JobType.EXTRACTION: (Phase.EXTRACT, Phase.FINALISE),
        JobType.PROCESSING: (Phase.RENDER, Phase.STAMP, Phase.FINALISE),
        JobType.EXPORT: (Phase.EXTRACT, Phase.EXPORT, Phase.FINALISE),
    }
    finalise = (FINALISE_TABLES, FINALISE_REST)  # each report is written in order, by one task

    def bodies(self) -> Mapping[Phase, Callable[[Any], Any]]:
        """Return the functions of the phases: texts, pages, natives, and the reports at the end."""
        from production import finish, items

        return {
            Phase.EXTRACT: items.extract,
            Phase.RENDER: lambda work: imported("production.rendering:render")(work),  # Pillow: few jobs draw
            Phase.STAMP: lambda work: imported("production.rendering:stamp")(work),
            Phase.EXPORT: items.export,
            Phase.FINALISE: finish.run,
        }

    def leave(self, conn: Any, job: Any, options: Any, phase: Phase) -> str | None:
        """Number the pages once all are counted."""
        if phase is not Phase.RENDER:
            return None
        from production.rows import number_pages

        return number_pages(conn, job, options)

    def ended(self, conn: Any, job: Any, options: Any, state: Any) -> None:
        """Record what the job has written, with hashes."""
        from production.rows import note_ended

        note_ended(conn, job, options, state)

    def users(self, conn: Any, job: Any, *, findings: bool = False) -> Sequence[Any]:
        """Return jobs that take items or pages of this one."""
        from production.statements import PRODUCTION
        from sql.jobs import get_job

        users = PRODUCTION.production_of(conn, job=job.hex)
        if not findings:
            return users
        return [user for user in users if job.hex in get_job(conn, user).options.of(ProductionChoice).deduped]

    def kin(self, conn: Any, job: Any) -> Sequence[Any]:
        """Return jobs whose items this one takes, and jobs that take items of this one."""
        from production.statements import PRODUCTION

        return PRODUCTION.production_kin(conn, job=job)

    def unaware(self, conn: Any, job: Any, tag: str) -> Sequence[Any]:
        """Return unfinished jobs that chose items of this one by the tag."""
        from production.statements import PRODUCTION

        return [row.id for row in PRODUCTION.production_unfinished(conn, sources=[job.hex], tag=tag)]

    def create(self, kind: JobType, sources: Any, out: str, storage: Any, settings: Any, **plan: Any) -> Any:
        """Create a job with default options, except `tag` and `prefix`."""
        from production.create import ProductionPlan, create_production

        choice = ProductionChoice(type=kind, out=out, prefix=plan.pop("prefix", "EDB"), tag=plan.pop("tag", ""))
        options = JobOptions(of_type=choice, filer=plan.pop("filer"))
        return create_production(storage, settings, ProductionPlan(sources=sources, options=options, **plan))

    def remove_output(self, handle: Any, storage: Any) -> str:
        """Remove what the job wrote below its output directory."""
        from production.output_directory import remove_output, wrote

        return remove_output(storage, handle.job.options.of(ProductionChoice), handle.id, wrote(handle))

    def figures(self, conn: Any, handle: Any) -> Mapping[str, Any]:
        """Return what the job chose, omitted and wrote."""
        from production.choosing import production_figures

        return {"production": production_figures(conn, handle)}

    def sections(self, console: Any, handle: Any) -> None:
        """Print what the job chose and omitted, and why."""
        from controller.jobs.figures import production_lines

        with handle.database.transaction() as conn:
            made = self.figures(conn, handle)["production"]
        for name, line in production_lines(made):
            console.print(f"{name}: {line}", markup=False, soft_wrap=True)

    def verify(self, handle: Any, storage: Any, *, examples: int, progress: Callable[[str], None]) -> Any:
        """Compare files with rows and load files with each other."""
        from production.verify import verify_production

        return verify_production(handle, storage, examples=examples, progress=progress)

    def print_verified(self, console: Console, done: ProductionVerification) -> None:
        """Print what was compared and what differs."""
        if done.examples:
            from cli.output import table

            rows = [(each.what, each.path, each.expected, each.found) for each in done.examples]
            console.print(table(("difference", "file", "expected", "found"), rows))
        console.print(
            f"{done.type} job {done.job_id}: {many(done.items, 'item')}, {many(done.files, 'file')} in {done.out}: {done.missing:,} missing,"
            f" {done.extra:,} extra, {done.wrong:,} wrong",
            markup=False,
        )
        for line in _page_lines(done):
            console.print(line, markup=False)
        for line in done.load_file_examples:
            console.print(line, markup=False, soft_wrap=True)
        console.print(
            f"{' '.join(done.load_files) or 'load files'}: {many(done.load_file_faults, 'fault')}", markup=False
        )


def _page_lines(done: ProductionVerification) -> Iterator[str]:
    """Yield a line for the types whose pages must agree with the discovery, and one for each other type that
    differs."""
    if exact := [each for each in done.pages if each.exact]:
        items, pages = sum(each.items for each in exact), sum(each.pages for each in exact)
        yield (
            f"{many(items, 'PDF or TIFF item')} with {many(pages, 'page')}; of {done.pages_wrong:,} the number differs from what "
            "the discovery found"
        )
    for each in done.pages:
        if each.differing and not each.exact:
            yield (
                f"{each.media_type}: {many(each.pages, 'page')} made of {many(each.items, 'item')}; the discovery found "
                f"{each.found_pages:,} ({each.differing:,} items differ)"
            )


JOB_TYPES = _Production()
