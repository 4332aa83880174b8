"""What `edbench extract`, `process` and `export` do; imported while the services start."""

from __future__ import annotations

from pathlib import Path

from cli.context import CommandContext
from cli.installation import Installation
from cli.jobs.running import follow
from controller.databases import JobHandle
from controller.filer.emulated import refuse_no_common_arbiter
from controller.jobs.groups.find import those_there
from controller.jobs.run import crew_of
from controller.production.create import ProductionPlan, create_production
from controller.production.imaged import options_with_images
from core.operations import NullRecorder
from core.records import JobOptions
from core.storage.layer import Storage
from review.producing import with_findings


def produce(
    context: CommandContext,
    installed: Installation,
    references: list[str],
    name: str,
    options: JobOptions,
    workers: int,
    json_file: Path | None,
    images: str | None = None,
) -> None:
    """Create the job and follow it. Raises UsageError, faults."""
    sources: list[JobHandle] = [handle for one in references for handle in installed.find_discovered(one).each]
    pages = those_there(installed.find(images))[0] if images is not None else None
    if pages is not None:
        options = options_with_images(pages, options, sources)
    options = with_findings(options, sources, installed.databases, None if pages is None else pages.job)
    choice = options.production
    database = sources[0].database
    refuse_no_common_arbiter([database], installed.settings, ours=installed.embedded)
    crew = (workers, installed.settings.slots) if installed.embedded else crew_of(database)
    plan = ProductionPlan(
        sources=sources,
        options=options,
        name=name or f"{choice.type} of {sources[0].job.name}",
        workers=crew[0],
        slots=crew[1],
        images=pages,
        databases=installed.databases,
    )
    created = create_production(Storage(NullRecorder()), installed.settings, plan)
    made = created.each[0].job.options.production
    if made.withhold:
        context.say(f"{made.withheld:,} items are withheld: tag {', '.join(made.withhold)}, with families")
    if made.system_files:
        context.say(f"{made.system_files:,} items are left out as system files")
    if made.copies:
        context.say(f"{made.copies:,} items are left out as copies of others")
    if made.containers:
        context.say(f"{made.containers:,} containers are chosen: what they hold is taken where it is chosen itself")
    if made.left_out:
        context.say(
            f"{made.left_out:,} copies have no pages, and are not in it, whose original is withheld since: process them by themselves, or all anew"
        )
    if made.equal:
        context.say(
            f"{made.equal:,} items that are taken equal one with a tag of --withhold: tag them too, or take --originals, which withholds what is equal"
        )
    follow(context, installed, created, workers=crew[0], slots=crew[1], json_file=json_file)
