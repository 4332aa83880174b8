"""Exported lists: whoever is handed one can check it, and each item names who read it, with which parsers."""

import hashlib
import json
import subprocess
import sys
import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from taskbench import TaskBench
from unpacking import make_zip

from controller.custody import acting, action_records, actions_of, ended, items_of, parser_records
from controller.databases import JobHandle
from controller.search.named import save_search
from core.records import JobOptions, Phase
from readers.parsers import ParserSet
from sql.deletion import begin, delete_rows
from sql.interface import QUERIES
from sql.jobs import get_job
from sql.session import Database
from worker.parsers import own_set
from worker.slots.context import SlotContext, note_parsers

ROOT = Path(__file__).parents[3]
_AN_HOUR_AGO = QUERIES["note_action"].sql.replace("clock_timestamp()", "clock_timestamp() - interval '1 hour'")


@pytest.fixture
def exported(copy: Any) -> list[dict[str, Any]]:
    """Some actions, a text with a newline and letters of other scripts among them, one of them while the clock went back, and
    items."""
    for name, query in (("one", '"a\nb" OR þ®'), ("two", "the"), ("three", "日本")):
        with acting(f"{name}@host"):
            save_search([copy.handle], name, query)
    with copy.handle.database.transaction() as conn:
        given = {
            "job": copy.handle.id,
            "who": "four@host",
            "action": "tagged",
            "details": '{"n": 1.50, "changed": true}',
        }
        conn.execute(_AN_HOUR_AGO, given)
    return [*action_records([copy.handle]), *items_of([copy.handle])]


def _checked(records: Sequence[dict[str, Any] | str], path: Path) -> tuple[int, str]:
    """Exit status and output of the program in docs/custody.md for a list with these lines."""
    lines = (one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in records)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    program = (ROOT / "docs/custody.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_a_recipient_can_check_a_list_by_the_documentation(exported: list[dict[str, Any]], tmp_path: Path) -> None:
    path, whole = tmp_path / "custody.jsonl", list(ended(exported))
    actions = [one for one in exported if one["record"] == "action"]
    assert len(actions) > 4
    assert whole[-1]["items"] > 5
    assert _checked(whole, path) == (0, f"{ {actions[0]['job']: actions[-1]['chain']} }\n")
    one, *later = actions
    forged = {
        "at": (datetime.fromisoformat(one["at"]) + timedelta(microseconds=1)).isoformat(),
        "who": "eve@host",
        "action": "untagged",
        "details": one["details"] | {"name": "another"},
        "chain": hashlib.sha256(one["chain"].encode()).hexdigest(),
        "job": str(uuid.uuid4()),
        "hashed": one["hashed"].replace("@", "@x", 1),
    }
    lists: dict[str, list[Any]] = {name: [one | {name: value}, *whole[1:]] for name, value in forged.items()}
    lists["twice"] = ['{"who": "eve@host", ' + json.dumps(one)[1:], *whole[1:]]  # some programs read the first
    lists |= {"removed": [one, *later[1:], *ended(())], "moved": [one, later[1], later[0], *whole[3:]]}
    lists |= {"cut off": exported, "items": [*exported[:-1], whole[-1]], "actions": whole[1:]}
    assert {name for name, records in lists.items() if _checked(records, path)[0] == 0} == set()


def test_actions_stand_in_the_order_of_their_chain(copy: Any, exported: list[dict[str, Any]]) -> None:
    actions = [one for one in exported if one["record"] == "action"]
    assert [one["who"] for one in actions[-4:]] == ["one@host", "two@host", "three@host", "four@host"]
    assert actions[-1]["at"] < actions[-2]["at"]
    assert [action.chain for action in actions_of([copy.handle])] == [one["chain"] for one in actions]


def _parsers(version: str) -> ParserSet:
    """Of an installation of this version, where other handlers read than here."""
    types = {"application/zip": "unzip", "text/plain": "words", "*": "nobody"}
    handlers = dict.fromkeys(types.values(), f"edbench {version}") | {"words": f"wordy {version}.1"}
    return ParserSet.of(
        {"edbench": version, "python": "3", "types": types, "handlers": handlers, "libraries": {"lxml": version}}
    )


def _slot(bench: TaskBench, version: str) -> SlotContext:
    """Of a worker of this version, called after it."""
    slot = bench.slot(f"w-{version}")
    slot.parsers = _parsers(version)
    return slot


def _corpus(bench: TaskBench, **options: Any) -> None:
    bench.options = JobOptions(**options)
    (bench.source / "a.txt").write_bytes(b"plain words")
    (bench.source / "b.zip").write_bytes(make_zip({"one.txt": b"first words", "two.txt": b"second words"}))
    bench.create()


def _handle(bench: TaskBench) -> JobHandle:
    with bench.database.transaction() as conn:
        return JobHandle(bench.database, get_job(conn, bench.job))


def _recorded(bench: TaskBench) -> dict[str, dict[str, Any]]:
    return {line["path"][-1]: line for line in items_of([_handle(bench)])}


def _end(bench: TaskBench, slot: SlotContext) -> None:
    """All phases that are left, by this slot."""
    bench.drain(slot)
    while not str(state := bench.advance()).startswith("completed"):
        assert state is not None
        bench.drain(slot)
    slot.shards.close()


def _by(line: dict[str, Any]) -> tuple[Any, ...]:
    return line["phase"], line["worker"], line["parser"], line["parser_version"], line["version"]


def test_each_task_of_an_item_reports_its_own_worker(task_bench: TaskBench) -> None:
    """A job that another version goes on with: who took the items out is one, who read them another, and a container was
    opened by the first alone. Nothing depends on what is installed here."""
    _corpus(task_bench)
    old, new = _slot(task_bench, "1.0"), _slot(task_bench, "2.0")
    task_bench.drain(old)
    assert task_bench.advance() is Phase.EXPAND
    task_bench.drain(old)
    _end(task_bench, new)
    reported = _recorded(task_bench)
    assert {name: _by(line) for name, line in reported.items()} == {
        "a.txt": ("index", "w-2.0", "words", "wordy 2.0.1", "2.0"),
        "one.txt": ("index", "w-2.0", "words", "wordy 2.0.1", "2.0"),
        "two.txt": ("index", "w-2.0", "words", "wordy 2.0.1", "2.0"),
        "b.zip": ("index", "w-2.0", "unzip", "edbench 1.0", "2.0"),
    }
    for line in reported.values():
        (first,) = line["earlier"]
        assert (first["phase"], first["worker"], first["version"]) == ("expand", "w-1.0", "1.0")
        assert (first["parsers"], line["parsers"]) == (str(_parsers("1.0").id), str(_parsers("2.0").id))
        assert None not in (first["task"], first["at"], line["task"], line["at"])
    sets = {line["parsers"]: line for line in parser_records([_handle(task_bench)])}
    assert sorted(line["libraries"]["lxml"] for line in sets.values()) == ["1.0", "2.0"]
    assert sets.keys() == {str(_parsers("1.0").id), str(_parsers("2.0").id)}


def test_two_versions_side_by_side(task_bench: TaskBench) -> None:
    task_bench.options = JobOptions(batch_files=1)
    for number in range(6):
        (task_bench.source / f"{number}.txt").write_bytes(b"words %d" % number)
    task_bench.create()
    slots = [_slot(task_bench, "1.0"), _slot(task_bench, "2.0")]
    done: dict[str, str] = {}
    for _ in range(4):
        for number, task in enumerate(task_bench.dispatch()):
            slot = slots[number % 2]
            task_bench.handle(task, slot)
            done[str(task)] = slot.worker
        task_bench.advance()
    reported = _recorded(task_bench)
    assert len(reported) == 6
    assert {line["worker"] for line in reported.values()} == {"w-1.0", "w-2.0"}
    for line in reported.values():
        for one in (line, *line["earlier"]):
            assert done[one["task"]] == one["worker"] == f"w-{one['version']}"
            assert one["parser_version"] == f"wordy {one['version']}.1"
    for slot in slots:
        slot.shards.close()


@pytest.mark.parametrize("single_pass", [False, True])
def test_of_two_claims_the_one_that_ended_is_reported(
    task_bench: TaskBench, monkeypatch: pytest.MonkeyPatch, single_pass: bool
) -> None:
    _corpus(task_bench, single_pass=single_pass)
    lost, kept = _slot(task_bench, "1.0"), _slot(task_bench, "2.0")
    phase = Phase.EXPAND if single_pass else Phase.INDEX
    task_bench.until(phase)
    (task,) = task_bench.dispatch()
    with monkeypatch.context() as patch:
        task_bench.take_over(patch, phase, task)
        task_bench.handle(task, lost)
    assert task_bench.value("SELECT parsers FROM task WHERE id = %(t)s", t=task) == _parsers("1.0").id
    _end(task_bench, kept)
    reported = _recorded(task_bench)
    assert {_by(line)[1:] for name, line in reported.items() if name != "b.zip"} == {
        ("w-2.0", "words", "wordy 2.0.1", "2.0")
    }
    assert {len(line["earlier"]) for line in reported.values()} == {0 if single_pass else 1}
    if single_pass:
        assert reported["b.zip"]["parser"] == "unzip"
    lost.shards.close()


def test_what_is_processed_again_is_reported_by_who_did_it(task_bench: TaskBench) -> None:
    (task_bench.source / "a.txt").write_bytes(b"plain words")
    (task_bench.source / "b.zip").write_bytes(make_zip({"one.txt": b"first words"})[:-30])
    task_bench.create()
    old, new = _slot(task_bench, "1.0"), _slot(task_bench, "2.0")
    _end(task_bench, old)
    (task_bench.source / "b.zip").write_bytes(make_zip({"one.txt": b"first words"}))
    assert task_bench.requeue() == 1
    task_bench.resume()
    _end(task_bench, new)
    reported = _recorded(task_bench)
    assert {
        name: [line["version"], *(one["version"] for one in line["earlier"])] for name, line in reported.items()
    } == {
        "a.txt": ["1.0", "1.0"],
        "b.zip": ["2.0", "2.0"],
        "one.txt": ["2.0", "2.0"],
    }


def test_tasks_that_were_joined_report_parsers_and_no_task(task_bench: TaskBench) -> None:
    task_bench.options = JobOptions(batch_files=1, index_tasks=1)
    for number in range(6):
        (task_bench.source / f"{number}.txt").write_bytes(b"words %d" % number)
    task_bench.create()
    old, new, last = (_slot(task_bench, version) for version in ("1.0", "2.0", "3.0"))
    task_bench.drain(old)
    assert task_bench.advance() is Phase.EXPAND
    by: dict[str, str] = {}
    for number, task in enumerate(task_bench.dispatch()):
        slot = new if number % 2 else old
        task_bench.handle(task, slot)
        rows = task_bench.rows(
            "SELECT jsonb_array_elements_text(payload -> 'items') FROM task WHERE origin = %(t)s", t=task
        )
        by |= {str(uuid.UUID(item)): slot.worker for (item,) in rows}
    assert task_bench.advance() is Phase.INDEX
    assert task_bench.value("SELECT count(*) FROM task WHERE state = 'pending'") == 2
    _end(task_bench, last)
    reported = _recorded(task_bench)
    assert len(by) == len(reported) == 6
    for line in reported.values():
        (first,) = line["earlier"]
        assert (line["worker"], line["version"]) == ("w-3.0", "3.0")
        assert f"w-{first['version']}" == by[line["item"]]
        assert (first["task"], first["worker"], first["phase"], first["at"]) == (None, None, None, None)
        assert first["parser_version"] == f"wordy {first['version']}.1"


def test_parts_of_a_task_report_who_made_it(task_bench: TaskBench) -> None:
    for number in range(64):
        (task_bench.source / f"{number}.txt").write_bytes(b"words %d" % number)
    task_bench.create()
    slot = _slot(task_bench, "1.0")
    task_bench.drain(slot)
    assert task_bench.advance() is Phase.EXPAND
    task_bench.drain(slot)
    with task_bench.database.transaction() as conn:
        conn.execute(
            "INSERT INTO worker (incarnation, name, host, pid, slots, version, seen_at)"
            " VALUES (gen_random_uuid(), 'w', 'h', 1, 4, '0', clock_timestamp())"
        )
    _end(task_bench, slot)
    assert task_bench.value("SELECT count(*) FROM task WHERE phase = 'index'") > 1
    assert task_bench.value("SELECT count(*) FROM task WHERE phase = 'expand'") == 1
    made = dict(map(tuple, task_bench.rows("SELECT id::text, phase FROM task WHERE phase = 'expand'")))
    reported = _recorded(task_bench)
    assert len(reported) == 64
    assert all([made.get(one["task"]) for one in line["earlier"]] == ["expand"] for line in reported.values())


def test_text_of_ocr_has_both_before_it(task_bench: TaskBench) -> None:
    _corpus(task_bench)
    _end(task_bench, _slot(task_bench, "1.0"))
    token = uuid.uuid4()
    later = _parsers("2.0")
    with task_bench.database.transaction() as conn:
        conn.execute("INSERT INTO parser_set (id, contents) VALUES (%(i)s, %(t)s)", {"i": later.id, "t": later.text})
        conn.execute(
            "INSERT INTO task (job, phase, state, weight, payload, token, origin, origin_token, parsers, worker, finished_at)"
            " SELECT job, 'ocr', 'done', 1, '{}', %(token)s, id, token, %(parsers)s, 'w-2.0', clock_timestamp()"
            " FROM task WHERE phase = 'index'",
            {"token": token, "parsers": later.id},
        )
        conn.execute(
            "UPDATE item_index SET owner = %(token)s WHERE item = (SELECT id FROM item WHERE display LIKE '%%a.txt')",
            {"token": token.hex},
        )
    line = _recorded(task_bench)["a.txt"]
    assert _by(line) == ("ocr", "w-2.0", "words", "wordy 2.0.1", "2.0")
    assert [_by(one)[0::4] for one in line["earlier"]] == [("expand", "1.0"), ("index", "1.0")]


def test_a_set_is_noted_once_in_each_database(task_bench: TaskBench) -> None:
    """Before the first claim refers to it, by however many slots, and in every database that a slot works for; it stays
    when a job is deleted, for those that are left."""
    slots = [_slot(task_bench, "1.0") for _ in range(2)]
    first = Database("db1", task_bench.slots.url)
    second = Database("db2", task_bench.slots.url)  # by another name
    for slot in slots:
        assert note_parsers(slot, first) == _parsers("1.0").id
    assert slots[0].noted == {"db1"}
    assert task_bench.value("SELECT count(*) FROM parser_set") == 1
    task_bench.rows("DELETE FROM parser_set RETURNING 1")
    note_parsers(slots[0], first)
    assert task_bench.value("SELECT count(*) FROM parser_set") == 0, "it asks once"
    note_parsers(slots[0], second)
    assert task_bench.rows("SELECT id FROM parser_set") == [(_parsers("1.0").id,)]
    first.dispose()
    second.dispose()
    _corpus(task_bench)
    task_bench.context.noted.clear()
    _end(task_bench, task_bench.context)
    assert {line["parsers"] for line in _recorded(task_bench).values()} == {str(own_set().id)}, (
        "without a sandbox: its own"
    )
    with task_bench.database.transaction(durable=True) as conn:
        begin(conn, task_bench.job)
    delete_rows(task_bench.database, task_bench.job)
    assert task_bench.value("SELECT count(*) FROM parser_set") == 2
