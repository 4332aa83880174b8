"""The viewer and what a reviewer does with it, over a finished job."""

from __future__ import annotations

import csv
import html
import json
import re
import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from core.errors import DatabaseFault
from review import routes
from web.api import custody
from web.pages.search import HITS

pytestmark = pytest.mark.services

ATTACK = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>\u202e"


@pytest.fixture(scope="module")
def base(site: Any) -> str:
    return f"/jobs/{site.copy.handle.id}"


@pytest.fixture(scope="module")
def items(site: Any) -> list[dict[str, Any]]:
    """Of the job, in path order."""
    return list(site.client.get(f"{site.job}/items", params={"limit": 1000}).json()["items"])


def _page(site: Any, path: str, status: int = 200) -> str:
    answer = site.client.get(path)
    assert answer.status_code == status, answer.text
    return str(answer.text)


def _done(site: Any, kind: str) -> dict[str, Any]:
    """An background_task of the job, once it is over."""
    end = time.monotonic() + 120
    while True:
        found = site.client.get(f"{site.job}/background-tasks").json()["background_tasks"][kind]
        if not found["running"]:
            return dict(found)
        assert time.monotonic() < end
        time.sleep(0.01)


def _links(text: str) -> dict[str, str | None]:
    """Where `previous` and `next` lead."""
    out: dict[str, str | None] = {}
    for which in ("before", "after"):
        tag = re.search(rf"<a class=\"button\" id=\"{which}\"[^>]*>", text)
        assert tag is not None
        href = re.search(r"href=\"([^\"]+)\"", tag[0])
        out[which] = html.unescape(href[1]) if href else None
    return out


@pytest.mark.parametrize("narrowed", ["", "kind=attachment", "exception=any"])
def test_the_way_leads_through_the_list_and_back(site: Any, base: str, narrowed: str) -> None:
    listed = site.client.get(f"{site.job}/items?limit=6&{narrowed}").json()["items"]
    assert len(listed) == 6
    path: str | None = f"{base}/items/{listed[0]['id']}?{narrowed}"
    before = None
    for item in listed:
        assert path is not None
        assert item["id"] in path
        way = _links(_page(site, path))
        assert (way["before"] or "").partition("?")[0] == ("" if before is None else f"{base}/items/{before}")
        before, path = item["id"], way["after"]
    last = site.client.get(f"{site.job}/items?limit=1000&{narrowed}").json()["items"][-1]
    assert _links(_page(site, f"{base}/items/{last['id']}?{narrowed}"))["after"] is None


def test_the_way_leads_through_a_search_by_rank(site: Any, base: str) -> None:
    hits = site.client.get(f"{site.job}/search", params={"q": "body:the", "limit": HITS}).json()["hits"]
    found = _page(site, f"{base}/search?q=body%3Athe")
    first = html.unescape(re.findall(r"<div><a href=\"([^\"]+)\"", found)[0])
    text = _page(site, first)
    way = _links(text)
    assert way["before"] is None
    assert hits[1]["item"] in str(way["after"])
    assert "<mark>" in text
    assert hits[0]["item"] in str(_links(_page(site, str(way["after"])))["before"])
    assert _links(_page(site, first.replace("at=0", "at=900")))["after"] is None, "what is not there leads nowhere"


def test_words_of_a_search_are_marked_where_they_stand(site: Any, items: list[dict[str, Any]]) -> None:
    hit = site.client.get(f"{site.job}/search", params={"q": "body:the"}).json()["hits"][0]["item"]
    path = f"{site.job}/items/{hit}/text"
    whole = site.client.get(path, params={"q": "body:the"}).json()
    assert whole["matches"]
    assert {whole["text"][a:b].lower() for a, b in whole["matches"]} == {"the"}
    first = whole["matches"][0][0]
    portion = site.client.get(path, params={"q": "body:the", "limit": max(1, first)}).json()
    assert (portion["matches"], portion["next_match"]) == ([], first)
    assert site.client.get(path, params={"q": "nosuchfield:x"}).status_code == 422
    assert site.client.get(path, params={"q": "zzzzz"}).json()["matches"] == []


def test_what_data_say_is_never_markup(site: Any, base: str, items: list[dict[str, Any]]) -> None:
    item = next(each for each in items if each["media_type"] == "message/rfc822" and each["characters"])
    told = {"id": item["id"], "attack": ATTACK, "metadata": json.dumps({"subject": ATTACK, "from": [ATTACK]})}
    site.copy.run("UPDATE item SET container_path = ARRAY[%(attack)s] WHERE id = %(id)s", **told)
    site.copy.run("UPDATE item_text SET metadata = %(metadata)s::jsonb WHERE item = %(id)s", **told)
    order = {"tag": "hot", "items": [item["id"]]}
    assert site.client.post(f"{site.job}/tags", json=order).json() == {
        "tag": "hot",
        "found": 1,
        "changed": 1,
        "unaware": [],
    }
    try:
        for path in (
            f"items/{item['id']}?q=%3Cb%3E",
            "items",
            "search?q=*",
            "review",
            "custody",
            "search?q=%3Cscript%3E",
        ):
            text = _page(site, f"{base}/{path}")
            assert not re.search(r"<script(?! src=\"/static/)|<img|<b>|onerror=alert\(2\)>\"", text), path
            assert "\u202e" not in text
        assert "&lt;script&gt;alert(1)" in _page(site, f"{base}/items/{item['id']}")
    finally:
        undo = {"id": item["id"], "path": item["container_path"]}
        site.copy.run("UPDATE item SET container_path = %(path)s WHERE id = %(id)s", **undo)


def test_items_are_tagged_with_their_families_and_it_is_written_down(site: Any, items: list[dict[str, Any]]) -> None:
    child = next(each for each in items if each["family"] and each["family"] != each["id"])
    family = [each["id"] for each in items if each["family"] == child["family"]]
    wrong = {"tag": "kin", "items": [child["id"], str(uuid.UUID(int=7))]}
    refused = site.client.post(f"{site.job}/tags", json=wrong)
    assert (refused.status_code, list(refused.json()["errors"])) == (422, ["items"])
    assert "kin" not in [each["tag"] for each in site.client.get(f"{site.job}/tags").json()["tags"]]
    order = {"tag": "kin", "items": [child["id"]], "families": True}
    assert site.client.post(f"{site.job}/tags", json=order).json()["changed"] == len(family)
    gone = site.client.post(f"{site.job}/tags", json=order | {"remove": True}).json()
    assert gone["changed"] == len(family)
    last = site.client.get(f"{site.job}/actions").json()["actions"][-1]
    assert (last["action"], last["details"]["items"]) == ("untagged", [child["id"]])
    assert not last["broken"]
    both = {"tag": "kin", "items": [child["id"]], "query": "the"}
    assert site.client.post(f"{site.job}/tags", json=both).status_code == 422


def test_duplicates_are_looked_for_shown_and_left_out(site: Any, base: str) -> None:
    begun = site.client.post(f"{site.job}/duplicates", json={"by": "item"})
    assert begun.status_code == 202
    outcome = _done(site, "dedupe")["outcome"]
    assert outcome["groups"] > 0
    assert site.client.get(f"{site.job}/duplicates").json() == outcome
    copies = site.client.get(f"{site.job}/items", params={"duplicate": True, "limit": 1000}).json()["items"]
    assert len(copies) == outcome["duplicates"]
    equals = site.client.get(f"{site.job}/items/{copies[0]['id']}/duplicates").json()["equals"]
    assert equals[0]["copy_of"] is None
    assert {each["copy_of"] for each in equals[1:]} == {equals[0]["item"]}
    assert equals[0]["item"] in _page(site, f"{base}/items/{copies[0]['id']}")
    assert copies[0]["id"] not in _page(site, f"{base}/items?duplicate=no")
    assert f"{outcome['duplicates']:,} items" in _page(site, f"{base}/review")
    wrong = site.client.post(f"{site.job}/duplicates", json={"others": ["ffffffff"]})
    assert list(wrong.json()["errors"]) == ["others"]


def test_the_page_waits_for_what_ends_while_it_is_drawn(site: Any, base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    over, real = threading.Event(), routes.threads

    def read_before_the_end(context: Any, jobs: Any) -> Any:
        try:
            return real(context, jobs)
        finally:
            over.set()
            _done(site, "threads")

    monkeypatch.setattr(routes, "threads", read_before_the_end)
    site.app.state.context.start_background(site.copy.handle.id, "threads", over.wait)
    assert "data-background" in _page(site, f"{base}/review")
    assert "data-background" not in _page(site, f"{base}/review")


def test_near_duplicates_are_looked_for_shown_and_left_out(site: Any, base: str) -> None:
    for path in ("near-duplicates", "near-duplicates.csv", "items?near=true", "items.csv?near=true"):
        refused = site.client.get(f"{site.job}/{path}")
        assert (refused.status_code, "`edbench review near-dup " in refused.json()["error"]) == (409, True), path
    assert "edbench review near-dup" in _page(site, f"{base}/items?near=no", 422)
    outcome = _found(site, "near", "near-duplicates", {"threshold": 0.85})
    assert outcome["near"] > 0
    assert outcome["threshold"] == 0.85
    copies = site.client.get(f"{site.job}/items", params={"near": True, "limit": 1000}).json()["items"]
    rows = list(csv.DictReader(site.client.get(f"{site.job}/near-duplicates.csv").text.splitlines()))
    assert {row["item"] for row in rows if row["near"] == "true"} == {each["id"] for each in copies}
    assert (len(copies), len(rows)) == (outcome["near"], outcome["near"] + outcome["groups"])
    last = next(row for row in rows if row["near"] == "true")
    group = site.client.get(f"{site.job}/items/{last['item']}/near-duplicates").json()["near"]
    told = [(row["item"], float(row["similarity"])) for row in rows if row["principal"] == last["principal"]]
    assert [(each["item"], each["similarity"]) for each in group] == told
    assert [each["near_to"] for each in group] == [None] + [last["principal"]] * (len(group) - 1)
    assert all(item in _page(site, f"{base}/items/{last['item']}") for item, _ in told)
    alone = {each["id"] for each in site.client.get(f"{site.job}/items?near=false&limit=1000").json()["items"]}
    assert not alone & {each["id"] for each in copies}
    single = next(iter(alone - {row["item"] for row in rows}))
    assert site.client.get(f"{site.job}/items/{single}/near-duplicates").json() == {"near": []}
    assert f"{outcome['near']:,} items" in _page(site, f"{base}/review")
    site.copy.run("UPDATE job SET finished_at = finished_at + interval '1 day'")
    try:
        for path in ("near-duplicates", "near-duplicates.csv", f"items/{last['item']}/near-duplicates"):
            assert "processed again" in site.client.get(f"{site.job}/{path}").json()["error"]
        assert "processed again" in _page(site, f"{base}/review")
    finally:
        site.copy.run("UPDATE job SET finished_at = finished_at - interval '1 day'")


def test_paths_of_near_duplicates_are_text_and_no_formulas(site: Any, base: str) -> None:
    _found(site, "near", "near-duplicates", {})
    row = next(csv.DictReader(site.client.get(f"{site.job}/near-duplicates.csv").text.splitlines()))
    path = site.client.get(f"{site.job}/items/{row['item']}").json()["container_path"]
    site.copy.run(
        "UPDATE item SET container_path = ARRAY[%(path)s] WHERE id = %(id)s", id=row["item"], path=f"={ATTACK}"
    )
    try:
        for where in (f"{base}/review", f"{base}/items/{row['item']}"):
            text = _page(site, where)
            assert "&lt;script&gt;alert(1)" in text
            assert not re.search(r"<script(?! src=\"/static/)|<img", text)
        assert f"'={ATTACK}" in site.client.get(f"{site.job}/near-duplicates.csv").text
        raw = site.client.get(f"{site.job}/near-duplicates.csv?raw=true").text
        assert f"={ATTACK}" in raw
        assert f"'={ATTACK}" not in raw
    finally:
        site.copy.run("UPDATE item SET container_path = %(path)s WHERE id = %(id)s", id=row["item"], path=path)


@pytest.mark.parametrize(
    ("field", "said"), [("type", "no item has the media type"), ("custodian", "there is no custodian")]
)
def test_a_filter_that_nothing_passes_is_told_beside_its_field(site: Any, base: str, field: str, said: str) -> None:
    page = site.client.get(f"{base}/items?{field}=nobody")
    assert page.status_code == 422
    assert re.search(rf'name="{field}" value="nobody"[^>]* aria-invalid="true".*?role="alert">{said}', page.text)


def test_languages_are_told_and_lead_to_their_items(site: Any, base: str) -> None:
    refused = site.client.get(f"{site.job}/languages")
    assert (refused.status_code, "`edbench review languages " in refused.json()["error"]) == (409, True)
    unknown = site.client.get(f"{base}/items?language=de")
    assert (unknown.status_code, "languages were not detected" in unknown.text) == (422, True)
    outcome = _found(site, "languages", "languages", {})
    assert sum(outcome["by"].values()) == outcome["texts"] > 0
    page = _page(site, f"{base}/review")
    for language, number in list(outcome["by"].items())[:3]:
        of_it = site.client.get(f"{site.job}/items", params={"where": f"language={language}", "limit": 1000}).json()
        assert len(of_it["items"]) == number
        assert f"{base}/items?language={language}" in page
    assert of_it["items"][0]["id"] in _page(site, f"{base}/items?language={language}")
    told = {each["id"] for each in site.client.get(f"{site.job}/items?limit=1000&language={language}").json()["items"]}
    assert told == {each["id"] for each in of_it["items"]}
    assert f'value="{language}" selected' in _page(site, f"{base}/items?language={language}")


def _found(site: Any, kind: str, path: str, order: dict[str, Any]) -> dict[str, Any]:
    """What was looked for over the API came to."""
    begun = site.client.post(f"{site.job}/{path}", json=order)
    assert begun.status_code == 202, begun.text
    outcome = dict(_done(site, kind)["outcome"])
    assert site.client.get(f"{site.job}/{path}").json() == outcome
    return outcome


@pytest.mark.parametrize(
    ("path", "order", "field", "says"),
    [
        ("near-duplicates", {"threshold": 0.3}, "threshold", "0.5"),
        ("near-duplicates", {"threshold": 1.01}, "threshold", "1"),
        ("near-duplicates", {"scope": "house"}, "scope", "custodian"),
        ("near-duplicates", {"others": ["ffffffff"]}, "others", "ffffffff"),
        ("near-duplicates", {"by": "item"}, "by", ""),
        ("languages", {"others": ["ffffffff"]}, "others", "ffffffff"),
        ("languages", {"threshold": 0.8}, "threshold", ""),
    ],
)
def test_what_cannot_be_looked_for_is_refused_at_its_field(
    site: Any, path: str, order: dict[str, Any], field: str, says: str
) -> None:
    refused = site.client.post(f"{site.job}/{path}", json=order)
    assert refused.status_code == 422
    assert list(refused.json()["errors"]) == [field]
    assert says in refused.json()["errors"][field]
    nowhere = site.client.post(f"/api/v1/jobs/ffffffff/{path}", json={})
    assert (nowhere.status_code, "\n" in nowhere.json()["error"]) == (404, False)
    assert site.client.get(f"/api/v1/jobs/ffffffff/{path}").status_code == 404


def test_messages_are_threaded_and_a_thread_is_walked(site: Any, base: str) -> None:
    assert site.client.post(f"{site.job}/threads", json={}).status_code == 202
    outcome = _done(site, "threads")["outcome"]
    assert outcome["largest"] > 1
    rows = site.client.get(f"{site.job}/threads.csv?raw=true").text.splitlines()
    sizes: dict[str, list[str]] = {}
    for row in rows[1:]:
        _, thread, item, *_ = row.split(",")
        sizes.setdefault(thread, []).append(item)
    longest = max(sizes.values(), key=len)
    messages = site.client.get(f"{site.job}/items/{longest[0]}/thread").json()["messages"]
    assert sorted(each["item"] for each in messages) == sorted(longest)
    assert all(item in _page(site, f"{base}/items/{longest[0]}") for item in longest)


def test_before_anybody_looked_the_list_says_what_to_do(site: Any, base: str) -> None:
    text = _page(site, f"{base}/items?system=no", 422)
    assert "denist" in text
    wrong = site.client.post(f"{site.job}/system-files", json={"lists": ["0:no.txt"]})
    assert list(wrong.json()["errors"]) == ["lists"]


def test_a_job_is_verified_and_its_custody_told(site: Any, base: str) -> None:
    assert site.client.post(f"{site.job}/verify", json={}).status_code == 202
    found = _done(site, "verify")
    assert found["error"] is None
    assert found["outcome"]["items"] > 0
    lines = [json.loads(line) for line in site.client.get(f"{site.job}/custody.jsonl").text.splitlines()]
    assert lines[0]["action"] == "created"
    assert sum(line["record"] == "item" for line in lines) == found["outcome"]["items"]
    sets = [line["parsers"] for line in lines if line["record"] == "parsers"]
    assert {line["parsers"] for line in lines if line["record"] == "item"} == set(sets)
    alone = site.client.get(f"{site.job}/custody.jsonl?actions=true").text
    *told, end = [json.loads(line) for line in alone.splitlines()]
    assert {line["record"] for line in told} == {"action"}
    assert end == {"record": "end", "actions": len(told), "items": 0}
    assert lines[-1] == end | {"items": found["outcome"]["items"]}
    assert "created" in _page(site, f"{base}/custody")


def test_a_list_of_custody_that_fails_in_the_middle_is_an_error(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the database goes away between two portions of items: no 200 whose last line is whole."""

    def cut_short(_handles: Any) -> Iterator[dict[str, str]]:
        yield {"record": "item"}
        raise DatabaseFault("the database has gone")

    monkeypatch.setattr(custody, "items_of", cut_short)
    answer = site.client.get(f"{site.job}/custody.jsonl")
    assert (answer.status_code, answer.json()["error"]) == (503, "the database has gone")


def test_a_hit_report_is_csv_too(site: Any) -> None:
    order = {"terms": ["the", "=the"]}
    plain = site.client.post(f"{site.job}/terms.csv", json={"terms": ["the"]})
    report = site.client.post(f"{site.job}/terms", json={"terms": ["the"]}).json()
    first = plain.text.splitlines()[1].split(",")
    assert (first[1], int(first[4])) == ("the", report["terms"][0]["items"])
    assert "'=the" in site.client.post(f"{site.job}/terms.csv", json=order).text


def test_a_server_without_measurements_refuses_them(site: Any) -> None:
    listed = site.client.get("/api/v1/measurements").json()
    assert "starts no measurements" in listed["refused"]
    refused = site.client.post("/api/v1/measurements/scale-up", json={"corpus": "0:c"})
    assert (refused.status_code, refused.json()["error"]) == (409, listed["refused"])
    assert listed["refused"] in html.unescape(_page(site, "/measure"))
