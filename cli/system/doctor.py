"""`edbench doctor`: checks the machine and the storage root and says what to mend."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from cli.answering import await_answer
from cli.context import shared, with_options
from cli.output import flush, print_json
from controller.doctor import Finding, Level, run_checks
from core.errors import RunFailed

_STYLES = {Level.OK: "green", Level.WARN: "yellow", Level.BAD: "bold red"}


def doctor(
    ctx: typer.Context,
    storage: Annotated[Path | None, typer.Option(help="Storage root to check instead of EDBENCH_STORAGE.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")] = False,
) -> None:
    """Check this machine, scratch, the storage root and the services; exit status 1 when something is bad."""
    context = shared(ctx)
    settings = with_options(context.settings(), storage=storage, slots=None, engine=None)
    await_answer(settings.storage)
    console = context.out
    findings: list[Finding] = []
    for finding in run_checks(settings, context.clock):
        findings.append(finding)
        if not json:
            console.print(f"{finding.level:<5}", style=_STYLES[finding.level], end="")
            console.print(finding.what, markup=False)
            if finding.fix:
                console.print(f"      -> {finding.fix}", markup=False)
            flush()
    if json:
        print_json([dataclasses.asdict(finding) for finding in findings])
    wrong = sum(f.level is Level.BAD for f in findings)
    if wrong:
        raise RunFailed(f"{wrong} of {len(findings)} checks are bad; mend what the arrows say and run it again")
