"""What API and page say of a group of jobs: everything they say of a job, the wire included."""

from __future__ import annotations

import dataclasses
import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from cli.main import USAGE, main
from controller.databases import JobHandle
from controller.jobs.groups import find
from core.records import GroupKind
from sql.jobs import GroupMember, create_group
from sql.session import Database
from web.context import WebContext

pytestmark = pytest.mark.services

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
    """With the storage root on NFS. The page draws the panels, and takes the table from the group's result once the run is over."""
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
    """The sum is what the row has; a job of it is not a row of its own. The same in a list of one state, and none of another."""
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
