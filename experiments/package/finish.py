"""What makes a package of a result's directory: its report, the manifest over everything, and its owner."""

from __future__ import annotations

from pathlib import Path

from controller.jobs.directories import hand_over_tree
from experiments.package.manifest import seal
from experiments.package.records import RESULTS
from experiments.result.schema import Result


def finish(result: Result, directory: Path) -> Path:
    """Write report, series and figures next to the result, then the manifest; the report's path. Raises RunFailed."""
    from experiments.report.page import write_report  # draws: matplotlib is slow to come

    page = write_report(result, directory)
    seal(directory)
    if directory.absolute().parent.name == RESULTS:
        hand_over_tree(directory, directory.absolute().parents[1])
    return page
