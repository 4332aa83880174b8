"""Wire-read ÷ call-read by phase, from rows as the workers' frames leave them."""

from __future__ import annotations

import dataclasses
import io
import json
import os
from collections.abc import Sequence

import pytest
from rich.console import Console
from taskbench import TaskBench

from cli.summary import show_wire
from controller.databases import JobHandle
from controller.observe.wire import wire_shares
from core.operations import Op
from core.records import Phase, ReplayChoice
from sql.jobs import get_job

pytestmark = pytest.mark.services

START = 1_700_000_000  # epoch seconds


@pytest.fixture
def handle(task_bench: TaskBench) -> JobHandle:
    """A job that walked for one second, expanded for ten and indexed for ten, and read 1,000 bytes in each phase."""
    task_bench.create()
    database, job = task_bench.database, str(task_bench.job)
    with database.transaction() as conn:
        conn.exec_driver_sql("DELETE FROM job_phase")
        for phase, start, finish in (("walk", 0, 1), ("expand", 1, 11), ("index", 11, 21)):
            conn.exec_driver_sql(
                "INSERT INTO job_phase (job, phase, started_at, finished_at) "
                "VALUES (%(job)s, %(phase)s, to_timestamp(%(start)s), to_timestamp(%(finish)s))",
                {"job": job, "phase": phase, "start": START + start, "finish": START + finish},
            )
            conn.exec_driver_sql(
                "INSERT INTO call_second VALUES (%(job)s, gen_random_uuid(), %(at)s, %(phase)s, %(op)s, 1, 1000, 0, 1, 1, '')",
                {"job": job, "at": START + start, "phase": phase, "op": int(Op.READ)},
            )
        found = get_job(conn, task_bench.job)
    return JobHandle(database, found)


def observe(
    handle: JobHandle, source: str, values: Sequence[int], *, storage: bool, points: Sequence[str] = ()
) -> None:
    """Cumulative bytes of a source, a reading a second from just before the job's start."""
    with handle.database.transaction() as conn:
        for at, value in enumerate(values):
            conn.exec_driver_sql(
                "INSERT INTO observation (second, kind, source, \"values\") VALUES (%(at)s, 'wire', %(source)s, %(json)s)",
                {
                    "at": START - 1 + at,
                    "source": source,
                    "json": json.dumps({"read_bytes": value, "storage": storage, "points": list(points)}),
                },
            )


def test_without_nfs_there_are_no_shares(handle: JobHandle) -> None:
    assert wire_shares([handle]) is None


def test_phases_get_what_the_wire_grew_by_in_their_time(handle: JobHandle) -> None:
    """100 bytes a second while expanding, then a cache answered; two hosts add up, and other mounts do not count."""
    cold = [*(50_000 + 100 * max(0, min(at - 1.5, 10)) for at in range(23))]
    observe(handle, "aaaaaaaa:filer:0:50", [round(value) for value in cold], storage=True)
    observe(handle, "bbbbbbbb:filer:0:61", [7] * 23, storage=True)
    observe(handle, "aaaaaaaa:other:0:51", [at * 10**6 for at in range(23)], storage=False, points=["/elsewhere"])
    shares = wire_shares([handle])
    assert shares is not None
    assert shares.sources == ("aaaaaaaa:filer:0:50", "bbbbbbbb:filer:0:61")
    expand, index, walk = (shares.phases[phase] for phase in (Phase.EXPAND, Phase.INDEX, Phase.WALK))
    assert expand.call_read_bytes == 1000
    assert expand.ratio == pytest.approx(1.0, abs=0.06)
    assert index.ratio == pytest.approx(0.0, abs=0.06)
    assert (walk.ratio, walk.why) == (None, "shorter than 2 s")
    assert shares.total.ratio == pytest.approx(1 / 3, abs=0.02)
    assert shares.other_jobs == 0
    out = io.StringIO()
    show_wire(Console(file=out, width=120), shares)
    assert "NFS mounts of 2 hosts" in out.getvalue()
    assert "whole job" in out.getvalue()
    json.dumps(shares.to_json())


def test_the_sources_own_mount_counts_and_a_counter_may_begin_anew(handle: JobHandle) -> None:
    above = os.path.dirname(os.fsdecode(handle.job.source))
    observe(handle, "cccccccc:source:0:70", [500, 600, 0, *range(100, 2_100, 100)], storage=False, points=["/", above])
    observe(handle, "cccccccc:root:0:71", [0, 10**9], storage=False, points=["/"])
    shares = wire_shares([handle])
    assert shares is not None
    assert shares.sources == ("cccccccc:source:0:70",)
    assert 1_900 <= shares.total.wire_read_bytes <= 2_100


def test_of_a_replay_the_mounts_of_its_paths_count(handle: JobHandle) -> None:
    """They are what is measured; the storage root holds its trace and nothing else of it."""
    options = dataclasses.replace(handle.job.options, of_type=ReplayChoice(clients=1, paths=("/mnt/filer/replay",)))
    replay = JobHandle(handle.database, dataclasses.replace(handle.job, options=options))
    observe(handle, "dddddddd:filer:0:80", list(range(0, 2_300, 100)), storage=False, points=["/mnt/filer"])
    observe(handle, "dddddddd:root:0:81", [at * 10**6 for at in range(23)], storage=True, points=["/"])
    shares = wire_shares([replay])
    assert shares is not None
    assert shares.sources == ("dddddddd:filer:0:80",)


def test_phases_of_a_group_that_overlap_have_no_ratio(handle: JobHandle) -> None:
    """The wire does not know of phases: with another in the same seconds there is no telling."""
    with handle.database.transaction() as conn:
        conn.exec_driver_sql(
            "UPDATE job_phase SET started_at = to_timestamp(%(at)s) WHERE phase = 'index'", {"at": START + 5}
        )
    observe(handle, "aaaaaaaa:filer:0:50", list(range(0, 2_300, 100)), storage=True)
    shares = wire_shares([handle])
    assert shares is not None
    assert shares.phases[Phase.EXPAND].why == "another phase of the group ran at the same time"
    assert shares.total.ratio is not None
