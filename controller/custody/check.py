"""Checks an exported list of operator actions against its own hashes (docs/custody.md).

It uses no database and no other part of edbench: anyone who receives a list can read here, or in the document, what is
computed.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

_ACTION, _ITEM, _END = "action", "item", "end"  # what lines say that they are
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TOLD = ("at", "who", "action", "details")  # the hashed text, a line each
_FIRST = "created"  # the action that every list begins with


@dataclass(slots=True)
class Checked:
    """What a list came to."""

    actions: int = 0
    without: int = 0  # that have no hash: they are older than the list's hashes, and prove nothing
    faults: int = 0
    last: dict[str, str] = field(default_factory=dict)  # the chain of each job's last action that has one


def check_list(lines: Iterable[str], noted: Iterable[str], fault: Callable[[str], None]) -> Checked:
    """Check every action of the list, and that its end is there. `noted` are chains that it must contain; `fault` is
    called with a line for each thing that is wrong."""
    checking = _Checking(fault)
    for number, line in enumerate(lines, 1):
        checking.line(number, line)
    for chain in noted:
        if chain.lower() not in checking.seen:
            checking.wrong(
                f"no action has the noted hash {chain}: the end of the list is missing, or this is another list"
            )
    if checking.open:
        checking.wrong(
            "there is no line `end` after the last one: the list was cut off, or printed by a version that writes none"
        )
    if not checking.done.actions:
        checking.wrong("it contains no operator action")
    return checking.done


class _Checking:
    def __init__(self, fault: Callable[[str], None]) -> None:
        self.done, self.seen = Checked(), set[str]()
        self.open: Counter[str] = Counter()  # records since the last end, by kind
        self._chains: defaultdict[str, list[str]] = defaultdict(list)  # of each job in this list …
        self._before: dict[str, list[str]] = {}  # … and in the longest of those before it
        self._without: Counter[str] = Counter()  # actions without a hash, by job
        self._created: set[str] = set()  # jobs whose creation has a hash: nothing of theirs is older than hashes
        self._fault = fault

    def wrong(self, what: str) -> None:
        self.done.faults += 1
        self._fault(what)

    def line(self, number: int, line: str) -> None:
        try:
            told = json.loads(line, object_pairs_hook=_once)
            if told["record"] == _END:
                self._end(told)
                return
            self.open[told["record"]] += 1
            if told["record"] == _ACTION:
                self.done.actions += 1
                self._action(told)
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            self.wrong(f"line {number}: {_said(error)}")

    def _action(self, told: dict[str, Any]) -> None:
        job, chain = str(uuid.UUID(told["job"])), told["chain"]
        chains = self._chains[job]
        if chain is None:
            self.done.without += 1
            self._without[job] += 1
            if chains or job in self._created or told["action"] == _FIRST:
                raise ValueError("its hash was removed")
            if (other := _differing(told)) is not None:
                raise ValueError(f"{other} differs from its text")
            return
        start = bytes.fromhex(chains[-1]) if chains else uuid.UUID(job).bytes
        chains.append(chain)
        self.done.last[job] = max(chains, self._before.get(job, []), key=len)[-1]
        self.seen.add(chain)
        if told["action"] == _FIRST:
            self._created.add(job)
            if len(chains) > 1 or self._without[job]:
                raise ValueError("there are actions before it, but no action can come before the creation of a job")
        if (known := self._before.get(job, [])[len(chains) - 1 : len(chains)]) and known != [chain]:
            raise ValueError("an earlier list of the same job has another action in this position")
        if hashlib.sha256(start + told["hashed"].encode()).hexdigest() != chain:
            raise ValueError(
                "its hash does not match: `hashed` was changed, or an action before it was removed, inserted or moved"
            )
        if (other := _differing(told)) is not None:
            raise ValueError(f"{other} differs from what was hashed")
        if told.get("broken"):
            raise ValueError("the chain was broken already when the list was printed")

    def _end(self, told: dict[str, Any]) -> None:
        """Check that every printed record is there; lists may follow one another. Raises ValueError."""
        before, self.open = self.open, Counter()
        for job, chains in self._chains.items():
            self._before[job] = max(self._before.get(job, []), chains, key=len)
        self._chains.clear()
        for kind, name in ((_ACTION, "actions"), (_ITEM, "items")):
            if told[name] != before[kind]:
                raise ValueError(f"it counts {told[name]} {name} before it, but there are {before[kind]}")


def _differing(told: dict[str, Any]) -> str | None:
    """The first field that differs from the hashed text."""
    parts = told["hashed"].split("\n")
    if len(parts) != len(_TOLD):
        return "the number of lines"
    seconds, who, action, details = parts
    told_at = datetime.fromisoformat(told["at"])
    same = (
        Decimal(seconds) == Decimal((told_at - _EPOCH) // timedelta(microseconds=1)) / 1_000_000,
        told["who"] == who,
        told["action"] == action,
        _canonical(told["details"]) == _canonical(json.loads(details, object_pairs_hook=_once)),
    )
    return next((name for name, is_same in zip(_TOLD, same, strict=True) if not is_same), None)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a name that occurs twice: one program would read one value, and another the other."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice in it")
    return found


def _said(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it has no {error}"
    if isinstance(error, json.JSONDecodeError | TypeError | AttributeError | InvalidOperation):
        return "it is not a record"
    return str(error)
