"""A recorder that keeps every call."""

from __future__ import annotations

from core.operations import CallRecord, Op


class MemoryRecorder:
    """Keeps every record in a list."""

    def __init__(self) -> None:
        self.records: list[CallRecord] = []  # in order

    def record(
        self,
        op: Op,
        start_ns: int,
        duration_ns: int,
        nbytes: int,
        path: bytes,
        error: int,
        argument: int = 0,
        other: bytes = b"",
    ) -> None:
        self.records.append(
            CallRecord(
                op=op,
                start_ns=start_ns,
                duration_ns=duration_ns,
                bytes=nbytes,
                path=path,
                error=error,
                argument=argument,
                other=other,
            )
        )
