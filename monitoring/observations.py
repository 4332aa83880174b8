"""Observations: what else was seen in a second beside the storage calls, as plain values of a kind and a source."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Of a job; taken by the queue manager of its database.
QUEUE = "queue"
PROGRESS = "progress"
# Of a database, worker, host or filer; counters are cumulative, so that a second that was missed costs only itself.
DATABASE = "database"
WORKER = "worker"
WIRE = "wire"
BLOCK = "block"
SPACE = "space"
ARRAY = "array"
EMULATED = "emulated"

KINDS = frozenset((QUEUE, PROGRESS, DATABASE, WORKER, WIRE, BLOCK, SPACE, ARRAY, EMULATED))

SOURCE_CHARACTERS = 500
VALUES_BYTES = 32_768  # as JSON; a mount with thirty ops over sixteen transports has about 6 KB


@dataclass(frozen=True, slots=True)
class Observation:
    """What one source says of itself now; `values` is plain JSON data, times and bytes as its kind defines.

    Raises ValueError for an unknown kind, an empty or too long source, values that are no JSON or too many.
    """

    kind: str
    source: str
    values: Mapping[str, Any]
    text: str = field(init=False, repr=False, compare=False)  # the values as compact JSON

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"no such kind of observation: {self.kind!r}")
        if not 0 < len(self.source) <= SOURCE_CHARACTERS or "\0" in self.source:
            raise ValueError(f"an observation's source has 1 to {SOURCE_CHARACTERS} characters and no NUL")
        object.__setattr__(self, "text", _json(self.kind, self.values))


def _json(kind: str, values: Mapping[str, Any]) -> str:
    try:
        text = json.dumps(dict(values), separators=(",", ":"), allow_nan=False, ensure_ascii=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as e:  # half a character counts as ValueError
        raise ValueError(f"an observation of kind {kind} is not plain data: {e}") from e
    if size > VALUES_BYTES:
        raise ValueError(f"an observation of kind {kind} is over {VALUES_BYTES} bytes")
    if "\\u0000" in text:
        raise ValueError(f"an observation of kind {kind} holds a NUL, which the database cannot")
    return text
