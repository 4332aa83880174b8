"""Deterministic ids and places, and records that travel as JSON."""

from __future__ import annotations

import dataclasses
import json
import re
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.operations import MemoryRecorder, Op
from core.places import NO_PARENT, index_location, item_id, item_location, job_location, number
from core.records import FsyncPolicy, JobOptions, JobState, Layout, Limits, OcrChoice

JOB, PARENT = uuid.UUID(int=1), uuid.UUID(int=2)


def test_ids_never_change() -> None:
    assert item_id(JOB, None, b"a/b") == uuid.UUID("ceff4a48-c20a-092c-71f3-4fabfa78a476")
    assert item_id(JOB, PARENT, number(7)) == uuid.UUID("c55ae239-d801-d612-9959-3393ee604aa5")


def test_ids_differ_by_job_parent_and_ordinal() -> None:
    ids = {
        item_id(job, parent, ordinal)
        for job in (JOB, PARENT)
        for parent in (None, JOB, PARENT)
        for ordinal in (b"", b"a", number(0), number(10), b"#1")
    }
    assert len(ids) == 2 * 3 * 5
    assert item_id(JOB, None, b"a") == item_id(JOB, NO_PARENT, b"a")


@given(st.uuids(), st.sampled_from(list(Layout)), st.text("abcAW0123-", min_size=1, max_size=9))
@settings(max_examples=60, deadline=None, database=None)
def test_an_items_place_lies_in_its_jobs_folder(item: uuid.UUID, layout: Layout, worker: str) -> None:
    """Only ids make up the place, so that nothing from the data can lead outside."""
    place = item_location(JOB, item, layout, worker)
    assert place.startswith(job_location(JOB) + b"/items/")
    assert place.endswith(item.hex[:2].encode() + b"/" + item.hex.encode())
    assert place.split(b"/")[3:-2] == ([worker.lower().encode()] if layout is Layout.PER_WORKER else [])
    assert index_location(JOB, item) == job_location(JOB) + b"/index/" + item.hex.encode()


@pytest.mark.parametrize("name", ["..", ".", "a/b", "É", "\udcff", "../../x"])
def test_a_workers_folder_is_one_plain_name(name: str) -> None:
    place = item_location(JOB, PARENT, Layout.PER_WORKER, name)
    assert re.fullmatch(rb"[a-z0-9_-]+", place.removeprefix(job_location(JOB) + b"/items/").split(b"/", 1)[0])
    assert len(place.split(b"/")) == 6


def test_workers_whose_names_differ_in_case_share_a_folder() -> None:
    here, there = (item_location(JOB, PARENT, Layout.PER_WORKER, name) for name in ("Rack-A-w1", "rack-a-W1"))
    assert here == there


def test_job_options_survive_the_database() -> None:
    options = JobOptions(
        single_pass=True,
        fsync=FsyncPolicy.FILE,
        layout=Layout.PER_WORKER,
        limits=Limits(depth=2),
        split_bytes=5,
        ocr=OcrChoice(languages="eng+deu", dpi=200),
    )
    assert JobOptions.from_json(json.loads(json.dumps(options.to_json()))) == options
    assert JobOptions.from_json({}) == JobOptions()
    with pytest.raises(TypeError, match="future"):
        JobOptions.from_json({"future": 1})


def test_only_a_job_that_asks_has_a_phase_ocr() -> None:
    assert [*JobOptions().phases] == ["walk", "expand", "index", "finalise"]
    assert [*JobOptions(ocr=OcrChoice(languages="eng")).phases] == ["walk", "expand", "index", "ocr", "finalise"]


def test_states_that_are_over() -> None:
    assert {s.value for s in JobState if s.over} == {"cancelled", "completed", "completed_with_exceptions", "deleting"}


def test_operation_numbers_are_part_of_the_formats() -> None:
    """Frames and traces of earlier versions stay readable."""
    assert [(op.label, int(op)) for op in Op] == [
        ("scan", 0), ("stat", 1), ("open", 2), ("read", 3), ("create", 4), ("write", 5),
        ("fsync", 6), ("close", 7), ("rename", 8), ("remove", 9), ("mkdir", 10),
    ]  # fmt: skip


def test_the_memory_recorder_keeps_calls_in_order() -> None:
    recorder = MemoryRecorder()
    recorder.record(Op.RENAME, 1, 2, 0, b"/new", 0, 0, b"/old")
    recorder.record(Op.READ, 4, 5, 6, b"/f", 7, 8)
    first, second = recorder.records
    assert (first.op, first.path, first.other) == (Op.RENAME, b"/new", b"/old")
    assert dataclasses.astuple(second) == (Op.READ, 4, 5, 6, b"/f", 7, 8, b"")
