"""What the API says of a finished job."""

from __future__ import annotations

import csv
import html
import io
import json
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pyarrow.parquet
import pytest
from fastapi.testclient import TestClient

from cli.main import OK, main

pytestmark = pytest.mark.services

API = "/api/v1"


def _get(site: Any, path: str, status: int = 200, **params: Any) -> Any:
    answer = site.client.get(path, params=params)
    assert answer.status_code == status, answer.text
    return answer.json()


@pytest.fixture(scope="module")
def truth(finished: Any) -> list[dict[str, Any]]:
    """The corpus's manifest, a row an item."""
    return pyarrow.parquet.read_table(finished.corpus / "manifest.parquet").to_pylist()


def test_the_server_says_how_it_is(site: Any) -> None:
    health = _get(site, f"{API}/health")
    assert (health["status"], set(health["databases"].values())) == ("ok", {"ok"})
    anonymous = TestClient(site.app, base_url="http://127.0.0.1").get(f"{API}/health")
    assert (anonymous.status_code, anonymous.json()) == (200, {"status": "ok", "databases": None})
    assert _get(site, f"{API}/version")["api"] == "v1"
    choices = _get(site, f"{API}/choices")
    assert choices["index_engines"] == ["tantivy", "whoosh"]
    assert choices["filers"] == ["none"], "the workers are others' here, and emulate none"


def test_the_list_and_the_job_agree(site: Any, truth: list[dict[str, Any]]) -> None:
    """Found by its id, by the beginning of it and as `last`; counts are those of the manifest."""
    listed = _get(site, f"{API}/jobs")
    row = listed["jobs"][0]
    assert listed["total"] == 1
    assert row["state"] == "completed_with_exceptions"
    for reference in (row["id"], row["id"][:8], "last", "LAST"):
        job = _get(site, f"{API}/jobs/{reference}")
        assert {key: job[key] for key in row} == row
    assert (row["items"], row["progress"], row["workers"], row["slots"]) == (len(truth), 1.0, 1, 2)
    assert row["gb_per_hour_discovered"] > row["gb_per_hour_raw"] > 0
    assert job["allowed"] == ["delete", "requeue", "verify"]
    assert job["options"]["index_engine"] == "tantivy"
    assert _get(site, f"{API}/jobs", state="running") == {"jobs": [], "total": 0}
    assert _get(site, f"{API}/jobs", offset=1)["jobs"] == []


def test_counts_and_result_add_up(site: Any, truth: list[dict[str, Any]]) -> None:
    counts = _get(site, f"{site.job}/counts")
    (job,) = counts["jobs"]
    for parts in (job["kinds"], job["media_types"], counts["custodians"]):
        assert sum(part["items"] for part in parts) == len(truth)
    assert job["violations"] == []
    result = _get(site, f"{site.job}/result")
    assert result["items"] == len(truth)
    assert sum(result["exceptions"].values()) == sum(row["exceptions"] for row in job["exceptions"])


def test_pages_of_items_are_all_items_once(site: Any, truth: list[dict[str, Any]]) -> None:
    seen: list[dict[str, Any]] = []
    after = None
    while True:
        page = _get(site, f"{site.job}/items", limit=97, **({"after": after} if after else {}))
        seen += page["items"]
        after = page["next"]
        if after is None:
            break
        assert len(page["items"]) == 97
    assert len({item["id"] for item in seen}) == len(seen) == len(truth)
    assert {item["sha256"] for item in seen if item["sha256"]} >= {
        row["sha256"].hex() for row in truth if row["sha256"]
    }


def test_filters_narrow_to_what_they_say(site: Any) -> None:
    counts = _get(site, f"{site.job}/counts")
    for field, parts in (
        ("kind", counts["jobs"][0]["kinds"]),
        ("type", counts["jobs"][0]["media_types"][:3]),
        ("custodian", counts["custodians"][:3]),
    ):
        for part in parts:
            found = _get(site, f"{site.job}/items", limit=1_000, **{field: part["name"]})["items"]
            assert len(found) == part["items"], (field, part)
    by_code = _get(site, f"{site.job}/exceptions")["rows"]
    for row in by_code:
        found = _get(site, f"{site.job}/items", limit=1_000, exception=row["name"])["items"]
        assert len(found) == row["items"]
        assert all(row["name"] in item["exceptions"] for item in found)
    some = _get(site, f"{site.job}/items", limit=1_000, exception="any")["items"]
    assert len(some) == len({item["id"] for item in some}) <= sum(row["items"] for row in by_code)
    assert _get(site, f"{site.job}/items", type="application/vnd.lotus-wordpro") == {"items": [], "next": None}
    for path in ("items", "items.csv"):
        wrong = _get(site, f"{site.job}/{path}", 422, type="x/nothing")["errors"]
        assert wrong == {"type": "no item has the media type 'x/nothing'"}
        assert "languages were not detected" in _get(site, f"{site.job}/{path}", 409, language="de")["error"]
        assert "languages were not detected" in _get(site, f"{site.job}/{path}", 409, where="language=de")["error"]
    assert "languages were not detected" in _get(site, f"{site.job}/search", 422, q="language:de")["errors"]["q"]
    for path, asked in (("items", {}), ("search", {"q": "the"})):
        assert (
            "no custodian 'nobody'"
            in _get(site, f"{site.job}/{path}", 422, custodian="nobody", **asked)["errors"]["custodian"]
        )
        told = _get(site, f"{site.job}/{path}", 422, costudian="nobody", **asked)["errors"]
        assert "unknown parameter; known are" in told["costudian"]
    custodian = counts["custodians"][0]["name"]
    assert {hit["custodian"] for hit in _get(site, f"{site.job}/search", q="the", custodian=custodian)["hits"]} == {
        custodian
    }
    for finding, sought in (("duplicate", "duplicates"), ("system", "system files")):
        assert f"was not searched for {sought} yet" in _get(site, f"{site.job}/items", 409, **{finding: False})["error"]
    assert "it can be any" in _get(site, f"{site.job}/items", 422, exception="weather")["errors"]["exception"]


def test_one_item_with_its_family_and_text(site: Any) -> None:
    attachment = _get(site, f"{site.job}/items", kind="attachment", limit=1)["items"][0]
    item = _get(site, f"{site.job}/items/{attachment['id']}")
    assert {key: item[key] for key in attachment} == attachment
    family = _get(site, f"{site.job}/items/{item['id']}/family")
    assert family["family"] == item["family"]
    assert family["ancestors"][-1]["id"] == item["parent"]
    assert item["id"] in {member["id"] for member in family["members"]}
    assert [member["depth"] for member in family["ancestors"]] == list(range(item["depth"]))
    box = next(i for i in _get(site, f"{site.job}/items", kind="loose_file", limit=1_000)["items"] if i["container"])
    inside = _get(site, f"{site.job}/items/{box['id']}/family")
    assert (inside["family"], inside["ancestors"]) == (None, [])
    assert {member["parent"] for member in inside["members"]} == {box["id"]}
    assert len(inside["members"]) == _get(site, f"{site.job}/items/{box['id']}")["children"]["emitted"]


def test_text_comes_in_pieces(site: Any) -> None:
    items = _get(site, f"{site.job}/items", limit=200)["items"]
    item = next(i for i in items if 100 < (i["characters"] or 0) < 100_000)  # all of it in one answer
    path = f"{site.job}/items/{item['id']}/text"
    whole = _get(site, path)["text"]
    assert len(whole) == item["characters"]
    first = _get(site, path, limit=60)
    assert (first["text"], first["next"], first["characters"]) == (whole[:60], 60, len(whole))
    assert _get(site, path, offset=60)["text"] == whole[60:]
    word = max((w for w in whole.split() if w.isalpha()), key=len)
    hits = _get(site, f"{site.job}/search", q=word, limit=1_000)["hits"]
    assert item["id"] in {hit["item"] for hit in hits}


def test_search_marks_matches_and_counts_what_it_found(site: Any) -> None:
    found = _get(site, f"{site.job}/search", q="the", limit=5)
    assert len(found["hits"]) == 5
    assert found["complete"]
    assert sum(row["items"] for row in found["types"]) == sum(row["items"] for row in found["custodians"])
    assert sum(row["items"] for row in found["types"]) == found["items"] > 5
    assert any(piece["match"] and piece["text"].lower() == "the" for hit in found["hits"] for piece in hit["snippet"])
    custodian = found["custodians"][0]
    narrowed = _get(site, f"{site.job}/search", q=f'(the) AND custodian:"{custodian["name"]}"')
    assert narrowed["items"] == custodian["items"]
    wrong = _get(site, f"{site.job}/search", 422, q='"open')
    assert "\n" not in wrong["errors"]["q"]


def test_exceptions_by_everything_and_as_csv(site: Any) -> None:
    sums = {
        by: sum(row["exceptions"] for row in _get(site, f"{site.job}/exceptions", by=by)["rows"])
        for by in ("code", "type", "custodian")
    }
    assert len(set(sums.values())) == 1
    answer = site.client.get(f"{site.job}/exceptions.csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert answer.headers["content-type"].startswith("text/csv")
    assert len(rows) == sums["code"]
    code = rows[0]["code"]
    some = list(csv.DictReader(io.StringIO(site.client.get(f"{site.job}/exceptions.csv", params={"code": code}).text)))
    assert some == [row for row in rows if row["code"] == code]
    assert _get(site, f"{site.job}/items/{rows[0]['item']}")["failures"][0]["detail"] == rows[0]["detail"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, ["-o", "csv"]),
        ({"raw": True, "kind": "attachment"}, ["-o", "csv", "--csv-raw", "--kind", "attachment"]),
        ({"text": "ok", "where": "date>1990"}, ["-o", "csv", "--text", "ok", "--where", "date>1990"]),
    ],
)
def test_items_as_csv_are_those_of_the_command(
    site: Any, capsys: pytest.CaptureFixture[str], asked: dict[str, Any], words: list[str]
) -> None:
    job = str(site.copy.handle.id)
    answer = site.client.get(f"{site.job}/items.csv", params=asked)
    assert main(["review", "items", job, *words], site.copy.settings.environment()) == OK
    rows = list(csv.reader(io.StringIO(answer.text, newline="")))
    assert rows == list(csv.reader(io.StringIO(capsys.readouterr().out, newline="")))
    assert len(rows) > 1
    asked.pop("raw", None)
    query = f"?{urlencode(asked)}" if asked else ""
    page = html.unescape(site.client.get(f"/jobs/{job}/items{query}").text)
    assert f'href="{site.job}/items.csv{query}" download' in page


def test_the_timeline_of_a_finished_job_and_its_end_as_an_event(site: Any) -> None:
    timeline = _get(site, f"{site.job}/timeline", points=20)
    assert timeline["state"] == "completed_with_exceptions"
    assert len(timeline["t"]) <= 20
    assert {"gb_per_hour", "calls"} <= {panel["id"] for panel in timeline["panels"]}
    for panel in timeline["panels"]:
        for series in panel["series"]:
            assert len(series["values"]) == len(timeline["t"]), panel["id"]
    text = site.client.get(f"{site.job}/events").text
    events = [block.split("\n") for block in text.strip().split("\n\n")]
    assert [lines[0] for lines in events] == ["event: timeline", "event: job", "event: end"]
    assert json.loads(events[2][1].removeprefix("data: ")) == {"state": "completed_with_exceptions"}


def test_a_filer_that_others_workers_do_not_emulate_is_refused_at_its_field(site: Any, make_site: Any) -> None:
    """They would suspend the job; where workers are started here, any profile can be chosen."""
    corpus = _get(site, f"{API}/corpora")["corpora"][0]["id"]
    refused = site.client.post(f"{API}/jobs", json={"corpus": corpus, "filer": "titan"})
    assert refused.status_code == 422
    assert "EDBENCH_FILER" in refused.json()["errors"]["filer"]
    assert "titan" in _get(make_site(embedded=True), f"{API}/choices")["filers"]


@pytest.mark.parametrize(
    ("order", "field", "said"),
    [
        ({"ocr_languages": "eng"}, "ocr_languages", "requires --ocr"),
        ({"ocr": True, "ocr_languages": "../eng"}, "ocr_languages", "write eng or eng+deu"),
        ({"ocr": True, "ocr_languages": "eng+zzz"}, "ocr_languages", "no data of zzz"),
        ({"ocr": True, "ocr_languages": ""}, "ocr_languages", "at least 1"),
    ],
)
def test_ocr_that_cannot_be_done_is_refused_at_its_field(
    make_site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: dict[str, object], field: str, said: str
) -> None:
    program = tmp_path / "tesseract"
    program.write_text('#!/bin/sh\ncase $1 in --version) echo tesseract 5.3.0;; *) echo "x (1):"; echo eng;; esac\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    site = make_site(embedded=True)
    corpus = _get(site, f"{API}/corpora")["corpora"][0]["id"]
    refused = site.client.post(f"{API}/jobs", json={"corpus": corpus, **order})
    assert refused.status_code == 422
    assert said in refused.json()["errors"][field]


def test_a_sources_error_stands_at_the_source_whatever_its_name_says(make_site: Any) -> None:
    site = make_site(embedded=True)
    roots = _get(site, f"{API}/corpora")["roots"]
    for gone in ("filer", "--shard", "--ocr-languages"):
        refused = site.client.post(f"{API}/jobs", json={"source": f"{roots[0]}/{gone}/gone"})
        assert refused.status_code == 422
        assert list(refused.json()["errors"]) == ["source"]


@pytest.mark.parametrize(
    ("order", "field", "said"),
    [
        ({"out": "relative"}, "out", "absolute"),
        ({"out": "/etc/production"}, "out", "EDBENCH_PRODUCTIONS"),
        ({"out": "{root}/../x"}, "out", "EDBENCH_PRODUCTIONS"),
        ({"out": "{root}/jobs/x"}, "out", "its own files"),
        ({"sources": ["0000"]}, "sources", "no job"),
        ({"sources": []}, "sources", "at least 1"),
        ({"sources": ["last", "last"]}, "sources", "named twice"),
        ({"type": "discovery"}, "type", "extraction"),
        ({"query": "("}, "query", ""),
        ({"query": "zyxwvut0"}, "query", "no item is chosen"),
        ({"query": "the NOT tag:nobodys"}, "query", "no item has the tag 'nobodys'"),
        ({"tag": "nobodys"}, "tag", "no item has the tag 'nobodys'"),
        ({"withhold": ["nobodys"]}, "withhold", "no item has the tag 'nobodys'"),
        ({"withhold": ["a/b"]}, "withhold", "not a name for"),
        ({"prefix": "../x"}, "prefix", "letters"),
        ({"originals": True}, "sources", "edbench review dedupe"),
        ({"filer": "/etc/passwd"}, "filer", "titan"),
        ({"type": "processing", "dpi": 10}, "dpi", "72"),
        ({"type": "processing", "images": "last"}, "images", "only an export uses the pages"),
        ({"images": "last"}, "images", "give a completed job of `edbench produce images`"),
        ({"images": "0000"}, "images", "there is no job"),
    ],
)
def test_a_production_that_makes_no_sense_is_refused_at_its_field(
    make_site: Any, order: dict[str, object], field: str, said: str
) -> None:
    """Before anything is written; what would lie outside the places of productions among it."""
    site = make_site(embedded=True)
    root = str(site.copy.settings.storage)
    out = str(order.get("out", "{root}/production")).replace("{root}", root)
    body = {"type": "export", "sources": ["last"], **order, "out": out}
    refused = site.client.post(f"{API}/productions", json=body)
    assert refused.status_code == 422, refused.text
    ((name, text),) = refused.json()["errors"].items()
    assert name.partition(".")[0] == field
    assert said in text
    assert not list(Path(root).glob("production/*"))


def test_ocr_without_tesseract_is_refused_at_its_field(
    make_site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    site = make_site(embedded=True)
    corpus = _get(site, f"{API}/corpora")["corpora"][0]["id"]
    refused = site.client.post(f"{API}/jobs", json={"corpus": corpus, "ocr": True})
    assert refused.status_code == 422
    assert "apt-get install tesseract-ocr" in refused.json()["errors"]["ocr"]


@pytest.mark.parametrize("path", ["jobs", "jobs/last/requeue"])
@pytest.mark.parametrize("passwords", [["fine, but", ""], ["fine, but", "a\nb"], ["fine, but", "x" * 600], []])
def test_passwords_that_are_none_are_refused_without_being_shown(site: Any, path: str, passwords: list[str]) -> None:
    """At the field, and the answer holds no password."""
    refused = site.client.post(f"{API}/{path}", json={"passwords": passwords})
    assert refused.status_code == 422
    assert all(name.startswith("passwords") for name in refused.json()["errors"])
    assert "fine, but" not in refused.text
    assert "xxx" not in refused.text


@pytest.mark.parametrize("path", ["zzzz", "0" * 32, "..%2F..%2Fetc%2Fpasswd", "%00"])
def test_what_is_not_there_is_404_with_one_line(site: Any, path: str) -> None:
    for route in (f"{API}/jobs/{path}", f"{API}/jobs/{path}/items", f"{API}/results/{path}", f"{API}/{path}"):
        answer = site.client.get(route)
        assert answer.status_code in (404, 422), (route, answer.text)
        assert "\n" not in answer.json()["error"]
    assert _get(site, f"{site.job}/items/{uuid.uuid4()}", 404)["error"].startswith("there is no item")


def test_the_document_and_its_page_cover_every_route(site: Any) -> None:
    spec = _get(site, f"{API}/openapi.json")
    assert {"/api/v1/jobs", "/api/v1/jobs/{job}/events", "/api/v1/results/{run}.zip"} <= set(spec["paths"])
    ids = [op["operationId"] for item in spec["paths"].values() for op in item.values()]
    assert len(ids) == len(set(ids))
    page = site.client.get(f"{API}/docs").text
    for path in spec["paths"]:
        assert path in page
    assert "http://" not in page.replace("http://127.0.0.1", "")
    assert site.client.get("/api/docs").headers["location"] == f"{API}/docs"


def test_corpora_are_those_of_the_roots(site: Any, finished: Any) -> None:
    listed = _get(site, f"{API}/corpora")
    assert str(site.copy.settings.storage) in listed["roots"]
    assert all(Path(corpus["path"]).is_dir() for corpus in listed["corpora"])
    assert not any(
        Path(corpus["path"]).name in ("jobs", "results") for corpus in listed["corpora"] if corpus["id"][0] == "0"
    )


def test_terms_tags_and_searches(site: Any) -> None:
    report = _sent(site, "POST", "terms", {"terms": ["the", "nosuchwordatall"]})
    assert [term["items"] for term in report["terms"]] == [_get(site, f"{site.job}/search", q="the")["items"], 0]
    made = _sent(site, "POST", "tags", {"tag": "seen", "query": "the AND size:>1kB", "families": True})
    assert made["changed"] == made["found"] == _get(site, f"{site.job}/search", q="tag:seen")["items"] > 0
    assert _get(site, f"{site.job}/tags")["tags"][0]["tag"] == "seen"
    assert _sent(site, "PUT", "searches", {"name": "hot", "query": "the"})["searches"][0]["query"] == "the"
    families = _get(site, f"{site.job}/search", q="saved:hot", families="true")
    assert families["items"] >= _get(site, f"{site.job}/search", q="saved:hot")["items"] > 0
    assert _sent(site, "DELETE", "searches/hot", None, 204) is None
    _sent(site, "DELETE", "searches/hot", None, 404)
    actions = _get(site, f"{site.job}/actions")["actions"]
    assert [action["action"] for action in actions] == ["created", "tagged", "search saved", "search forgotten"]
    assert {action["who"].partition(" at ")[0] for action in actions[1:]} == {"web UI"}
    wrong = _sent(site, "POST", "terms", {"terms": ["fine", '"open']}, 422)
    assert "line 2" in wrong["errors"]["terms"]
    lines = ["", "the", " ", "the", '"open'] + [""] * 2_000  # numbered as a file's are
    assert "line 5" in _sent(site, "POST", "terms", {"terms": lines}, 422)["errors"]["terms"]
    numbered = _sent(site, "POST", "terms", {"terms": lines[:4]})["terms"]
    assert [(term["line"], term["same_as_line"]) for term in numbered] == [(2, None), (4, 2)]
    many = _sent(site, "POST", "terms", {"terms": ["the"] * 1_001}, 422)["errors"]["terms"]
    assert "1,000 terms" in many
    wrong = _sent(site, "POST", "terms", {"terms": ["the"], "custodian": "nobody"}, 422)
    (names,) = wrong["errors"].values()
    assert "no custodian 'nobody'" in wrong["errors"]["custodian"]
    form = html.unescape(site.client.get(f"/jobs/{site.copy.handle.id}/terms").text)
    for custodian in _get(site, f"{site.job}/counts")["custodians"]:
        assert f'<option value="{custodian["name"]}">' in form
        assert custodian["name"] in names
    assert "not a name for" in _sent(site, "POST", "tags", {"tag": "a/b", "query": "the"}, 422)["error"]


def _sent(site: Any, method: str, path: str, body: Any, status: int = 200) -> Any:
    answer = site.client.request(method, f"{site.job}/{path}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None
