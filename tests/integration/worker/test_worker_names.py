"""A plain word is looked for in what an item is called, not in where it stands."""

from __future__ import annotations

from functools import partial

import pytest
from taskbench import TaskBench
from unpacking import make_mail, make_zip

from controller.databases import JobHandle
from controller.search.answers import Wanted, count_all
from controller.search.opened import opened_index
from controller.search.report import hit_report, listed
from core.records import JobOptions
from sql.jobs import get_job

pytestmark = pytest.mark.services


@pytest.mark.parametrize("engine", ["tantivy", "whoosh"])
def test_a_custodian_or_a_folder_is_no_hit(task_bench: TaskBench, engine: str) -> None:
    """Custodian, directories and folders of an archive called as a term are found by `path:` alone; names of files by both."""
    task_bench.options = JobOptions(index_engine=engine)
    folder = task_bench.source / "bob" / "Legal"
    folder.mkdir(parents=True)
    (folder / "priv.txt").write_bytes(b"tiger\n")
    (folder / "a.zip").write_bytes(make_zip({"inbox/bob.txt": b"lion\n", "inbox/two.txt": b"tiger\n"}))
    (folder / "m.eml").write_bytes(make_mail("lunch", "tiger\n", {"legal.txt": b"lion\n"}))
    task_bench.create()
    assert task_bench.run().startswith("completed")
    with task_bench.database.transaction() as conn:
        handle = JobHandle(task_bench.database, get_job(conn, task_bench.job))
    opened = partial(opened_index, settings=task_bench.context.settings)

    def found(query: str) -> set[str]:
        hits, _ = count_all([handle], opened, Wanted(query=query, limit=100))
        return {hit.container_path[-1].rpartition("/")[2] for hit in hits}

    assert found("bob") == found("name:bob") == {"bob.txt"}
    assert found("legal") == {"legal.txt"}
    assert found("inbox") == found('"bob legal"') == set()
    assert found("tiger NOT bob NOT legal") == {"priv.txt", "two.txt", "m.eml"}
    everything = {"priv.txt", "a.zip", "bob.txt", "two.txt", "m.eml", "legal.txt"}
    assert found("path:bob") == found("path:legal") == everything
    assert found("path:inbox") == {"bob.txt", "two.txt"}
    report = hit_report([handle], opened, listed(["bob", "legal", "inbox", "priv"], "list"))
    assert [(term.items, term.unique_items) for term in report.terms] == [(1, 1), (1, 1), (0, 0), (1, 1)]
