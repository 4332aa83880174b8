"""What the page, `search --json` and `verify --json` are sent: keys and numbers as they always were."""

import json
import os
import pwd
import socket
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from controller.custody import acting, operator
from controller.jobs.figures import Calls
from controller.search.found import HIGHLIGHT_START, HIGHLIGHT_STOP, FoundItem
from controller.timeline.model import Limit, Panel, PauseSpan, PhaseSpan, Series, Timeline
from controller.verify.group import MemberVerified, joined
from controller.verify.job import Verification
from core.records import GroupKind
from sql.custody import Count, Example

ITEM, JOB = uuid.UUID(int=1), uuid.UUID(int=2)
HIT = FoundItem(
    item=ITEM, score=1.23456, container_path=("a", "b"), custodian="c", family=None, kind="message", media_type="t/x",
    snippet=f"so {HIGHLIGHT_START}many{HIGHLIGHT_STOP} words",
)  # fmt: skip


def test_a_timeline() -> None:
    """Values have enough digits to draw, whole ones stay whole; exceptions are below `by_code`."""
    panel = Panel("p", "Calls", "calls/s", "line", [Series("read", "read", (None, 7, 1.234567, 123.4567, -100.04))])
    percentiles = {"count": 4, "p50_us": 1.5, "p99_us": 2.5}
    read = Calls(bytes=9, errors=0, max_us=3.0, sizes={"to 4 KiB": percentiles}, **percentiles)
    found = Timeline(
        job="j", state="running", labels=("CACHED",), now_s=1.23456, step_s=1.0, phases=[PhaseSpan("walk", 0.0, None)],
        pauses=(PauseSpan("paused", None, 1.0, 2.0),), t=(0.0, 1.0), panels=[panel], exceptions={"corrupt": 2},
        totals={"items": 3, "calls": 4}, calls={"read": read}, limit=Limit("waits", "storage", ("e",)),
    )  # fmt: skip
    series = {"id": "read", "label": "read", "values": [None, 7, 1.2346, 123.5, -100.0]}
    text = json.dumps(found.to_json())
    assert json.loads(text) == {
        "job": "j", "state": "running", "labels": ["CACHED"], "advice": [], "now_s": 1.235, "step_s": 1.0,
        "phases": [{"phase": "walk", "start_s": 0.0, "end_s": None}],
        "pauses": [{"state": "paused", "reason": None, "start_s": 1.0, "end_s": 2.0}],
        "t": [0.0, 1.0],
        "panels": [{"id": "p", "title": "Calls", "unit": "calls/s", "kind": "line", "series": [series]}],
        "exceptions": {"by_code": {"corrupt": 2}}, "totals": {"items": 3, "calls": 4}, "calls": {"read": percentiles | {"bytes": 9, "errors": 0, "max_us": 3.0, "processor": [], "sizes": {"to 4 KiB": percentiles}}}, "progress": None, "eta_s": None,
        "limit": {"verdict": "waits", "who": "storage", "evidence": ["e"]},
    }  # fmt: skip
    assert "7," in text
    assert '"items": 3,' in text


def test_a_hit() -> None:
    alone = {
        "item": str(ITEM), "score": 1.2346, "container_path": ["a", "b"], "custodian": "c", "family": None,
        "kind": "message", "media_type": "t/x", "snippet": "so many words",
    }  # fmt: skip
    assert HIT.to_json() == alone
    of_several = replace(HIT, database="db1", job=JOB)
    assert of_several.to_json() == alone | {"database": "db1", "job": str(JOB)}
    assert of_several.snippet == HIT.snippet


def _verified(manifest: Path | None, *counts: Count) -> Verification:
    return Verification(
        job_id="j", manifest=manifest, manifest_items=9, items=8, records=3, terms=7, documents=6, ghosts=5, files=4,
        counts=counts, examples=(Example("missing", "message", ("a",), "", "x"),),
    )  # fmt: skip


def test_a_verification_and_a_groups() -> None:
    found = _verified(Path("/c/m"), Count("missing", "message", 2), Count("missing", "x", 1), Count("text", "x", 4))
    example = {"what": "missing", "kind": "message", "container_path": ["a"], "expected": "", "found": "x"}
    plain = {
        "job_id": "j", "manifest": "/c/m", "manifest_items": 9, "items": 8, "records": 3, "terms": 7, "documents": 6, "ghosts": 5,
        "files": 4, "differences": 7, "missing": 3, "extra": 0, "wrong": 4,
        "by_kind": {"missing": {"message": 2, "x": 1}, "text": {"x": 4}}, "examples": [example],
    }  # fmt: skip
    assert found.to_json() == plain
    jobs = [MemberVerified(**vars(one), database=name) for name, one in (("db1", found), ("db2", _verified(None)))]
    doubled = (Count("doubled", "message", 1), Count("doubled", "x", 1))
    group = joined("g", GroupKind.SHARDED, jobs, doubled, ()).to_json()
    assert group["jobs"][0] == plain | {"database": "db1"}
    assert (group["items"], group["missing"], group["extra"], group["wrong"]) == (16, 3, 2, 4)
    assert (group["doubled"], group["differences"]) == (2, 9)


def test_the_environment_names_no_person(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "alice")
    monkeypatch.delenv("SUDO_USER", raising=False)
    own = f"{pwd.getpwuid(os.geteuid()).pw_name}@{socket.gethostname()}"
    assert operator() == own
    monkeypatch.setenv("SUDO_USER", "ann.lee")
    assert operator() == f"{own} (sudo: ann.lee)"
    for forged in ("", "ann\ncreated", "a" * 65, "ann) (sudo: bob"):
        monkeypatch.setenv("SUDO_USER", forged)
        assert operator() == own
    with acting("page at 10.1.1.1"):
        assert operator() == "page at 10.1.1.1"


def test_a_user_without_a_name_has_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUDO_USER", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 3_999_999_999)
    assert operator() == f"uid 3999999999@{socket.gethostname()}"
