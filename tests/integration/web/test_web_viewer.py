"""The viewer and what a reviewer does with it, over a finished job."""

import html
import json
import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from core.errors import DatabaseFault
from web.api import custody
from web.pages.viewer import HITS

ATTACK = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>\u202e"


@pytest.fixture(scope="module")
def base(site: Any) -> str:
    return f"/jobs/{site.copy.handle.id}"


@pytest.fixture(scope="module")
def items(site: Any) -> list[dict[str, Any]]:
    """Of the job, in path order."""
    return list(site.client.get(f"{site.job}/items", params={"limit": 1000}).json()["items"])


def _links(text: str) -> dict[str, str | None]:
    """Where `previous` and `next` lead."""
    out: dict[str, str | None] = {}
    for which in ("before", "after"):
        tag = re.search(rf"<a class=\"button\" id=\"{which}\"[^>]*>", text)
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
        way = _links(site.page(path))
        assert (way["before"] or "").partition("?")[0] == ("" if before is None else f"{base}/items/{before}")
        before, path = item["id"], way["after"]
    last = site.client.get(f"{site.job}/items?limit=1000&{narrowed}").json()["items"][-1]
    assert _links(site.page(f"{base}/items/{last['id']}?{narrowed}"))["after"] is None


def test_the_way_leads_through_a_search_by_rank(site: Any, base: str) -> None:
    hits = site.client.get(f"{site.job}/search", params={"q": "body:the", "limit": HITS}).json()["hits"]
    found = site.page(f"{base}/search?q=body%3Athe")
    first = html.unescape(re.findall(r"<div><a href=\"([^\"]+)\"", found)[0])
    text = site.page(first)
    way = _links(text)
    assert way["before"] is None
    assert hits[1]["item"] in str(way["after"])
    assert "<mark>" in text
    assert hits[0]["item"] in str(_links(site.page(str(way["after"])))["before"])
    assert _links(site.page(first.replace("at=0", "at=900")))["after"] is None, "what is not there leads nowhere"


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
    reported = {"id": item["id"], "attack": ATTACK, "metadata": json.dumps({"subject": ATTACK, "from": [ATTACK]})}
    site.copy.run("UPDATE item SET container_path = ARRAY[%(attack)s] WHERE id = %(id)s", **reported)
    site.copy.run("UPDATE item_text SET metadata = %(metadata)s::jsonb WHERE item = %(id)s", **reported)
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
            "custody",
            "search?q=%3Cscript%3E",
        ):
            text = site.page(f"{base}/{path}")
            assert not re.search(r"<script(?! src=\"/static/)|<img|<b>|onerror=alert\(2\)>\"", text), path
            assert "\u202e" not in text
        assert "&lt;script&gt;alert(1)" in site.page(f"{base}/items/{item['id']}")
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


@pytest.mark.parametrize(
    ("field", "message"), [("type", "no item has the media type"), ("custodian", "there is no custodian")]
)
def test_a_filter_that_nothing_passes_is_reported_beside_its_field(
    site: Any, base: str, field: str, message: str
) -> None:
    page = site.client.get(f"{base}/items?{field}=nobody")
    assert page.status_code == 422
    assert re.search(rf'name="{field}" value="nobody"[^>]* aria-invalid="true".*?role="alert">{message}', page.text)


def test_a_job_is_verified_and_its_custody_reported(site: Any, base: str) -> None:
    assert site.client.post(f"{site.job}/verify", json={}).status_code == 202
    found = site.done("verify")
    assert found["error"] is None
    assert found["outcome"]["items"] > 0
    lines = [json.loads(line) for line in site.client.get(f"{site.job}/custody.jsonl").text.splitlines()]
    assert lines[0]["action"] == "created"
    assert sum(line["record"] == "item" for line in lines) == found["outcome"]["items"]
    sets = [line["parsers"] for line in lines if line["record"] == "parsers"]
    assert {line["parsers"] for line in lines if line["record"] == "item"} == set(sets)
    alone = site.client.get(f"{site.job}/custody.jsonl?actions=true").text
    *reported, end = [json.loads(line) for line in alone.splitlines()]
    assert {line["record"] for line in reported} == {"action"}
    assert end == {"record": "end", "actions": len(reported), "items": 0}
    assert lines[-1] == end | {"items": found["outcome"]["items"]}
    assert "created" in site.page(f"{base}/custody")


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
    assert listed["refused"] in html.unescape(site.page("/measure"))
