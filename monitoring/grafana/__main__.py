"""Write the dashboards' files; with a directory as argument there instead."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from monitoring.grafana.dashboards import DASHBOARDS
from monitoring.grafana.model import to_text

HERE = Path(__file__).parent / "dashboards"


def main(arguments: Sequence[str]) -> int:
    """The exit status."""
    directory = Path(arguments[0]) if arguments else HERE
    directory.mkdir(parents=True, exist_ok=True)
    for dashboard in DASHBOARDS:
        (directory / f"{dashboard.uid}.json").write_text(to_text(dashboard), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
