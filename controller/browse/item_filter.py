"""Selection of a job's items: by custodian, type, exception, and by their metadata."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.dates import asked_in_utc
from core.errors import UsageError
from core.names import LOAD_KEY
from readers.keys import DATE, KEYS, LIST, NUMBER, TEXT, YES, Key
from readers.records import Kind, TextState
from sql.browse import Wanted

OPERATORS = ("<=", ">=", "!=", "=", "<", ">", "~")
MOST_CONDITIONS = 20
EXAMPLE = 'date>=2001-06 and author~smith and page_count>10 and title="Terms and conditions"'
_BEGIN = rf"[^\W\d]\w*\s*(?:{'|'.join(OPERATORS)})"
_CONDITION = re.compile(
    rf'\s*([^\W\d]\w*)\s*({"|".join(OPERATORS)})\s*(?:"((?:[^"]|"")*)"|(\S.*?))(?=\s+and\s+{_BEGIN}|\s*\Z)(?:\s+and\s+)?',
    re.IGNORECASE | re.DOTALL,
)
_LOAD_FILE_FIELD = Key(TEXT, "field of a load file")
_NUMBER = re.compile(r"-?\d{1,30}(?:\.\d{1,30})?\Z", re.ASCII)


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


def parse_conditions(text: str) -> tuple[Condition, ...]:
    """Parse conditions as people write them, joined by `and`: KEY OPERATOR VALUE with the operators = != < <= > >= and
    ~ (contains). A value that contains ` and KEY=` must be quoted, with its quotes doubled. Raises UsageError that
    names the condition and its fault."""
    conditions: list[Condition] = []
    at = 0
    while at < len(text.rstrip()):
        match = _CONDITION.match(text, at)
        if match is None:
            raise UsageError(f"{_shown(text[at:])} is not a condition on metadata; write conditions as in: {EXAMPLE}")
        value = match[4] if match[3] is None else match[3].replace('""', '"')
        conditions.append(_condition(match[1].lower(), match[2], value))
        at = match.end()
    if len(conditions) > MOST_CONDITIONS:
        raise UsageError(f"{len(conditions)} conditions on metadata; at most {MOST_CONDITIONS} are allowed")
    return tuple(conditions)


def in_language(code: str | None) -> tuple[Condition, ...]:
    """Return the condition that `edbench review languages` detected this language in an item's text; empty for None or
    an empty code."""
    return (_condition("language", "=", code),) if code else ()


def _condition(name: str, op: str, value: str) -> Condition:
    key = _LOAD_FILE_FIELD if LOAD_KEY.match(name) else KEYS.get(name)
    if key is None:
        near = difflib.get_close_matches(name, KEYS, n=1)
        meant = f"did you mean {near[0]}?" if near else "docs/formats.md lists them"
        raise UsageError(f"there is no metadata key {_shown(name)}; {meant}")
    if op == "~" and key.kind not in (TEXT, LIST):
        raise UsageError(f"{name} is a {key.kind}; ~ works on text only; use = != < <= > >=")
    if op in ("<", "<=", ">", ">=") and key.kind not in (DATE, NUMBER):
        raise UsageError(f"{name} is neither a date nor a number; < and > do not work on it; use = != ~")
    value = _checked(name, key.kind, value)
    return Condition(name, op, value, key.kind if key.kind in (DATE, NUMBER) else TEXT)


def _checked(name: str, kind: Any, value: str) -> str:
    """Return the value in the form that the query compares."""
    if kind == DATE:
        if (date := asked_in_utc(value)) is None:
            meant = "as in 2001, 2001-06 or 2001-06-30T17:45, where +02:00 or Z may follow"
            raise UsageError(f"{name} is a date, {meant}; {_shown(value)} is not")
        return date
    if kind == NUMBER and not _NUMBER.match(value):
        raise UsageError(f"{name} is a number; {_shown(value)} is not")
    if kind == YES and value.lower() not in ("true", "false"):
        raise UsageError(f"{name} is true or false; {_shown(value)} is neither")
    return value


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
