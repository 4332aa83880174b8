"""The calibration that predictions stand on where no result is given: a measured one that comes with the product."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from core.errors import UsageError
from core.reading import read_problem
from experiments.result.codec import from_json
from experiments.workloads.discovery.result import Result, of_discovery

FILE = Path(__file__).parent / "reference.json.gz"
NAME = "the reference calibration"


def read_reference() -> Result:
    """Raises UsageError where the installation is not whole."""
    try:
        return of_discovery(from_json(json.loads(gzip.decompress(FILE.read_bytes()))))
    except (OSError, ValueError, UsageError) as error:
        raise UsageError(f"{read_problem(NAME, error)}; install edbench again, or give a result with --from") from error
