"""`edbench requeue`."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.bank import Passwords
from cli.context import shared, with_options
from cli.installation import installation
from cli.jobs.lifecycle import resume
from cli.options import JobArgument, JsonFile, PlannedSlots, PlannedWorkers, StorageRoot
from controller.jobs.requeue import requeue_exceptions
from core.errors import ExceptionCode
from core.passwords import read_bank


def requeue(
    ctx: typer.Context,
    job: JobArgument,
    code: Annotated[ExceptionCode | None, typer.Option(help="only exceptions of this code")] = None,
    passwords: Passwords = None,
    workers: PlannedWorkers = None,
    slots: PlannedSlots = None,
    json_file: JsonFile = None,
    storage: StorageRoot = None,
) -> None:
    """Process the exceptions of a completed job again, once their cause is mended, and wait for it.

    Every loose file that has an exception, or holds something that has one, is unpacked and indexed anew with
    everything inside it. The job's result says from then on that this was done. With --passwords, these are added to
    the job's: `edbench requeue last --code encrypted --passwords found.txt` opens what could not be opened before.
    """
    context = shared(ctx)
    bank = read_bank(passwords) if passwords else None
    with installation(with_options(context.settings(), storage=storage, slots=None, engine=None)) as installed:
        jobs = installed.find_discovered(job)
        root = installed.settings.storage
        files = requeue_exceptions(jobs, code.value if code else None, storage_root=root, passwords=bank)
    context.say(f"{files} loose files are processed again")
    resume(ctx, str(jobs.id), workers, slots, json_file, storage)
