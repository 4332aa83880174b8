"""Findings of the reviews of one kind in jobs: the summary of the latest one, and its rows."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from controller.databases import JobHandle
from controller.findings import ReviewKind, latest
from core.document import Document
from sql.connection import Connection
from sql.session import Database

Summary = TypeVar("Summary", bound=Document)
Rows = Generator[dict[str, Any], None, None]
_ROWS_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Report(Generic[Summary]):
    """The reader of one kind of review. `rows` streams the rows of one job, NamedTuples with these `columns`."""

    kind: ReviewKind
    summary: type[Summary]
    columns: tuple[str, ...] = ()
    rows: Callable[[Connection, uuid.UUID, Summary], Iterator[Any]] | None = None  # None: the summary is everything

    @property
    def fields(self) -> list[str]:
        """The keys of a row of `stream`."""
        return ["job", *self.columns]

    def last(self, handles: Sequence[JobHandle], databases: Sequence[Database]) -> Summary:
        """Return the summary of the latest review of these jobs; raises as `controller.findings.latest`."""
        return self.summary.model_validate(latest(handles, self.kind, databases).figures)

    def stream(self, handles: Sequence[JobHandle], found: Summary) -> Rows:
        """Yield every row of a review with the keys of `fields`, job by job. Close the generator if you do not read it
        to the end. Raises DatabaseFault."""
        if (rows := self.rows) is None:
            return
        for handle in handles:
            with handle.database.transaction() as conn:
                streaming = conn.streaming(_ROWS_AT_ONCE)
                for row in rows(streaming, handle.id, found):
                    yield {"job": str(handle.id)} | {name: _plain(value) for name, value in row._asdict().items()}


def _plain(value: Any) -> Any:
    """Return a value of a row for JSON: ids as text, hashes in hexadecimal digits."""
    if isinstance(value, uuid.UUID):
        return str(value)
    return value.hex() if isinstance(value, bytes | memoryview) else value
