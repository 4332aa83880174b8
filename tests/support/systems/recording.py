"""A recorder that keeps every call."""

from __future__ import annotations

import dataclasses
from typing import Any

from core.operations import CallRecord

_NAMES = [field.name for field in dataclasses.fields(CallRecord)]  # in the order in which `Recorder.record` takes them


class MemoryRecorder:
    """Keeps every record in a list."""

    def __init__(self) -> None:
        self.records: list[CallRecord] = []  # in order

    def record(self, *call: Any, **named: Any) -> None:
        self.records.append(
            CallRecord(**{"argument": 0, "other": b"", **dict(zip(_NAMES, call, strict=False)), **named})
        )
