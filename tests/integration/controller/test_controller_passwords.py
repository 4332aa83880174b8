"""A password bank from a person's file to the metadata of what it opened, over two runs of one job."""

import dataclasses
import os
import stat
from pathlib import Path

import pytest
from encrypted import OFFICE_PASSWORD, archive, old_office
from taskbench import TaskBench

from controller.browse.counts import count_job
from controller.databases import JobHandle, alone
from controller.jobs.jobs import create_discovery_job, delete_job, job_directory, requeue_exceptions
from controller.jobs.orders import DiscoveryPlan
from controller.jobs.source import prepare_source
from core.errors import UsageError
from core.passwords import PasswordBank, bank_of
from core.records import JobOptions, JobState, Phase
from core.storage.layer import Storage
from sql.jobs import get_job
from sql.states import request_resume
from worker.slots.context import Banks

FILER = Storage()
SECRET = "geheim"
_METADATA = """
SELECT i.display, t.state, t.metadata FROM item i JOIN item_text t ON t.item = i.id WHERE i.job = %(job)s ORDER BY 1"""


def _create(bench: TaskBench, passwords: PasswordBank | None, *, single_pass: bool = False) -> JobHandle:
    ann = bench.source / "ann"
    ann.mkdir()
    (ann / "letter.doc").write_bytes(old_office("rc4cryptoapi_password.doc"))
    for name, how in (("m.zip", "-tzip -mem=AES256"), ("h.7z", "-mhe=on")):
        data = archive(bench.home / "made", name, {f"in {name}.txt": b"sesame"}, *how.split(), f"-p{SECRET}")
        (ann / name).write_bytes(data)
    bench.job = create_discovery_job(
        bench.database,
        FILER,
        bench.storage_root,
        prepare_source(FILER, bench.source),
        DiscoveryPlan(options=JobOptions(single_pass=single_pass), passwords=passwords),
    )
    return _handle(bench)


def _handle(bench: TaskBench) -> JobHandle:
    with bench.database.transaction() as conn:
        return JobHandle(bench.database, get_job(conn, bench.job))


def _banks(bench: TaskBench) -> list[Path]:
    return sorted(Path(os.fsdecode(job_directory(bench.storage_root, bench.job))).glob("passwords-*"))


def _opened(bench: TaskBench) -> dict[str, int]:
    """The line of the bank that opened each item."""
    rows = bench.rows(_METADATA, job=bench.job)
    return {
        row.display.rsplit("/", 1)[-1]: row.metadata["password_line"] for row in rows if "decrypted" in row.metadata
    }


@pytest.mark.parametrize("single_pass", [False, True])
def test_a_bank_opens_what_it_fits(task_bench: TaskBench, single_pass: bool) -> None:
    _create(task_bench, bank_of(["wrong", OFFICE_PASSWORD, SECRET], "it"), single_pass=single_pass)
    assert task_bench.run() == "completed"
    assert _opened(task_bench) == {"letter.doc": 2, "in m.zip.txt": 3, "in h.7z.txt": 3}


def test_passwords_found_later_open_what_the_first_run_left_shut(task_bench: TaskBench) -> None:
    """Run, collect passwords, requeue the encrypted: the second bank is added to the first, whose numbers stay, and
    what was opened before stays open. The first bank's file is gone then."""
    handle = _create(task_bench, bank_of([OFFICE_PASSWORD], "it"))
    assert task_bench.run() == "completed_with_exceptions"
    assert _opened(task_bench) == {"letter.doc": 1}
    (first,) = _banks(task_bench)
    found = bank_of(["other", SECRET], "it")
    assert (
        requeue_exceptions(
            alone(_handle(task_bench)), "encrypted", storage_root=task_bench.storage_root, passwords=found
        )
        == 2
    )
    (second,) = _banks(task_bench)
    assert first != second
    with task_bench.database.transaction(durable=True) as conn:
        request_resume(conn, handle.id)
    assert task_bench.run() == "completed"
    assert _opened(task_bench) == {"letter.doc": 1, "in m.zip.txt": 3, "in h.7z.txt": 3}
    children = count_job(_handle(task_bench)).children
    assert (children.expected, children.emitted, children.failed) == (2, 2, 0)


def test_a_requeue_that_is_refused_leaves_the_bank_alone(task_bench: TaskBench) -> None:
    _create(task_bench, bank_of([OFFICE_PASSWORD, SECRET], "it"))
    before = _banks(task_bench)
    with pytest.raises(UsageError, match="only a job that completed with exceptions"):
        requeue_exceptions(
            alone(_handle(task_bench)), None, storage_root=task_bench.storage_root, passwords=bank_of(["more"], "it")
        )
    assert _banks(task_bench) == before


def test_the_bank_is_its_owners_and_goes_with_the_job(task_bench: TaskBench) -> None:
    """Mode 0600; the job's row has its number and digest and no password; `delete` removes it."""
    handle = _create(task_bench, bank_of([SECRET], "it"))
    (file,) = _banks(task_bench)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    row = task_bench.value("SELECT options::text FROM job WHERE id = %(job)s", job=handle.id)
    assert handle.job.options.passwords.digest in row
    assert SECRET not in row
    with task_bench.database.transaction() as conn:
        conn.execute("UPDATE job SET state = 'cancelled' WHERE id = %(job)s", {"job": handle.id})
    delete_job(_handle(task_bench), FILER, task_bench.storage_root)
    assert not file.exists()


@pytest.mark.parametrize("damage", ["gone", "another"])
def test_a_bank_that_is_gone_suspends_the_job(task_bench: TaskBench, damage: str) -> None:
    handle = _create(task_bench, bank_of([OFFICE_PASSWORD, SECRET], "it"))
    (file,) = _banks(task_bench)
    kept = file.read_bytes()
    file.write_bytes(b"another\n") if damage == "another" else file.unlink()
    task_bench.until(Phase.EXPAND)
    task_bench.drain()
    found = _handle(task_bench).job
    assert found.state is JobState.SUSPENDED
    assert "password bank" in str(found.reason)
    file.write_bytes(kept)
    task_bench.context = dataclasses.replace(task_bench.context, banks=Banks())
    with task_bench.database.transaction(durable=True) as conn:
        request_resume(conn, handle.id)
    assert task_bench.run() == "completed"
