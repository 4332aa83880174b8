"""Findings of reviews in the web UI and its API, over a finished job."""

import csv
import re
import threading
from typing import Any

import pytest

from review import routes

ATTACK = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>\u202e"


@pytest.fixture(scope="module")
def base(site: Any) -> str:
    return f"/jobs/{site.copy.handle.id}"


def test_duplicates_are_looked_for_shown_and_left_out(site: Any, base: str) -> None:
    begun = site.client.post(f"{site.job}/duplicates", json={"by": "item"})
    assert begun.status_code == 202
    outcome = site.done("dedupe")["outcome"]
    assert outcome["groups"] > 0
    assert site.client.get(f"{site.job}/duplicates").json() == outcome
    copies = site.client.get(f"{site.job}/items", params={"duplicate": True, "limit": 1000}).json()["items"]
    assert len(copies) == outcome["duplicates"]
    equals = site.client.get(f"{site.job}/items/{copies[0]['id']}/duplicates").json()["equals"]
    assert equals[0]["copy_of"] is None
    assert {each["copy_of"] for each in equals[1:]} == {equals[0]["item"]}
    assert equals[0]["item"] in site.page(f"{base}/items/{copies[0]['id']}")
    assert copies[0]["id"] not in site.page(f"{base}/items?duplicate=no")
    assert f"{outcome['duplicates']:,} items" in site.page(f"{base}/review")
    wrong = site.client.post(f"{site.job}/duplicates", json={"others": ["ffffffff"]})
    assert list(wrong.json()["errors"]) == ["others"]


def test_the_page_waits_for_what_ends_while_it_is_drawn(site: Any, base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    over, real = threading.Event(), routes._findings

    def read_before_the_end(context: Any, jobs: Any, report: Any) -> Any:
        try:
            return real(context, jobs, report)
        finally:
            over.set()
            site.done("threads")

    monkeypatch.setattr(routes, "_findings", read_before_the_end)
    site.app.state.context.start_background(site.copy.handle.id, "threads", over.wait)
    assert "data-background" in site.page(f"{base}/review")
    assert "data-background" not in site.page(f"{base}/review")


def test_near_duplicates_are_looked_for_shown_and_left_out(site: Any, base: str) -> None:
    for path in ("near-duplicates", "near-duplicates.csv", "items?near=true", "items.csv?near=true"):
        refused = site.client.get(f"{site.job}/{path}")
        assert (refused.status_code, "`edbench review near-dup " in refused.json()["error"]) == (409, True), path
    assert "edbench review near-dup" in site.page(f"{base}/items?near=no", 422)
    outcome = _found(site, "near", "near-duplicates", {"threshold": 0.85})
    assert outcome["near"] > 0
    assert outcome["threshold"] == 0.85
    copies = site.client.get(f"{site.job}/items", params={"near": True, "limit": 1000}).json()["items"]
    rows = list(csv.DictReader(site.client.get(f"{site.job}/near-duplicates.csv").text.splitlines()))
    assert {row["item"] for row in rows if row["near"] == "true"} == {each["id"] for each in copies}
    assert (len(copies), len(rows)) == (outcome["near"], outcome["near"] + outcome["groups"])
    last = next(row for row in rows if row["near"] == "true")
    group = site.client.get(f"{site.job}/items/{last['item']}/near-duplicates").json()["near"]
    reported = [(row["item"], float(row["similarity"])) for row in rows if row["principal"] == last["principal"]]
    assert [(each["item"], each["similarity"]) for each in group] == reported
    assert [each["near_to"] for each in group] == [None] + [last["principal"]] * (len(group) - 1)
    assert all(item in site.page(f"{base}/items/{last['item']}") for item, _ in reported)
    alone = {each["id"] for each in site.client.get(f"{site.job}/items?near=false&limit=1000").json()["items"]}
    assert not alone & {each["id"] for each in copies}
    single = next(iter(alone - {row["item"] for row in rows}))
    assert site.client.get(f"{site.job}/items/{single}/near-duplicates").json() == {"near": []}
    assert f"{outcome['near']:,} items" in site.page(f"{base}/review")
    site.copy.run("UPDATE job SET finished_at = finished_at + interval '1 day'")
    try:
        for path in ("near-duplicates", "near-duplicates.csv", f"items/{last['item']}/near-duplicates"):
            assert "processed again" in site.client.get(f"{site.job}/{path}").json()["error"]
        assert "processed again" in site.page(f"{base}/review")
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
            text = site.page(where)
            assert "&lt;script&gt;alert(1)" in text
            assert not re.search(r"<script(?! src=\"/static/)|<img", text)
        assert f"'={ATTACK}" in site.client.get(f"{site.job}/near-duplicates.csv").text
        raw = site.client.get(f"{site.job}/near-duplicates.csv?raw=true").text
        assert f"={ATTACK}" in raw
        assert f"'={ATTACK}" not in raw
    finally:
        site.copy.run("UPDATE item SET container_path = %(path)s WHERE id = %(id)s", id=row["item"], path=path)


def test_languages_are_shown_and_lead_to_their_items(site: Any, base: str) -> None:
    refused = site.client.get(f"{site.job}/languages")
    assert (refused.status_code, "`edbench review languages " in refused.json()["error"]) == (409, True)
    unknown = site.client.get(f"{base}/items?language=de")
    assert (unknown.status_code, "languages were not detected" in unknown.text) == (422, True)
    outcome = _found(site, "languages", "languages", {})
    assert sum(outcome["by"].values()) == outcome["texts"] > 0
    page = site.page(f"{base}/review")
    for language, number in list(outcome["by"].items())[:3]:
        of_it = site.client.get(f"{site.job}/items?limit=1000&language={language}").json()
        assert len(of_it["items"]) == number
        one = site.client.get(f"{site.job}/items/{of_it['items'][0]['id']}").json()
        assert one["metadata"]["language"] == language
        assert f"{base}/items?language={language}" in page
    assert of_it["items"][0]["id"] in site.page(f"{base}/items?language={language}")
    assert f'value="{language}" selected' in site.page(f"{base}/items?language={language}")


def _found(site: Any, kind: str, path: str, order: dict[str, Any]) -> dict[str, Any]:
    """What was looked for over the API came to."""
    begun = site.client.post(f"{site.job}/{path}", json=order)
    assert begun.status_code == 202, begun.text
    outcome = dict(site.done(kind)["outcome"])
    assert site.client.get(f"{site.job}/{path}").json() == outcome
    return outcome


@pytest.mark.parametrize(
    ("path", "order", "field", "shows"),
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
    site: Any, path: str, order: dict[str, Any], field: str, shows: str
) -> None:
    refused = site.client.post(f"{site.job}/{path}", json=order)
    assert refused.status_code == 422
    assert list(refused.json()["errors"]) == [field]
    assert shows in refused.json()["errors"][field]
    nowhere = site.client.post(f"/api/v1/jobs/ffffffff/{path}", json={})
    assert (nowhere.status_code, "\n" in nowhere.json()["error"]) == (404, False)
    assert site.client.get(f"/api/v1/jobs/ffffffff/{path}").status_code == 404


def test_messages_are_threaded_and_a_thread_is_walked(site: Any, base: str) -> None:
    assert site.client.post(f"{site.job}/threads", json={}).status_code == 202
    outcome = site.done("threads")["outcome"]
    assert outcome["largest"] > 1
    rows = site.client.get(f"{site.job}/threads.csv?raw=true").text.splitlines()
    sizes: dict[str, list[str]] = {}
    for row in rows[1:]:
        _, thread, item, *_ = row.split(",")
        sizes.setdefault(thread, []).append(item)
    longest = max(sizes.values(), key=len)
    messages = site.client.get(f"{site.job}/items/{longest[0]}/thread").json()["messages"]
    assert sorted(each["item"] for each in messages) == sorted(longest)
    assert all(item in site.page(f"{base}/items/{longest[0]}") for item in longest)


def test_before_anybody_looked_the_list_states_what_to_do(site: Any, base: str) -> None:
    text = site.page(f"{base}/items?system=no", 422)
    assert "denist" in text
    wrong = site.client.post(f"{site.job}/system-files", json={"lists": ["0:no.txt"]})
    assert list(wrong.json()["errors"]) == ["lists"]
