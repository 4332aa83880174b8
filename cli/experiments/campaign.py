"""What `edbench chaos` does: a campaign carried out and shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cli.context import CommandContext
from cli.output import flush, write_json
from cli.show.table import table
from controller.chaos import kinds
from controller.chaos.campaign import Campaign, Order
from controller.chaos.faults import chosen
from controller.chaos.faults.base import Fault
from controller.chaos.journal import Journal, runs_in
from controller.chaos.needs import lacking, needs_of
from controller.chaos.plan import goes_with
from controller.chaos.servers import Servers
from controller.chaos.table import markdown
from controller.versions import own_version
from core.errors import RunFailed, UsageError
from core.settings import Settings


def print_table(context: CommandContext, journals: Sequence[Path]) -> None:
    """The table of one or more campaigns, in Markdown."""
    told = markdown(run for journal in journals for _, run in sorted(runs_in(journal).items()))
    context.out.print(told, markup=False, soft_wrap=True)


def carry_out(
    context: CommandContext,
    settings: Settings,
    corpus: Path,
    *,
    faults: str,
    kind: str,
    runs: int,
    seed: int,
    only_run: int | None,
    seconds: float | None,
    stop: bool,
    killing: str | None,
    starting: str | None,
    json_file: Path | None,
) -> None:
    """Run it, or go on with it; raises UsageError for faults or jobs that cannot be, RunFailed where runs failed."""
    jobs = kinds.chosen(kind, context.say)
    servers = _servers(settings.storage, killing, starting)
    wanted = _wanted(context, faults, jobs, servers)
    order = Order(
        corpus=corpus,
        faults=wanted,
        kinds=jobs,
        faults_said=faults,
        kinds_said=kind,
        runs=runs,
        seed=seed,
        only=only_run,
        stop=stop,
        seconds=seconds,
        servers=servers,
    )
    journal = Journal(
        settings.scratch / "chaos",
        seed=seed,
        corpus=str(order.corpus),
        version=own_version(),
        faults=[*(fault.name for fault in wanted), *(one.name for one in order.kinds)],
    )
    summary = Campaign(settings, context.env, order, journal, context.say).run()
    if json_file is not None:
        write_json(json_file, summary)
    _show(context, summary)


def _servers(storage: Path, killing: str | None, starting: str | None) -> Servers | None:
    if killing is None and starting is None:
        return None
    if killing is None or starting is None:
        raise UsageError("--kill-servers and --start-servers go together")
    return Servers(mount=storage, killing=killing, starting=starting)


def _wanted(
    context: CommandContext, said: str, jobs: tuple[kinds.Kind, ...], servers: Servers | None
) -> tuple[Fault, ...]:
    """Faults that go with these jobs and can be had here; says which cannot. Raises UsageError where there are none."""
    fitting = [fault for fault in chosen(said) if any(goes_with(fault, one.course) for one in jobs)]
    lack = lacking(needs_of(fitting), servers)
    for fault in fitting:
        if fault.needs in lack:
            context.say(f"left out: {fault.name}: {lack[fault.needs]}")
    wanted = tuple(fault for fault in fitting if fault.needs not in lack)
    if not wanted:
        raise UsageError(f"--faults {said}: none of them can be had here")
    return wanted


def _show(context: CommandContext, summary: dict[str, Any]) -> None:
    _show_table(context, summary)
    missed = summary["missed"]
    context.out.print(
        f"seed {summary['seed']}: {summary['survived']} of {summary['runs']} runs survived"
        f" ({missed} were over before their fault's moment); {summary['seconds']:,.0f} s",
        markup=False,
    )
    for run in summary["failures"]:
        context.out.print(f"run {run['number']}: {'; '.join(run['faults'])[:300]}", markup=False)
        context.out.print(f"  again: {run['repeat']}", markup=False)
    flush()
    if summary["failures"]:
        raise RunFailed(f"{len(summary['failures'])} of {summary['runs']} runs failed")


def _show_table(context: CommandContext, summary: dict[str, Any]) -> None:
    rows = [
        (
            row["fault"],
            row["phase"],
            row["runs"],
            row["survived"],
            row["resumed"],
            f"{row['lost_median_s']:.1f}",
            f"{row['lost_worst_s']:.1f}",
        )
        for row in summary["table"]
    ]
    columns = ("fault", "phase", "runs", "survived", "with one resume", "s lost, median", "worst")
    context.out.print(table(columns, rows, right=(2, 3, 4, 5, 6), whole=(0,)))
