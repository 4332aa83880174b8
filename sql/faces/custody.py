"""What chain of custody asks of the database."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sql.face import face

if TYPE_CHECKING:
    from sqlalchemy import Connection


class ActionRow(NamedTuple):
    """An operator action; `told` is what its hash should be, `hashed` the text that this is over."""

    at: datetime
    who: str
    action: str
    details: Mapping[str, Any]
    chain: memoryview | None
    hashed: str
    told: memoryview
    begun: bool


class Suspension(NamedTuple):
    """Why a job is suspended, and since when."""

    reason: str
    since: datetime


class CustodyRow(NamedTuple):
    """An item as it was read, and by which task its text was; `before` made that task, `first` the one before."""

    id: uuid.UUID
    custodian: str
    container_path: list[str]
    kind: str
    container: bool
    media_type: str
    bytes: int
    sha256: memoryview | None
    content_hash: memoryview | None
    message_id_hash: memoryview | None
    text_state: str | None
    codes: list[str] | None
    task: uuid.UUID | None
    before: uuid.UUID | None
    first: uuid.UUID | None


class TaskRow(NamedTuple):
    """A task as it was done last; `version` of edbench where its parser set is not known."""

    id: uuid.UUID
    phase: str
    worker: str | None
    finished_at: datetime | None
    parsers: uuid.UUID | None
    joined: bool
    version: str | None


class ParserSetRow(NamedTuple):
    """See readers.parsers."""

    id: uuid.UUID
    told: Mapping[str, Any]


class _Custody(Protocol):
    def note_action(self, conn: Connection, *, job: uuid.UUID, who: str, action: str, details: str) -> int: ...
    def suspension(self, conn: Connection, *, job: uuid.UUID) -> Suspension | None: ...
    def list_actions(self, conn: Connection, *, job: uuid.UUID) -> list[ActionRow]: ...
    def custody_items(self, conn: Connection, *, job: uuid.UUID, after: uuid.UUID, limit: int) -> list[CustodyRow]: ...
    def custody_tasks(self, conn: Connection, *, tasks: Sequence[uuid.UUID]) -> list[TaskRow]: ...
    def custody_parsers(self, conn: Connection, *, job: uuid.UUID) -> list[ParserSetRow]: ...


CUSTODY: _Custody = face(_Custody)
