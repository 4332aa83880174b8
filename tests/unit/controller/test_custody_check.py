"""A list of operator actions that somebody has added to, or that stands behind another one."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable
from typing import Any

from controller.custody.check import check_list

_JOB = uuid.UUID(int=7)
_AT, _SECONDS = "2026-11-27T10:00:00+00:00", "1795773600.000000"


def _action(action: str, details: dict[str, Any], before: str | None) -> dict[str, Any]:
    """With its hash behind the one before; `before` None: the first."""
    hashed = "\n".join((_SECONDS, "ann@host", action, json.dumps(details)))
    start = _JOB.bytes if before is None else bytes.fromhex(before)
    chain = hashlib.sha256(start + hashed.encode()).hexdigest()
    told = {"record": "action", "job": str(_JOB), "at": _AT, "who": "ann@host", "action": action, "details": details}
    return told | {"chain": chain, "hashed": hashed, "broken": False}


def _chained(*actions: str) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for number, action in enumerate(actions):
        out.append(_action(action, {"n": number}, out[-1]["chain"] if out else None))
    return out


def _bare(action: str) -> dict[str, Any]:
    """Without a hash, as those have that are older than hashes."""
    return _action(action, {"tag": "privileged"}, None) | {"chain": None}


def _faults(*lists: Iterable[dict[str, Any]], noted: Iterable[str] = ()) -> list[str]:
    """Of lists behind each other, each with its end."""
    lines: list[str] = []
    for actions in map(list, lists):
        lines += map(json.dumps, [*actions, {"record": "end", "actions": len(actions), "items": 0}])
    told: list[str] = []
    assert check_list(lines, noted, told.append).faults == len(told)
    return told


def test_nothing_stands_before_the_creation_of_a_job() -> None:
    """Where that has a hash, an action without one is no older one but put in: wherever it is, in another list, too."""
    true, forged = _chained("created", "tagged"), _bare("untagged")
    noted = [true[-1]["chain"]]
    assert _faults(true, noted=noted) == []
    (fault,) = _faults([forged, *true], noted=noted)
    assert "no action can come before the creation of a job" in fault
    assert "was removed" in _faults([true[0], forged, true[1]])[0]
    assert "was removed" in _faults(true, [forged], noted=noted)[0]
    assert "before the creation of a job" in _faults([forged], true, noted=noted)[0]
    late = _chained("tagged", "created")
    assert "before the creation of a job" in _faults(late)[0]


def test_actions_that_are_older_than_hashes_say_what_their_text_says() -> None:
    older = [_bare("tagged"), *_chained("untagged", "paused")]
    assert _faults(older) == []
    assert "who differs from its text" in _faults([older[0] | {"who": "eve@host"}, *older[1:]])[0]
    assert "number of lines" in _faults([older[0] | {"hashed": "anything"}, *older[1:]])[0]


def test_lists_of_one_job_may_stand_behind_each_other() -> None:
    """As it was, and as it went on; a list that says something else than the one before is told, where its hashes are right,
    too."""
    true = _chained("created", "tagged", "paused")
    assert _faults(true[:2], true, true[:1], noted=[true[-1]["chain"]]) == []
    other = _chained("created", "untagged", "resume")
    faults = _faults(true, other)
    assert len(faults) == 2
    assert "an earlier list of the same job has another action in this position" in faults[0]
    assert _faults(true[:1], other) == []
    told: list[str] = []
    lines = [*map(json.dumps, true), json.dumps({"record": "end", "actions": 3, "items": 0}), json.dumps(true[0])]
    done = check_list([*lines, json.dumps({"record": "end", "actions": 1, "items": 0})], [], told.append)
    assert (told, done.last) == ([], {str(_JOB): true[-1]["chain"]})
