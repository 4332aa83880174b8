"""A measurement beside what the server does for others: it does not begin while that goes on."""

from __future__ import annotations

import dataclasses
import importlib
import os
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from profile_runs import need_fio

from core.errors import UsageError
from core.records import JobState
from web.api import measure
from web.background import BackgroundTasks
from web.measuring import Measurement, Measurements

pytestmark = pytest.mark.services

API = "/api/v1"
PROFILE = {"profile": "self-check", "small": True}


class Noted(Measurements):
    """Measures nothing: what would begin is over at once."""

    def start(self, kind: str, words: Sequence[str]) -> Measurement:
        now = datetime.now(UTC)
        return Measurement(id=uuid.uuid4(), kind=kind, command=list(words), who="test", begun=now, ended=now)


@pytest.fixture
def measuring(make_site: Any) -> Any:
    """A server that can measure."""
    site = make_site(embedded=True)
    context = site.app.state.context
    measurements = Noted(context.settings, dict(os.environ))
    site.app.state.context = dataclasses.replace(context, measurements=measurements)
    return site


def _measure(site: Any) -> Any:
    need_fio()
    return site.client.post(f"{API}/measurements/profile", json=PROFILE)


@pytest.mark.parametrize(
    ("done_by", "path", "body"),
    [
        ("web.api.actions.create_discovery", "jobs", {}),
        ("production.routes.create_production", "productions", {"type": "export", "sources": ["last"]}),
        ("web.api.named.tag_found", "jobs/last/tags", {"tag": "hot", "query": "the"}),
        ("web.api.actions.resume_all", "jobs/last/resume", None),
        ("web.api.actions.requeue_exceptions", "jobs/last/requeue", None),
        ("web.background.BackgroundTasks.start", "jobs/last/duplicates", {}),
    ],
)
def test_no_measurement_begins_meanwhile(
    measuring: Any, monkeypatch: pytest.MonkeyPatch, done_by: str, path: str, body: Any
) -> None:
    """A job that is being created has no row yet, and a tag never has one: both would be in the figures."""
    asked: list[Any] = []

    def meanwhile(*_: Any, **__: Any) -> None:
        asked.append(_measure(measuring))
        raise UsageError("enough")

    if path == "jobs":
        source = measuring.copy.settings.storage.parent / "evidence"
        source.mkdir()
        (source / "a.txt").write_text("a")
        body = {"source": str(source)}
    if path == "productions":
        body = body | {"out": f"{measuring.copy.settings.storage}/production"}
    above, name = done_by.rsplit(".", 1)
    monkeypatch.setattr(
        BackgroundTasks if above == "web.background.BackgroundTasks" else importlib.import_module(above),
        name,
        meanwhile,
    )
    assert "enough" in measuring.client.post(f"{API}/{path}", json=body).json()["error"]
    (refused,) = asked
    assert refused.status_code == 409
    assert "it would distort the measurement" in refused.json()["error"]
    assert _measure(measuring).status_code == 201


def test_an_old_job_that_runs_is_seen(measuring: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many were made since."""
    old = uuid.uuid4()
    states = [(uuid.uuid4(), JobState.COMPLETED)] * 150 + [(old, JobState.RUNNING)]
    jobs = [(None, SimpleNamespace(job=SimpleNamespace(id=job, state=state))) for job, state in states]
    monkeypatch.setattr(measure, "newest_jobs", lambda databases, limit: jobs[:limit])
    refused = _measure(measuring)
    assert (refused.status_code, f"job {old} is running" in refused.json()["error"]) == (409, True)
