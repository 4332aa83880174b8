"""`edbench doctor`: check this host, its storage root and the services, and print what to fix."""

from __future__ import annotations

import typer

from cli import options as opt
from cli.context import shared
from cli.output import await_answer, flush
from cli.tree import Commands
from controller.doctor import Finding, Level, run_checks
from core.errors import RunFailed

commands = Commands()

_STYLES = {Level.OK: "green", Level.WARN: "yellow", Level.BAD: "bold red"}


@commands.add("doctor", "edbench doctor")
def doctor(ctx: typer.Context, storage: opt.StorageRoot = None) -> None:
    """Each line is one check; an arrow below it shows what to fix. The exit status is 1 when a check is bad."""
    context = shared(ctx)
    settings = context.settings(storage=storage)
    await_answer(settings.storage)
    console = context.out
    findings: list[Finding] = []
    for finding in run_checks(settings, context.clock, context.env):
        findings.append(finding)
        if context.output == "table":
            console.print(f"{finding.level:<5}", style=_STYLES[finding.level], end="")
            console.print(finding.what)
            if finding.fix:
                console.print(f"      -> {finding.fix}")
            flush()
    context.document(findings)
    wrong = sum(f.level is Level.BAD for f in findings)
    if wrong:
        raise RunFailed(f"{wrong} of {len(findings)} checks failed: fix their causes, then run `edbench doctor` again")
