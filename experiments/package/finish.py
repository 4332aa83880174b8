"""What makes a package of a result's directory: its report, and the manifest over everything."""

from __future__ import annotations

from pathlib import Path

from experiments.package.manifest import seal
from experiments.result.schema import Result


def finish(result: Result, directory: Path) -> Path:
    """Report, series and figures beside the result, then the manifest; the report's path. Raises RunFailed."""
    from experiments.report.page import write_report  # draws: matplotlib is slow to come

    page = write_report(result, directory)
    seal(directory)
    return page
