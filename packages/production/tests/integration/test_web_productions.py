"""What the page says of jobs that take the items of others, over jobs that are rows alone."""

import json
import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from installation import until
from produced import produce

from controller.labels.rules import surroundings_of
from core.job_types import JobType
from core.records import JobOptions
from core.settings import Settings
from production import verify
from production.options import ProductionChoice
from production.verify import PageCount, ProductionVerification
from sql import jobs

CHANGE = "UPDATE job SET state = %(state)s, finished_at = now() WHERE id = %(job)s"


def _made(site: Any, kind: JobType, *sources: uuid.UUID, state: str = "completed", **more: Any) -> str:
    """A job of this type; its id."""
    choice = ProductionChoice(type=kind, sources=tuple(each.hex for each in sources), out="/nowhere", **more)
    new = jobs.NewJob(
        id=uuid.uuid4(),
        name=f"<{kind}>",
        client="",
        project="",
        source=b"/nowhere",
        device=1,
        inode=1,
        storage=b"/nowhere",
        surroundings=surroundings_of(Settings(), b"/").to_json(),
        options=JobOptions(of_type=choice),
        custodians=[],
        tasks=[],
        workers=1,
        slots=1,
    )
    with site.copy.handle.database.transaction() as conn:
        jobs.create_job(conn, new)
    site.copy.run(CHANGE, state=state, job=new.id)
    return str(new.id)


def test_a_discovery_has_its_own_productions_and_images_that_can_be_taken(site: Any) -> None:
    here, other = site.copy.handle.id, uuid.uuid4()
    fit = _made(site, JobType.PROCESSING, here)
    shown = {
        fit,
        _made(site, JobType.EXPORT, here, state="completed_with_exceptions"),
        _made(site, JobType.PROCESSING, here, state="cancelled"),
        _made(site, JobType.PROCESSING, here, other),
    }
    hidden = {_made(site, JobType.PROCESSING, other), _made(site, JobType.EXPORT, other)}
    page = site.client.get(f"/jobs/{here}/produce?type=export").text
    form, _, below = page.partition("of its items</h2>")
    assert {each for each in shown | hidden if f"/jobs/{each}" in below} == shown
    select = re.search(r"<select id=\"f-images\".*?</select>", form, re.DOTALL)
    assert select is not None
    assert re.findall(r"<option value=\"([^\"]*)\"", select[0]) == ["", fit]


def test_a_production_reports_what_it_left_out(site: Any) -> None:
    """On its page and in its result."""
    here = site.copy.handle.id
    reported = {"items": 4, "chosen": 12, "withheld": 2, "copies": 3, "system_files": 1, "containers": 2}
    made = _made(site, JobType.EXPORT, here, withhold=("privileged",), **reported)
    page = site.client.get(f"/jobs/{made}").text
    for line in (
        "12 items, 4 of them produced",
        "2 items: tag privileged, with families",
        "3 items, omitted as dup",
    ):
        assert line in page
    assert 'role="note" id="production"' in page
    assert site.client.get(f"/api/v1/jobs/{made}/result").json()["production"].items() >= reported.items()
    warned = site.client.get(f"/jobs/{_made(site, JobType.EXPORT, here, equal=5)}").text
    assert 'role="alert" id="production"' in warned
    assert "5 produced items are duplicates of an item" in warned


def test_a_verification_reports_on_the_page_what_the_command_reports(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = _made(site, JobType.PROCESSING, site.copy.handle.id)
    counts = (("application/pdf", 3, True), ("text/plain", 4, False))
    pages = [
        PageCount(media_type=of, items=9, pages=20, found_pages=21, differing=differing, exact=exact)
        for of, differing, exact in counts
    ]
    nothing: dict[str, Any] = dict.fromkeys(
        ("items", "files", "bytes", "missing", "extra", "wrong", "load_file_faults"), 0
    )
    lists: dict[str, Any] = {"examples": [], "load_files": [], "load_file_examples": []}
    done = ProductionVerification(
        job_id=uuid.UUID(made), type=JobType.PROCESSING, out="/x", pages=pages, **nothing, **lists
    )
    monkeypatch.setattr(verify, "verify_production", lambda *_, **__: done)
    assert site.client.post(f"/api/v1/jobs/{made}/verify", json={}).status_code == 202
    until(
        lambda: (
            not site.client.get(f"/api/v1/jobs/{made}/background-tasks").json()["background_tasks"]["verify"]["running"]
        ),
        "it ends",
    )
    outcome = site.client.get(f"/api/v1/jobs/{made}/background-tasks").json()["background_tasks"]["verify"]["outcome"]
    assert (outcome["differences"], outcome["pages_wrong"]) == (3, 3)
    page = site.client.get(f"/jobs/{made}/custody").text
    assert re.search(r"<dt>verified at</dt><dd>20\d\d-.* UTC</dd><dt>differences</dt><dd>3</dd>", page)
    table = page.partition('id="pages"')[2].partition("</table>")[0]
    for media_type, differing, _ in counts:
        assert re.search(rf"{media_type}.*>{differing}</td>", table), media_type
    (action,) = site.client.get(f"/api/v1/jobs/{made}/actions").json()["actions"]
    assert (action["action"], action["details"]["differences"], action["details"]["pages_wrong"]) == ("verified", 3, 3)


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
    made = produce(copy.settings, [copy.handle], JobType.EXPORT, out=str(Path(copy.settings.storage).parent / "out"))
    copy.run("UPDATE job SET state = 'completed', finished_at = clock_timestamp() WHERE id = %(j)s", j=made.id)
    return str(made.id)


@pytest.mark.parametrize(("method", "path", "body"), _OF_ITEMS)
def test_an_export_has_no_items_to_ask_for(site: Any, export: str, method: str, path: str, body: Any) -> None:
    """0 of 0 would look as if nothing were found, a tag that is given to nothing as if it were given."""
    answer = site.client.request(method, f"{API}/jobs/{export}/{path}", json=body)
    assert answer.status_code == 409, answer.text
    assert answer.json()["error"] == f"job {export} is of type export and has no items; give a discovery"


@pytest.mark.parametrize("path", _PAGES)
def test_nor_has_its_page(site: Any, export: str, path: str) -> None:
    """The address of a page can be typed, or kept from an earlier version."""
    answer = site.client.get(f"/jobs/{export}/{path}")
    assert (answer.status_code, "has no items" in answer.text) == (409, True)


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


def test_what_was_done_to_an_export_is_reported_of_it(site: Any, export: str) -> None:
    lines = site.client.get(f"{API}/jobs/{export}/custody.jsonl").text.splitlines()
    assert json.loads(lines[0])["job"] == export
    (created,) = site.client.get(f"{API}/jobs/{export}/actions").json()["actions"]
    assert created["details"]["type"] == "export"
    assert site.client.get(f"/jobs/{export}/custody").status_code == 200
