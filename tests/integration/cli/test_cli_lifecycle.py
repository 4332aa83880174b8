"""`pause`, `cancel` and `resume` as a person types them, of a job that nothing works on."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import pytest

from cli.main import OK, USAGE, main
from controller.custody.actions import actions_of, operator
from controller.databases import find_job
from controller.jobs.jobs import create_discovery_job, prepare_source
from controller.jobs.orders import DiscoveryPlan
from core.operations import NullRecorder
from core.records import JobOptions
from core.storage.layer import Storage
from sql.session import Database

pytestmark = pytest.mark.services


def test_a_job_is_paused_resumed_and_cancelled_for_good(
    database: Database, broker_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each prints the job and its state; what makes no sense is one line and exit status 2. Where the workers are others',
    `resume` only sets the job running. What was done, and nothing that was refused, is written down with who did it and when."""
    filer, begun = Storage(NullRecorder()), _now(database)
    (tmp_path / "source" / "ann").mkdir(parents=True)
    (tmp_path / "source" / "ann" / "a.txt").write_text("a")
    source = prepare_source(filer, tmp_path / "source")
    job = create_discovery_job(database, filer, tmp_path / "store", source, DiscoveryPlan(options=JobOptions()))
    env = {
        "EDBENCH_DATABASES": f"db1={database.url}",
        "EDBENCH_BROKER": broker_url,
        "EDBENCH_STORAGE": str(tmp_path / "store"),
        "EDBENCH_SCRATCH": str(tmp_path / "scratch"),
    }
    for command, status, said in (
        ("pause", OK, f"{job} paused"),
        ("pause", USAGE, "only a running job"),
        ("resume", OK, f"{job} running"),
        ("pause", OK, f"{job} paused"),
        ("cancel", OK, f"{job} cancelled"),
        ("resume", USAGE, "cancelled"),
    ):
        assert main(["job", command, str(job)], env) == status, (command, capsys.readouterr())
        assert re.search(said, "".join(capsys.readouterr())), command
    actions = actions_of([find_job([database], str(job))])
    assert [action.action for action in actions] == ["created", "pause", "resume", "pause", "cancel"]
    assert {(action.who, action.broken) for action in actions} == {(operator(), False)}
    times = [begun, *(action.at for action in actions), _now(database)]
    assert times == sorted(set(times))


def _now(database: Database) -> datetime:
    """By its clock."""
    with database.transaction() as conn:
        now: datetime = conn.exec_driver_sql("SELECT clock_timestamp()").scalar_one()
        return now
