"""Run jobs of every kind with faults at seeded moments and check that nothing is lost: `python tests/chaos --help`.

Services and workers are the campaign's own, in scratch. Each run has to end by itself or with one `job resume`, verify
with zero differences and leave nothing behind. What a run does follows from its seed and number: --first continues a
campaign that was interrupted. The exit status is 1 when a run failed; what it left is kept."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from chaos import kinds
from chaos.campaign import Campaign, Order
from chaos.faults import chosen
from chaos.faults.base import Fault
from chaos.needs import lacking, needs_of
from chaos.plan import goes_with

from cli.context import CommandContext
from cli.main import FAILED, OK, USAGE
from controller.jobs.source import MANIFEST
from core.errors import EdbenchError, RunFailed, UsageError
from core.settings import Settings


def main(argv: Sequence[str]) -> int:
    """Run a campaign; the exit status."""
    parser = argparse.ArgumentParser(prog="python tests/chaos", description=__doc__)
    parser.add_argument("--corpus", type=Path, metavar="DIR", help="use this small generated corpus")
    parser.add_argument("--faults", default="all", help="`all`, or families and names of faults, with commas")
    parser.add_argument("--kind", default="all", help="`all`, or kinds of jobs, with commas")
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--runs", type=int, default=100, help="make so many runs")
    parser.add_argument("--seed", type=int, default=1, help="the same seed plans the same runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="append a line of JSON for each run to FILE")
    parser.add_argument("--storage", type=Path, metavar="DIR", help="use this storage root")
    asked = parser.parse_args(argv)
    here, path = str(Path(__file__).resolve().parent), os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = (
        f"{here}{os.pathsep}{path}" if path else here
    )  # of workers, for `chaos.armed` and the plugin
    context = CommandContext(os.environ)
    try:
        _carry_out(context, context.settings(storage=asked.storage), asked)
    except UsageError as error:
        context.say(str(error))
        return USAGE
    except EdbenchError as error:
        context.say(str(error))
        return FAILED
    return OK


def _carry_out(context: CommandContext, settings: Settings, asked: argparse.Namespace) -> None:
    """Do the runs; raises UsageError for faults or jobs that are not available, RunFailed where runs failed."""
    if asked.corpus is None or not (asked.corpus / MANIFEST).is_file():
        raise UsageError("--corpus must be a corpus; generate one: edbench corpus generate c --scale 0.00005")
    jobs = kinds.chosen(asked.kind, context.say)
    order = Order(
        corpus=asked.corpus.absolute(),
        faults=_wanted(context, asked.faults, jobs),
        kinds=jobs,
        fault_names=asked.faults,
        kind_names=asked.kind,
        numbers=range(asked.first, asked.first + asked.runs),
        seed=asked.seed,
    )
    missed = failed = 0
    for run in Campaign(settings, context.env, order, context.say).run():
        missed += not run["struck"]
        failed += bool(run["faults"])
        if asked.json is not None:
            with asked.json.open("a", encoding="utf-8") as out:
                out.write(json.dumps(run) + "\n")
    context.say(
        f"seed {order.seed}: {asked.runs - failed} of {asked.runs} runs survived ({missed} were over before their fault's moment)"
    )
    if failed:
        raise RunFailed(f"{failed} of {asked.runs} runs failed")


def _wanted(context: CommandContext, message: str, jobs: tuple[kinds.Kind, ...]) -> tuple[Fault, ...]:
    """Faults that go with these jobs and are available here; prints which are not. Raises UsageError where there are none."""
    fitting = [fault for fault in chosen(message) if any(goes_with(fault, one.course) for one in jobs)]
    lack = lacking(needs_of(fitting))
    for fault in fitting:
        if fault.needs in lack:
            context.say(f"omitted: {fault.name}: {lack[fault.needs]}")
    wanted = tuple(fault for fault in fitting if fault.needs not in lack)
    if not wanted:
        raise UsageError(f"--faults {message}: none of them is available here")
    return wanted


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
