"""What a finished job's result, item list and search say."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from index_shards import shard_of
from schema_check import refuse_unlike_schema

from controller.browse.counts import count_job
from controller.browse.items import FIELDS, stream_items
from controller.databases import JobHandle, alone
from controller.jobs.documents import document_of
from controller.jobs.overview import Overview
from controller.jobs.results import job_result, wait_for_frames
from controller.labels.rules import CACHED, advice_on
from controller.observe.io_kinds import io_of
from controller.search.found import FoundItem, search_all, search_shard
from controller.search.opened import opened_index
from core.clock import SystemClock
from core.errors import UsageError
from core.settings import Settings
from dataset_gen.truth import manifest as m
from search.engine import IndexDocument


def test_the_result_agrees_with_the_corpus(finished: Any, handle: JobHandle) -> None:
    """Every promised key is there, and bytes, items and children are those of the ground truth."""
    result = json.loads(json.dumps(job_result(handle, finished.settings).to_json()))
    truth = json.loads((finished.corpus / "dataset.json").read_text())
    refuse_unlike_schema("discover", result)
    shown = document_of(count_job(handle), None, [], {}).to_json()
    refuse_unlike_schema("job", shown)
    assert result["containers"] == shown["containers"]
    assert result["raw_bytes"] == truth["raw_bytes"]
    assert result["items"] == truth["items"]
    assert result["discovered_bytes"] == truth["discovered_bytes"]
    assert result["expansion"] == pytest.approx(truth["expansion"], abs=1e-3)
    children = result["children"]
    assert children["expected"] == children["emitted"] + children["failed"] > 0
    assert result["violations"] == []
    assert list(result["phases"]) == ["walk", "expand", "index", "finalise"]
    assert (result["workers"], result["slots"], result["passes"]) == (1, 2, 2)
    assert (result["index_engine"], "tantivy" in result["versions"]) == ("tantivy", True)
    assert CACHED in result["labels"]
    assert not any("cache state unknown" in label for label in result["labels"])


def test_a_small_job_states_that_it_is_cached(finished: Any, handle: JobHandle) -> None:
    """What fits into memory three times is no storage result: the result and the list of jobs have the same labels, and what
    to do about them."""
    result = job_result(handle, finished.settings)
    row = Overview().row_of(alone(handle))
    assert CACHED in result.labels
    assert result.labels == row.labels
    assert row.advice == advice_on(result.labels) != []
    assert result.storage_is == row.storage
    assert row.storage.endswith(str(finished.settings.storage))


def test_another_storage_changes_no_labels_of_a_job_that_is_over(
    finished: Any, handle: JobHandle, tmp_path: Path
) -> None:
    before = job_result(handle, finished.settings)
    switched = dataclasses.replace(finished.settings, storage=Path("/dev/shm"), filer_cache=1, observe=False)
    after = job_result(handle, switched)
    row = Overview().row_of(alone(handle))
    assert before.labels == after.labels == row.labels
    assert before.storage_is == after.storage_is == row.storage
    assert after.calls_complete


def test_rates_follow_from_bytes_and_elapsed(finished: Any, handle: JobHandle) -> None:
    """GB/hour is decimal GB over elapsed, raw and discovered apart."""
    result = job_result(handle, finished.settings).to_json()
    for kind in ("raw", "discovered"):
        rate = result[f"{kind}_bytes"] / 1e9 / result["elapsed_s"] * 3600
        assert result[f"gb_per_hour_{kind}"] == pytest.approx(rate, rel=2e-3)
    assert result["items_per_second"] == pytest.approx(result["items"] / result["elapsed_s"], rel=2e-3)


def test_calls_are_complete(finished: Any, handle: JobHandle) -> None:
    """Every loose file was opened in both passes, every child created and renamed once: no record was lost."""
    result = job_result(handle, finished.settings).to_json()
    calls = result["calls"]
    with handle.database.transaction() as conn:
        written = conn.execute("SELECT count(*) FROM item WHERE location IS NOT NULL").scalar_one()
        loose = conn.execute("SELECT count(*) FROM item WHERE parent IS NULL").scalar_one()
    assert result["calls_complete"]
    assert result["frames_lost"] == 0
    assert calls["rename"]["count"] >= written
    assert calls["open"]["count"] >= loose
    assert calls["read"]["bytes"] >= result["raw_bytes"]
    assert set(calls["read"]) == {"count", "bytes", "errors", "p50_us", "p99_us", "max_us", "processor", "sizes"}
    assert calls["read"]["p50_us"] <= calls["read"]["p99_us"] <= calls["read"]["max_us"]


def test_a_worker_that_was_not_seen_since_the_job_began_is_waited_for(copy: Any) -> None:
    copy.run(
        "UPDATE job SET first_claim_at = clock_timestamp() + interval '1 s', finished_at = clock_timestamp() + interval '2 s'"
    )
    copy.run("UPDATE worker SET seen_at = clock_timestamp(), stopped_at = NULL, frames_through = 0")
    assert not wait_for_frames(copy.handle, SystemClock(), 0.0)
    copy.run("UPDATE worker SET frames_through = extract(epoch FROM clock_timestamp()) + 60")
    assert wait_for_frames(copy.handle, SystemClock(), 0.0)


def test_the_time_in_calls_is_divided_by_cause(finished: Any, handle: JobHandle) -> None:
    time = job_result(handle, finished.settings).to_json()["call_time"]
    assert time["service_s"] + time["processor_s"] == pytest.approx(time["call_s"], abs=0.002)
    assert (time["queue_s"], time["exact"]) == (None, False)
    assert time["call_s"] > 0


def test_every_kind_of_io_is_reported(finished: Any, handle: JobHandle) -> None:
    result = job_result(handle, finished.settings).to_json()
    kinds = {kind["kind"]: kind for kind in result["io"]["kinds"]}
    recorded = kinds["calls of the job"]
    assert recorded["recorded"]
    assert recorded["read_bytes"] == result["calls"]["read"]["bytes"]
    assert {"databases", "the controller's calls", "memory-mapped reads of the index"} <= set(kinds)
    assert not any(kind["recorded"] for name, kind in kinds.items() if name != "calls of the job")
    databases = kinds["databases"]["written_bytes"]
    assert databases > 0
    every = sum((kind["read_bytes"] or 0) + (kind["written_bytes"] or 0) for kind in kinds.values())
    rest = every - recorded["read_bytes"] - recorded["written_bytes"]
    assert result["io"]["unrecorded_share"] == pytest.approx(rest / every, abs=1e-4)
    copied = io_of([handle], {}, raw_bytes=100, copies=2).to_json()["kinds"]
    assert [kind["written_bytes"] for kind in copied if kind["kind"] == "copies of the source"] == [100]


def test_io_before_a_requeue_is_not_the_jobs(copy: Any) -> None:
    """Other jobs filled the database between the job's end and its requeue."""

    def moved() -> list[int | None]:
        kinds = io_of([copy.handle], {}, raw_bytes=0, copies=1).to_json()["kinds"]
        return [one[field] for one in kinds if one["kind"] == "databases" for field in ("read_bytes", "written_bytes")]

    before = moved()
    copy.run("UPDATE job SET first_claim_at = first_claim_at - interval '1 h'")
    copy.run(
        "INSERT INTO job_pause (job, state, started_at, finished_at)"
        " SELECT id, state, first_claim_at + interval '10 s', first_claim_at + interval '1 h' FROM job"
    )
    copy.run(
        """INSERT INTO observation SELECT second - 3600, kind, source, job, values || '{"read_bytes": 0, "write_bytes": 0}'"""
        " FROM observation WHERE kind = 'database'"
    )
    assert moved() == before


def test_every_item_is_listed_once_with_all_fields(finished: Any, handle: JobHandle) -> None:
    items = list(stream_items(handle))
    truth = m.read_manifest(finished.corpus / m.FILE_NAME)
    assert sorted(item["container_path"] for item in items) == sorted(truth[m.CONTAINER_PATH].to_pylist())
    assert all(set(FIELDS) - {"name_b64"} <= set(item) <= set(FIELDS) for item in items)
    assert any("name_b64" in item for item in items)  # the hostile names
    assert all(item.keys() <= set(FIELDS) for item in items)
    assert all(item["text_state"] and item["shard"] for item in items)
    ids = {item["id"] for item in items}
    assert len(ids) == len(items)
    assert all(item["parent"] is None or item["parent"] in ids for item in items)


def _search(handle: JobHandle, settings: Settings, query: str, limit: int) -> list[FoundItem]:
    return search_all([handle], lambda one: opened_index(one, settings), query, limit)[0]


def test_search_finds_planted_terms_with_their_circumstances(finished: Any, handle: JobHandle) -> None:
    """A hit names item, family, custodian and path and shows the word in its text."""
    truth = m.read_manifest(finished.corpus / m.FILE_NAME).to_pylist()
    row = next(row for row in truth if row[m.TERMS] and row[m.FAULT] is None)
    term = row[m.TERMS][0]
    found = _search(handle, finished.settings, f'"{term}"', 100)
    hit = next(hit for hit in found if list(hit.container_path) == row[m.CONTAINER_PATH])
    assert (hit.custodian, hit.kind, hit.media_type) == (row[m.CUSTODIAN], row[m.KIND], row[m.MEDIA_TYPE])
    assert hit.to_json()["item"] == str(hit.item)
    only = _search(handle, finished.settings, f'"{term}" AND custodian:nobody', 100)
    assert only == []
    with pytest.raises(UsageError):
        _search(handle, finished.settings, '"open', 10)


def test_a_ghost_is_never_a_hit(copy: Any, tmp_path: Path) -> None:
    item, shard, owner = copy.run("SELECT item, shard, owner FROM item_index ORDER BY item LIMIT 1")[0]
    documents = [
        *(IndexDocument(item=item, owner=f"{owner[:-1]}{n}-", body="apparition apparition") for n in range(7)),
        IndexDocument(item=item, owner=owner, body="one apparition among many words"),
    ]
    reader = shard_of("tantivy", tmp_path, documents)
    with copy.handle.database.transaction() as conn:
        found = search_shard(conn, copy.handle.id, shard, reader, "apparition", 2)
        elsewhere = search_shard(conn, copy.handle.id, copy.handle.id, reader, "apparition", 2)
    assert [(hit.item, "many" in hit.snippet) for hit in found] == [(item, True)]
    assert elsewhere == []
