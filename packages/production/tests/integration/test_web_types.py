"""Jobs of other types beside a discovery: what is asked of items is asked of the discovery, never answered with none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.job_types import JobType
from core.operations import NullRecorder
from core.records import JobOptions
from core.storage.layer import Storage
from production.create import ProductionPlan, create_production
from production.options import ProductionChoice

pytestmark = pytest.mark.services

API = "/api/v1"
_ITEM = "00000000-0000-0000-0000-000000000000"
_OF_ITEMS = [
    ("GET", "items", None),
    ("GET", "items.csv", None),
    ("GET", "search?q=the", None),
    ("POST", "terms", {"terms": ["the"]}),
    ("POST", "terms.csv", {"terms": ["the"]}),
    ("GET", "tags", None),
    ("POST", "tags", {"tag": "hot", "query": "the"}),
    ("GET", "searches", None),
    ("PUT", "searches", {"name": "hot", "query": "the"}),
    ("DELETE", "searches/hot", None),
    *[
        ("GET", f"items/{_ITEM}{what}", None)
        for what in ("", "/family", "/neighbours", "/duplicates", "/thread", "/text")
    ],
    *[("GET", what, None) for what in ("duplicates", "near-duplicates.csv", "languages", "system-files", "threads")],
    *[("POST", what, {}) for what in ("duplicates", "near-duplicates", "languages", "threads", "requeue")],
]
_PAGES = ["items", "search", "search?q=the", "review", "terms", "produce", f"items/{_ITEM}"]


@pytest.fixture(scope="module")
def export(site: Any) -> str:
    """The newest job, which has completed; its id."""
    copy = site.copy
    choice = ProductionChoice(type=JobType.EXPORT, out=str(Path(copy.settings.storage).parent / "out"))
    plan = ProductionPlan(sources=[copy.handle], options=JobOptions(of_type=choice), name="x", workers=1, slots=1)
    made = create_production(Storage(NullRecorder()), copy.settings, plan)
    copy.run("UPDATE job SET state = 'completed', finished_at = clock_timestamp() WHERE id = %(j)s", j=made.id)
    return str(made.id)


@pytest.mark.parametrize(("method", "path", "body"), _OF_ITEMS)
def test_an_export_has_no_items_to_ask_for(site: Any, export: str, method: str, path: str, body: Any) -> None:
    """0 of 0 would look as if nothing were found, a tag that is given to nothing as if it were given."""
    answer = site.client.request(method, f"{API}/jobs/{export}/{path}", json=body)
    assert answer.status_code == 409, answer.text
    assert answer.json()["error"] == f"job {export} is of type export and has no items of its own; name a discovery"


@pytest.mark.parametrize("path", _PAGES)
def test_nor_has_its_page(site: Any, export: str, path: str) -> None:
    """The address of a page can be typed, or kept from an earlier version."""
    answer = site.client.get(f"/jobs/{export}/{path}")
    assert (answer.status_code, "has no items of its own" in answer.text) == (409, True)


def test_last_is_the_newest_discovery_where_items_are_asked_for(site: Any, export: str) -> None:
    """Whatever was made since: as the commands take it. Elsewhere it is the newest job."""
    assert site.client.get(f"{API}/jobs/last").json()["id"] == export
    discovery, last = site.job, f"{API}/jobs/last"
    for path in ("search?q=the", "items?limit=3", "tags", "actions", "custody.jsonl"):
        asked = [site.client.get(f"{of}/{path}") for of in (discovery, last)]
        assert asked[0].status_code == 200
        assert asked[0].text == asked[1].text
    changed = site.client.post(f"{last}/tags", json={"tag": "hot", "query": "the"}).json()
    assert changed["changed"] == site.client.get(f"{discovery}/search?q=tag:hot").json()["items"] > 0
    assert str(site.copy.handle.id) in site.client.get("/jobs/last/search?q=the").text


def test_what_was_done_to_an_export_is_told_of_it(site: Any, export: str) -> None:
    lines = site.client.get(f"{API}/jobs/{export}/custody.jsonl").text.splitlines()
    assert json.loads(lines[0])["job"] == export
    (created,) = site.client.get(f"{API}/jobs/{export}/actions").json()["actions"]
    assert created["details"]["type"] == "export"
    assert site.client.get(f"/jobs/{export}/custody").status_code == 200
