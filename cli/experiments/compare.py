"""`edbench compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.context import shared
from cli.options import AsJson
from cli.output import print_json
from cli.show.study import comparison_json, show_comparison
from experiments.package.take import take
from experiments.result.compare import compare as compare_results
from experiments.result.grounds import GROUNDS, parse_grounds


def compare(
    ctx: typer.Context,
    results: Annotated[
        list[Path], typer.Argument(metavar="RESULT RESULT…", help="result.json files, or the directories they lie in")
    ],
    force: Annotated[bool, typer.Option("--force", help="show results that differ all the same, and say so")] = False,
    allow: Annotated[
        str | None,
        typer.Option(metavar="NAME,…", help=f"grounds that may differ, disclosed: {', '.join(GROUNDS)}"),
    ] = None,
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="take results that `edbench result check` refuses, and label them")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Put results of experiments, or of replays, side by side, with their intervals.

    The first is what the others are held against. Results of another workload, or whose configuration, corpus,
    expansion or trace differ, are refused with what differs, and so is what `edbench result check` refuses.
    Other mount options, another placement of the databases or another state of caches are compared when asked for by name.
    """
    grounds = parse_grounds(allow)
    taken, labels = take(results, unchecked=unchecked)
    comparison = compare_results(taken, force=force, allow=grounds, unchecked=labels)
    if not as_json:
        show_comparison(shared(ctx).out, comparison)
        return
    print_json(comparison_json(comparison))
