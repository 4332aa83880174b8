"""A database from before claim tokens: what belonged together still does, and a job that is not over goes on."""

from __future__ import annotations

import uuid

from alembic import command

from sql import ledger
from sql.findings import TaskResult
from sql.migrate import migrate
from sql.migrations.upgrade import alembic_config
from sql.session import Database

_JOB, _ITEM = uuid.uuid4(), uuid.uuid4()
_ROWS = """
INSERT INTO job (id, name, state, phase, source, source_device, source_inode, options)
VALUES (%(job)s, 'old', 'running', 'index', '/', 1, 1, '{"lease_seconds": 30, "dispatch_seconds": 60}');
INSERT INTO item (id, job, custodian, ordinal, depth, name, display, container_path, kind, container, media_type, bytes)
VALUES (%(item)s, %(job)s, 0, 'a', 0, 'a', 'a', '{a}', 'loose_file', false, 'text/plain', 1);
INSERT INTO task (job, phase, state, weight, payload, attempt, lease) VALUES
    (%(job)s, 'index', 'done', 2, '{"n": 1}', 1, NULL),
    (%(job)s, 'index', 'running', 1, '{"n": 2}', 2, now() + interval '1 hour');
INSERT INTO item_index (item, job, shard, task, attempt) VALUES (%(item)s, %(job)s, %(job)s, 1, 1);
INSERT INTO exception (job, item, code, level, phase, detail, task, attempt)
VALUES (%(job)s, %(item)s, 'corrupt', 'item', 'index', '', 1, 1);
INSERT INTO death (job, task, attempt, item, cause, detail, worker) VALUES
    (%(job)s, 2, 1, %(item)s, 'timeout', '', 'w1'), (%(job)s, 2, 2, %(item)s, 'timeout', '', 'w1');
INSERT INTO replay_client (job, client, host, task, attempt) VALUES (%(job)s, 0, 'h', 2, 2), (%(job)s, 1, 'h', NULL, NULL);
"""


def _old(database: Database) -> None:
    with database.transaction() as conn:
        conn.exec_driver_sql("DROP SCHEMA public CASCADE")
        conn.exec_driver_sql("CREATE SCHEMA public")
        command.upgrade(alembic_config(conn), "0007")
        conn.exec_driver_sql(_ROWS, {"job": _JOB, "item": _ITEM})


def test_an_unfinished_job_goes_on_and_its_documents_keep_their_owner(database: Database) -> None:
    """Promise: what ran is pending, and can be claimed and finished; deaths still convict; old documents are found."""
    _old(database)
    migrate(database)
    with database.transaction() as conn:
        rows = conn.exec_driver_sql("SELECT id, state, payload, token FROM task ORDER BY weight DESC").all()
        done, open_ = rows
        assert [(row.state, row.payload, row.token) for row in rows] == [
            ("done", {"n": 1}, None),
            ("pending", {"n": 2}, None),
        ]
        assert conn.exec_driver_sql("SELECT owner FROM item_index").scalar_one() == "1:1"
        assert conn.exec_driver_sql("SELECT task FROM exception").scalar_one() == done.id
        deaths = conn.exec_driver_sql("SELECT task, token FROM death").all()
        assert {row.task for row in deaths} == {open_.id}
        assert len({row.token for row in deaths}) == 2
        assert set(ledger.convicted(conn, _JOB)) == {_ITEM}
        clients = conn.exec_driver_sql("SELECT task, token FROM replay_client ORDER BY client").all()
        assert clients[0].task == open_.id
        assert clients[0].token in {row.token for row in deaths}
        assert tuple(clients[1]) == (None, None)
    with database.transaction() as conn:
        assert ledger.dispatch(conn, _JOB, 5) == [open_.id]
        claimed = ledger.claim(conn, _JOB, open_.id, uuid.uuid4(), "w1", 0)
        assert claimed is not None
        ledger.finish(conn, claimed, TaskResult())
