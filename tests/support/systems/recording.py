"""A recorder that keeps every call."""

import dataclasses
import os
import subprocess
from pathlib import Path
from typing import Any

from core.operations import CallRecord

_HERE = Path(__file__).parent
_NAMES = [field.name for field in dataclasses.fields(CallRecord)]  # in the order in which `Recorder.record` takes them


class MemoryRecorder:
    """Keeps every record in a list."""

    def __init__(self) -> None:
        self.records: list[CallRecord] = []  # in order

    def record(self, *call: Any, **named: Any) -> None:
        self.records.append(
            CallRecord(**{"argument": 0, "other": b"", **dict(zip(_NAMES, call, strict=False)), **named})
        )


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command whose Python finds this module and the product."""
    environment = {**os.environ, "PYTHONPATH": f"{_HERE.parents[2]}:{_HERE}"}
    return subprocess.run(
        command, cwd=_HERE.parents[2], env=environment, capture_output=True, text=True, check=False, timeout=600
    )
