"""Selection of a job's items: by custodian, type, exception and more; a search adds conditions on their metadata."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from readers.keys import TEXT
from readers.records import Kind, TextState
from sql.browse import Wanted


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on one metadata key. An item without the key does not pass, whatever the operator."""

    key: str
    op: str
    value: str
    kind: str  # text, date or number: how it is compared


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFilter:
    """The selected items; None: no restriction. `exception` is a code or `any`. Duplicates, near-duplicates and system
    files are those of the latest finding; a job without a finding has none (`controller.findings.check_findings`)."""

    custodian: str | None = None
    type: str | None = None
    exception: str | None = None
    kind: Kind | None = None
    text_state: TextState | None = None
    conditions: Sequence[Condition] = ()
    duplicate: bool | None = None
    near: bool | None = None
    system: bool | None = None

    def parameters(self) -> Wanted:
        """Return the parameters of the queries that include the part `wanted_items`."""
        rows = [{"key": c.key, "op": c.op, "value": c.value, "kind": c.kind} for c in self.conditions]
        return Wanted(
            custodian=self.custodian,
            type=self.type,
            exception=self.exception,
            kind=self.kind and self.kind.value,
            text_state=self.text_state and self.text_state.value,
            conditions=json.dumps(rows) if rows else None,
            duplicate=self.duplicate,
            near=self.near,
            system=self.system,
        )


ALL_ITEMS = ItemFilter()


def in_language(code: str | None) -> tuple[Condition, ...]:
    """Return the condition that `edbench review languages` detected this language in an item's text; empty for None or
    an empty code."""
    return (Condition("language", "=", code, TEXT),) if code else ()
