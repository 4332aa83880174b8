"""Run jobs of every kind with faults at seeded moments and check that nothing is lost: `python tests/chaos --help`.

Services and workers are the campaign's own, in scratch. Each run has to end by itself or with one `job resume`, verify with zero
differences and leave nothing behind. Finished runs are kept in a journal: the same command, with more --runs or after an
interruption, continues. The exit status is 1 when a run failed; what it left is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chaos import kinds
from chaos.campaign import Campaign, Order
from chaos.faults import chosen
from chaos.faults.base import Fault
from chaos.journal import Journal, runs_in
from chaos.needs import lacking, needs_of
from chaos.plan import goes_with
from chaos.servers import Servers
from chaos.table import markdown

from cli.context import CommandContext
from cli.main import FAILED, OK, USAGE
from cli.output import flush, table
from controller.jobs.source import MANIFEST
from core.errors import EdbenchError, RunFailed, UsageError
from core.extensions import installed_version
from core.settings import Settings


def main(argv: Sequence[str]) -> int:
    """Run a campaign, or print the table of others; the exit status."""
    parser = argparse.ArgumentParser(prog="python tests/chaos", description=__doc__)
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="use this small generated corpus")
    parser.add_argument("--faults", default="all", help="`all`, or families and names of faults, with commas")
    parser.add_argument("--kind", default="all", help="`all`, or kinds of jobs, with commas")
    parser.add_argument("--runs", type=int, default=100, help="make so many runs")
    parser.add_argument("--seed", type=int, default=1, help="the same seed plans the same runs")
    parser.add_argument("--only-run", type=int, help="repeat this run alone")
    parser.add_argument("--seconds", type=float, help="start no run after this time; the same command continues")
    parser.add_argument("--stop", action="store_true", help="stop at the first run that fails")
    parser.add_argument("--kill-servers", metavar="COMMAND", help="kills the servers of the storage root's file system")
    parser.add_argument("--start-servers", metavar="COMMAND", help="starts them again")
    parser.add_argument(
        "--table", type=Path, action="append", metavar="JOURNAL", help="only print the table of campaigns"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the summary to FILE")
    parser.add_argument("--storage", type=Path, metavar="DIR", help="use this storage root")
    asked = parser.parse_args(argv)
    here, path = str(Path(__file__).resolve().parent), os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = (
        f"{here}{os.pathsep}{path}" if path else here
    )  # of workers, for `chaos.armed` and the plugin
    context = CommandContext(os.environ)
    try:
        if asked.table:
            told = markdown(run for journal in asked.table for _, run in sorted(runs_in(journal).items()))
            context.out.print(told, markup=False, soft_wrap=True)
        else:
            settings = context.settings(storage=asked.storage)
            _carry_out(context, settings, asked)
    except UsageError as error:
        context.say(str(error))
        return USAGE
    except EdbenchError as error:
        context.say(str(error))
        return FAILED
    return OK


def _carry_out(context: CommandContext, settings: Settings, asked: argparse.Namespace) -> None:
    """Run it, or continue it; raises UsageError for faults or jobs that are not available, RunFailed where runs failed."""
    if asked.corpus is None or not (asked.corpus / MANIFEST).is_file():
        raise UsageError("--corpus must be a corpus; generate one: edbench corpus generate c --scale 0.00005")
    jobs = kinds.chosen(asked.kind, context.say)
    servers = _servers(settings.storage, asked.kill_servers, asked.start_servers)
    wanted = _wanted(context, asked.faults, jobs, servers)
    order = Order(
        corpus=asked.corpus.absolute(),
        faults=wanted,
        kinds=jobs,
        faults_said=asked.faults,
        kinds_said=asked.kind,
        runs=asked.runs,
        seed=asked.seed,
        only=asked.only_run,
        stop=asked.stop,
        seconds=asked.seconds,
        servers=servers,
    )
    journal = Journal(
        settings.scratch / "chaos",
        seed=asked.seed,
        corpus=str(order.corpus),
        version=installed_version(),
        faults=[*(fault.name for fault in wanted), *(one.name for one in order.kinds)],
    )
    summary = Campaign(settings, context.env, order, journal, context.say).run()
    if asked.json is not None:
        asked.json.write_text(json.dumps(summary, indent=2), encoding="utf-8")
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
    """Faults that go with these jobs and are available here; prints which are not. Raises UsageError where there are none."""
    fitting = [fault for fault in chosen(said) if any(goes_with(fault, one.course) for one in jobs)]
    lack = lacking(needs_of(fitting), servers)
    for fault in fitting:
        if fault.needs in lack:
            context.say(f"omitted: {fault.name}: {lack[fault.needs]}")
    wanted = tuple(fault for fault in fitting if fault.needs not in lack)
    if not wanted:
        raise UsageError(f"--faults {said}: none of them is available here")
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
