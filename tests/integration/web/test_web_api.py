"""What the API says of a finished job."""

import collections
import csv
import dataclasses
import html
import io
import json
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pyarrow.parquet
import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from cli.main import OK, USAGE, main
from controller.databases import JobHandle, Jobs
from controller.jobs.groups import find
from controller.jobs.results import bound_rows
from core.records import GroupKind, JobState
from sql.jobs import GroupMember, create_group
from sql.session import Database
from web.context import WebContext

API = "/api/v1"


def _get(site: Any, path: str, status: int = 200, **params: Any) -> Any:
    answer = site.client.get(path, params=params)
    assert answer.status_code == status, answer.text
    return answer.json()


@pytest.fixture(scope="module")
def truth(finished: Any) -> list[dict[str, Any]]:
    """The corpus's manifest, a row an item."""
    return pyarrow.parquet.read_table(finished.corpus / "manifest.parquet").to_pylist()


def test_the_server_states_how_it_is(site: Any) -> None:
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


def test_the_bounds_of_a_job_are_the_same_on_its_page_and_in_the_command(
    site: Any, truth: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Promise: each bound of --fail-if with the measured value and whether it held; nothing is measured before the job has ended."""
    kept, broken = _get(site, f"{site.job}/result")["bounds"]
    assert (kept["shown"], kept["failed"], broken["failed"]) == (f"{len(truth)}", False, True)
    job, env = site.copy.handle, site.copy.settings.environment()
    rows = [[kept["bound"], kept["shown"], "passed"], [broken["bound"], broken["shown"], "failed"]]
    assert main(["job", "show", str(job.id), "-o", "json"], env) == OK
    assert json.loads(capsys.readouterr().out)["bounds"] == [kept, broken]
    assert main(["job", "show", str(job.id)], env) == OK
    assert [re.split(r"\s{2,}", line.strip()) for line in capsys.readouterr().out.splitlines()][-2:] == rows
    cells = re.findall(
        r"<td[^>]*>(.*?)</td>", site.page(f"/jobs/{job.id}").partition('id="bounds"')[2].partition("</table>")[0]
    )
    assert [html.unescape(re.sub(r"<[^>]*>", "", cell)) for cell in cells] == [cell for row in rows for cell in row]
    running = dataclasses.replace(job, job=dataclasses.replace(job.job, state=JobState.RUNNING))
    open_rows = bound_rows(Jobs((running,), job.database), site.copy.settings)
    assert open_rows == [(bound, "when the job ends", "open") for bound, *_ in rows]


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
    assert "languages were not detected" in _get(site, f"{site.job}/search", 422, q="language:de")["errors"]["q"]
    for path, asked in (("items", {}), ("search", {"q": "the"})):
        assert (
            "no custodian 'nobody'"
            in _get(site, f"{site.job}/{path}", 422, custodian="nobody", **asked)["errors"]["custodian"]
        )
        reported = _get(site, f"{site.job}/{path}", 422, costudian="nobody", **asked)["errors"]
        assert "unknown parameter; known are" in reported["costudian"]
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
        ({"kind": "message", "text": "ok"}, ["-o", "csv", "--text", "ok", "--kind", "message"]),
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
    ("order", "field", "message"),
    [
        ({"ocr_languages": "eng"}, "ocr_languages", "requires --ocr"),
        ({"ocr": True, "ocr_languages": "../eng"}, "ocr_languages", "write eng or eng+deu"),
        ({"ocr": True, "ocr_languages": "eng+zzz"}, "ocr_languages", "no data for zzz"),
        ({"ocr": True, "ocr_languages": ""}, "ocr_languages", "at least 1"),
        ({"ocr": True}, "ocr", "apt-get install tesseract-ocr"),  # there is no such program then
    ],
)
def test_ocr_that_cannot_be_done_is_refused_at_its_field(
    make_site: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, order: dict[str, object], field: str, message: str
) -> None:
    program = tmp_path / ("tesseract" if "ocr_languages" in order else "another")
    program.write_text('#!/bin/sh\ncase $1 in --version) echo tesseract 5.3.0;; *) echo "x (1):"; echo eng;; esac\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    site = make_site(embedded=True)
    corpus = _get(site, f"{API}/corpora")["corpora"][0]["id"]
    refused = site.client.post(f"{API}/jobs", json={"corpus": corpus, **order})
    assert refused.status_code == 422
    assert message in refused.json()["errors"][field]


def test_a_sources_error_stands_at_the_source_whatever_its_name_states(make_site: Any) -> None:
    site = make_site(embedded=True)
    roots = _get(site, f"{API}/corpora")["roots"]
    for gone in ("filer", "--shard", "--ocr-languages"):
        refused = site.client.post(f"{API}/jobs", json={"source": f"{roots[0]}/{gone}/gone"})
        assert refused.status_code == 422
        assert list(refused.json()["errors"]) == ["source"]


@pytest.mark.parametrize(
    ("order", "field", "message"),
    [
        ({"out": "relative"}, "out", "absolute"),
        ({"out": "/etc/production"}, "out", "EDBENCH_PRODUCTIONS"),
        ({"out": "{root}/../x"}, "out", "EDBENCH_PRODUCTIONS"),
        ({"out": "{root}/jobs/x"}, "out", "its own files"),
        ({"sources": ["0000"]}, "sources", "no job"),
        ({"sources": []}, "sources", "at least 1"),
        ({"sources": ["last", "last"]}, "sources", "given twice"),
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
    make_site: Any, order: dict[str, object], field: str, message: str
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
    assert message in text
    assert not list(Path(root).glob("production/*"))


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
    bodies = [op["requestBody"] for item in spec["paths"].values() for op in item.values() if "requestBody" in op]
    taken = set(re.findall(r"schemas/(\w+)", json.dumps(bodies)))
    assert {"NewJob", "TagOrder", "SearchOrder"} <= taken
    for name in taken:
        assert spec["components"]["schemas"][name]["additionalProperties"] is False, "unknown fields are refused"
    assert "http://" not in page.replace("http://127.0.0.1", "")


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


TOKEN = "0123456789abcdef0123456789abcdef"
FEW = 3


def _links(text: str) -> Iterator[str]:
    """Addresses on this server."""
    for found in re.findall(r"(?:href|src)=\"([^\"]*)\"", text):
        address = html.unescape(found)
        if not address.startswith("#"):
            yield address.partition("#")[0]


@pytest.fixture(scope="module")
def base(site: Any) -> str:
    """The path of the job's pages."""
    return f"/jobs/{site.copy.handle.id}"


def test_every_link_of_every_page_leads_somewhere(site: Any, base: str) -> None:
    found: dict[str, None] = {}
    shapes: collections.Counter[str] = collections.Counter()
    for path in ("/", base, f"{base}/items", f"{base}/search?q=the", f"{base}/exceptions", "/results", "/compare"):
        for link in _links(site.page(path)):
            shape = re.sub(r"[0-9a-f-]{36}|=[^&]*", "*", link)
            if link not in found and shapes[shape] < FEW:
                shapes[shape] += 1
                found[link] = None
    for link in found:
        assert site.client.get(link).status_code in (200, 303), link
    assert len(found) > 30


def test_pages_say_what_the_api_states(site: Any, base: str) -> None:
    job = site.client.get(site.job).json()
    listed = site.page("/")
    assert f"{job['items']:,}" in listed
    assert job["name"] in listed
    counts = site.client.get(f"{site.job}/exceptions", params={"by": "code"}).json()["rows"]
    page = site.page(f"{base}/exceptions")
    for row in counts:
        assert re.search(rf"exception={row['name']}\">{row['exceptions']}</a>", page), row
    for row in site.client.get(f"{site.job}/counts").json()["jobs"][0]["texts"]:
        assert re.search(rf"items\?text={row['name']}\">{row['items']:,}</a>", page), row


@pytest.mark.parametrize(("filters", "matches"), [
    ({"exception": "any"}, lambda item: bool(item["exceptions"])),
    ({"kind": "attachment"}, lambda item: item["kind"] == "attachment"),
    ({"type": "application/pdf", "exception": "", "kind": "", "custodian": ""},
     lambda item: item["media_type"] == "application/pdf"),
    ({"text": "empty", "language": ""}, lambda item: item["text_state"] == "empty"),
])  # fmt: skip
def test_items_are_narrowed_and_paged(
    site: Any, base: str, filters: dict[str, str], matches: Callable[[Any], bool]
) -> None:
    """Following `next page` to the end gives exactly the items that match; empty fields of the form are no filter."""
    every = site.client.get(f"{site.job}/items", params={"limit": 1000}).json()["items"]
    wanted = [item["id"] for item in every if matches(item)]
    shown: list[str] = []
    path: str | None = f"{base}/items?{urlencode(filters)}"
    while path is not None:
        text = site.page(path)
        shown += re.findall(rf"<a href=\"{base}/items/([0-9a-f-]{{36}})[\"?]", text)
        following = re.search(r"href=\"([^\"]+)\" rel=\"next\"", text)
        path = html.unescape(following[1]) if following else None
    assert shown == wanted
    assert wanted


def test_an_item_shows_its_family_its_text_and_its_exceptions(site: Any, base: str) -> None:
    items = site.client.get(f"{site.job}/items", params={"limit": 1000}).json()["items"]
    child = next(item for item in items if item["parent"] and item["characters"])
    text = site.page(f"{base}/items/{child['id']}")
    assert f"{base}/items/{child['parent']}" in text
    assert child["sha256"] in text
    assert '<pre class="text"' in text
    failed = next(item for item in items if item["exceptions"])
    assert f"exception={failed['exceptions'][0]}" in site.page(f"{base}/items/{failed['id']}")


@pytest.mark.parametrize("families", [False, True])
def test_a_facet_leads_to_the_items_that_it_counts(site: Any, base: str, families: bool) -> None:
    """Whatever signs a custodian has in the name, and though one's name begins as another's; with families as without."""
    names = dict(enumerate(("ann", "ann marie", r'a"b\\c', "*?", "&")))
    before = site.copy.run("SELECT number, display FROM custodian WHERE job = %(job)s", job=site.copy.handle.id)
    asked = urlencode({"q": "the"} | ({"families": "true"} if families else {}))
    try:
        for number, name in names.items():
            site.copy.run("UPDATE custodian SET display = %(name)s WHERE number = %(number)s", name=name, number=number)
        facets = site.page(f"{base}/search?{asked}").partition('aria-label="facets"')[2]
        rows = re.findall(r"<a href=\"([^\"]+)\">[^<]*</a></td><td class=\"number\">([\d,]+)", facets)
        for link, items in rows:
            found = site.page(html.unescape(link))
            assert re.search(rf">{items} items? match(es)?[.;]", found), link
        assert len([link for link, _ in rows if "custodian_is" in link]) > 1
        assert bool([link for link, _ in rows if "type_is" in link]) is not families
    finally:
        for number, name in before:
            site.copy.run("UPDATE custodian SET display = %(name)s WHERE number = %(number)s", name=name, number=number)


def test_a_query_that_cannot_be_read_is_reported_at_the_field(site: Any, base: str) -> None:
    text = site.page(f"{base}/search?q=nosuchfield:x", 422)
    assert 'aria-invalid="true"' in text
    assert "nosuchfield" in text


def test_what_is_not_there_is_a_page_too(site: Any, base: str) -> None:
    absent = f"items/{'0' * 32}"
    for path in ("/nothing", "/jobs/ffffffff", f"{base}/{absent}", f"/jobs/ffffffff/{absent}", "/results/none"):
        text = site.page(path, 404)
        assert "<h1>Not Found</h1>" in text
        assert re.search(r"There is (no (job|item)|nothing at)|This result does not exist", text)
        assert ("Items of this job" in text) == (path == f"{base}/{absent}")
    wrong = site.page(f"{base}/items?kind=nonsense&text=nonsense", 422)
    assert "Kind: Input should be &#39;loose_file&#39;" in wrong
    assert "; text: Input should be" in wrong
    assert "literal" not in wrong


def test_the_form_asks_for_the_token_and_leads_back(make_site: Any) -> None:
    site = make_site(token=TOKEN)
    form = site.client.get(site.client.get("/results?x=1").headers["location"])
    assert 'name="next" value="/results?x=1"' in form.text
    assert "Wrong token." in site.client.get("/login?failed=token").text
    right = site.client.post("/login", data={"token": TOKEN, "next": "/results?x=1"})
    assert "Sign out" in site.client.get(right.headers["location"]).text


_OVER_NFS = """INSERT INTO observation (second, kind, source, "values")
SELECT second, 'wire', 'abcd1234:filer:0:52', %(fixed)s::jsonb || jsonb_build_object('read_bytes', second %% 1000000 * 1000,
    'ops', jsonb_build_object('READ', jsonb_build_object('ops', second %% 1000000, 'queue_ms', 0, 'rtt_ms', 0, 'execute_ms', 0)))
FROM generate_series((SELECT floor(extract(epoch FROM first_claim_at))::bigint - 2 FROM job),
    (SELECT ceil(extract(epoch FROM finished_at))::bigint + 2 FROM job)) AS second"""


@pytest.fixture
def group(site: Any) -> str:
    """The finished job as a group of one; the API's path of it."""
    identity, handle = uuid.uuid4(), site.copy.handle
    with handle.database.transaction() as conn:
        create_group(
            conn,
            id=identity,
            name="group",
            kind=GroupKind.SIMULTANEOUS,
            source=handle.job.source,
            source_copies=1,
            members=[GroupMember(database=handle.database.name, job=handle.id)],
        )
    site.copy.run("UPDATE job SET group_id = %(group)s", group=identity)
    return f"/api/v1/jobs/{identity}"


def test_a_group_has_wire_panels_and_wire_read_by_phase(site: Any, group: str) -> None:
    on_nfs = {"type": "nfs4", "version": "4.2", "storage": True, "points": ["/"]}
    site.copy.run(_OVER_NFS, fixed=json.dumps(on_nfs))
    panels = {panel["id"] for panel in site.client.get(f"{group}/timeline").json()["panels"]}
    assert {"wire_1", "wire_1_ms", "wire_read_share", "space_1"} <= panels
    result = site.client.get(f"{group}/result").json()
    assert result["wire"]["sources"] == ["abcd1234:filer:0:52"]
    assert list(result["wire"]["phases"]) == ["walk", "expand", "index", "finalise"]
    assert result["wire"]["total"]["wire_read_bytes"] > 0
    page = site.client.get(group.removeprefix("/api/v1"))
    assert f'data-job="{group.rpartition("/")[2]}"' in page.text
    assert 'id="members"' in page.text


def test_a_group_is_one_row_of_the_list_with_its_jobs_below(site: Any, group: str) -> None:
    identity, member = group.rpartition("/")[2], str(site.copy.handle.id)
    for query, number in (("", 1), ("?state=completed_with_exceptions", 1), ("?state=running", 0)):
        listed = site.client.get(f"/api/v1/jobs{query}").json()
        assert [listed["total"], len(listed["jobs"])] == [number, number]
        for row in listed["jobs"]:
            assert (row["id"], [each["id"] for each in row["jobs"]]) == (identity, [member])
            assert row["items"] == row["jobs"][0]["items"] > 0
    text = site.client.get("/").text
    assert text.index(f'id="job-{identity}"') < text.index(f'<tr id="job-{member}" class="part"')
    assert text.count("<tr id=") == 2


def test_a_group_whose_jobs_have_gone_is_a_line(site: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At the field that names it, and of the command; it was a bug's line."""
    identity, database = uuid.uuid4(), site.copy.handle.database
    with database.transaction() as conn:
        create_group(
            conn,
            id=identity,
            name="gone",
            kind=GroupKind.SIMULTANEOUS,
            source=b"/s",
            source_copies=1,
            members=[GroupMember(database=database.name, job=uuid.uuid4())],
        )
    line = f"all jobs of group {identity} were deleted; delete the group too"
    order = {"type": "export", "out": f"{site.copy.settings.storage}/gone"}
    for field, more in (
        ("sources", {"sources": [str(identity)]}),
        ("images", {"sources": ["last"], "images": str(identity)}),
    ):
        refused = site.client.post("/api/v1/productions", json=order | more)
        assert (refused.status_code, refused.json()["errors"]) == (422, {field: line})
    words = ["produce", "text", str(identity), "--out", str(tmp_path / "out")]
    assert main(words, site.copy.settings.environment()) == USAGE
    assert capsys.readouterr().err == f"edbench: {line}\n"
    assert site.client.delete(f"/api/v1/jobs/{identity}").status_code == 200


def test_what_lies_in_several_databases_is_not_offered_as_one_production(
    site: Any, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A form could only fail: its page says why, and leads to the form of each job, which is there."""
    handle = site.copy.handle
    other = JobHandle(Database("elsewhere", site.copy.settings.databases[0].url), handle.job)
    both = dataclasses.replace(find([handle.database], group.rpartition("/")[2]), each=(handle, other))
    with monkeypatch.context() as patched:
        patched.setattr(WebContext, "find_discovered", lambda context, reference: both)
        page = site.client.get(f"{group.removeprefix('/api/v1')}/produce?type=processing").text
    assert "uses 2 databases" in page
    assert f'href="/jobs/{handle.id}/produce?type=processing">elsewhere<' in page
    assert 'id="produce"' not in page
    assert 'id="parts"' not in site.client.get(f"/jobs/{handle.id}/produce").text
    other.database.dispose()


FUZZ_TOKEN = "a token for the tests of the API"
HEADERS = {"Authorization": f"Bearer {FUZZ_TOKEN}"}
EXAMPLES = 12  # an operation
_NEVER = frozenset(("/api/v1/jobs/{job}/events",))  # goes on for as long as its job


@pytest.fixture(scope="module")
def schema(make_site: Any) -> Any:
    """The document, as an application with a token serves it."""
    import schemathesis  # slow to come, and every process of a test run reads this file

    app = make_site(token=FUZZ_TOKEN).app
    app.openapi()  # made once, for which the request has 10 s
    return schemathesis.openapi.from_asgi("/api/v1/openapi.json", app, headers=HEADERS)


def test_no_request_is_too_odd(schema: Any) -> None:
    statuses: Counter[int] = Counter()
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.path not in _NEVER:
            _fuzz(operation, statuses)
    # It came through to the routes, and through them to the job.
    assert {200, 404, 422} <= set(statuses), statuses
    assert statuses[200] > 50, statuses


def _fuzz(operation: Any, statuses: Counter[int]) -> None:
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks as of_schemas

    held = (
        *(not_a_server_error, of_schemas.status_code_conformance),
        *(of_schemas.content_type_conformance, of_schemas.response_schema_conformance),
    )

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(), ours=st.booleans())
    def ask(case: Any, ours: bool) -> None:
        if "job" in (case.path_parameters or {}):
            if operation.method.upper() != "GET":  # "a" may be the beginning of the job's id, and then it is deleted
                case.path_parameters["job"] = f"x{case.path_parameters['job']}"
            elif ours:
                case.path_parameters["job"] = "last"
        response = case.call(headers=HEADERS)
        statuses[response.status_code] += 1
        case.validate_response(response, checks=held)

    ask()
