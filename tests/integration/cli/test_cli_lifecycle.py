"""`pause`, `cancel` and `resume` as a person types them, of a job that nothing works on."""

import json
import os
import re
import uuid
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from servers import copy_scratch

from cli.main import OK, USAGE, main
from controller.custody import actions_of, operator
from controller.databases import find_job
from controller.jobs.jobs import create_discovery_job
from controller.jobs.orders import DiscoveryPlan
from controller.jobs.source import prepare_source
from core.records import JobOptions
from core.services import embedded_services
from core.settings import Settings, read_settings
from core.storage.layer import Storage
from sql.session import Database


def test_a_job_is_paused_resumed_and_cancelled_for_good(
    database: Database, broker_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each prints the job and its state; what makes no sense is one line and exit status 2. Where the workers are others',
    `resume` only sets the job running. What was done, and nothing that was refused, is written down with who did it and when."""
    filer, begun = Storage(), _now(database)
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
    for command, status, shown in (
        ("pause", OK, f"{job} paused"),
        ("pause", USAGE, "only a running job"),
        ("resume", OK, f"{job} running"),
        ("pause", OK, f"{job} paused"),
        ("cancel", OK, f"{job} cancelled"),
        ("resume", USAGE, "cancelled"),
    ):
        assert main(["job", command, str(job)], env) == status, (command, capsys.readouterr())
        assert re.search(shown, "".join(capsys.readouterr())), command
    actions = actions_of([find_job([database], str(job))])
    assert [action.action for action in actions] == ["created", "pause", "resume", "pause", "cancel"]
    assert {(action.who, action.broken) for action in actions} == {(operator(), False)}
    times = [begun, *(action.at for action in actions), _now(database)]
    assert times == sorted(set(times))


def _now(database: Database) -> datetime:
    """By its clock."""
    with database.transaction() as conn:
        now: datetime = conn.execute("SELECT clock_timestamp()").scalar_one()
        return now


def test_who_reads_starts_no_broker(
    open_dir: Path, empty_scratch: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scratch = open_dir / "read-only"
    copy_scratch(empty_scratch, scratch)
    log = scratch / "logs" / "broker.log"
    log.unlink(missing_ok=True)
    env = {"EDBENCH_SCRATCH": str(scratch), "EDBENCH_STORAGE": str(tmp_path)}
    with embedded_services(read_settings(env), slots=1, broker=False):  # once for all commands
        assert main(["job", "list"], env) == OK
        for command in (["job", "show", "last"], ["review", "items", "last"], ["review", "search", "last", "words"]):
            assert main(command, env) == USAGE
            assert "there is no job yet" in capsys.readouterr().err
    assert (scratch / "logs" / "postgres.log").exists()
    assert not log.exists()


LONG_AGO = 1_000_000_000


def _directory(root: Path, name: str, *, age: bool = True) -> Path:
    """A job's directory with a file two levels down, and a link that leads out of the storage root."""
    made = root / name
    (made / "items" / "ab").mkdir(parents=True)
    (made / "items" / "ab" / "child").write_bytes(b"x")
    (made / "out").symlink_to(root.parent / "outside")
    if age:
        for path in (made / "items" / "ab", made / "items", made):
            os.utime(path, (LONG_AGO, LONG_AGO))
    return made


def test_only_directories_that_no_database_knows_are_removed(
    database: Database, services: Settings, hands: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A job of the database, one that changed a moment ago (deep inside), and what is not called as a job are kept; what a link leads
    to stays; without --remove and without an answer nothing goes."""
    root = tmp_path / "root"
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").touch()
    known = _directory(root, f"jobs/{hands.create().hex}")
    lost, copies = (_directory(root, f"{place}{uuid.uuid4().hex}") for place in ("jobs/", "corpora/copies-"))
    young = _directory(root, f"jobs/{uuid.uuid4().hex}", age=False)
    os.utime(young, (LONG_AGO, LONG_AGO))
    other = [
        _directory(root, name) for name in ("jobs/notes", f"jobs/{uuid.uuid4().hex.upper()}", "corpora/c", "results/r")
    ]
    env = {"EDBENCH_DATABASES": f"db1={database.url}", "EDBENCH_BROKER": services.broker, "EDBENCH_STORAGE": str(root)}
    env["EDBENCH_SCRATCH"] = str(tmp_path / "scratch")

    assert main(["storage", "clean", "-o", "json"], env) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {(row["path"], row["removed"]) for row in listed} == {(str(path), False) for path in (lost, copies, young)}
    assert main(["storage", "clean", "--remove"], env) == 2
    assert "--yes" in capsys.readouterr().err
    assert lost.is_dir()
    assert main(["storage", "clean", "--remove", "--yes"], env) == 0
    assert "1 changed within the last hour" in capsys.readouterr().err
    assert [path.exists() for path in (lost, copies, young, known, *other)] == [
        False,
        False,
        *[True] * (2 + len(other)),
    ]
    assert (tmp_path / "outside" / "kept").exists()
