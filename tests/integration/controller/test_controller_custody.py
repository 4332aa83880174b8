"""A list of operator actions that was exported: whoever is handed it can check it, and a forged word is told."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cli.main import FAILED, OK, main
from controller.custody.actions import acting, actions_of
from controller.custody.check import check_list
from controller.custody.report import actions_told, ended, items_of
from controller.search.named import save_search
from sql.face import QUERIES

pytestmark = pytest.mark.services

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
        conn.exec_driver_sql(_AN_HOUR_AGO, given)
    return [*actions_told([copy.handle]), *items_of([copy.handle])]


def _faults(records: Sequence[dict[str, Any] | str], noted: Sequence[str] = ()) -> list[str]:
    """Of a list with these lines, and an end that fits."""
    kinds = Counter('"action"' in one and "action" if isinstance(one, str) else one["record"] for one in records)
    return _faults_of([*records, {"record": "end", "actions": kinds["action"], "items": kinds["item"]}], noted)


def _faults_of(lines: Sequence[dict[str, Any] | str], noted: Sequence[str] = ()) -> list[str]:
    told: list[str] = []
    written = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) + "\n" for one in lines]
    assert check_list(written, noted, told.append).faults == len(told)
    return told


def test_the_rule_as_documented_gives_every_hash(exported: list[dict[str, Any]]) -> None:
    """By ten lines that know nothing of edbench, from the list alone."""
    actions = [one for one in exported if one["record"] == "action"]
    assert len(actions) > 4
    before = uuid.UUID(actions[0]["job"]).bytes
    for one in actions:
        before = hashlib.sha256(before + one["hashed"].encode()).digest()
        assert one["chain"] == before.hex()
        _, who, action, details = one["hashed"].split("\n")
        assert (one["who"], one["action"], one["details"]) == (who, action, json.loads(details))
    assert _faults(exported, [actions[0]["chain"], actions[-1]["chain"].upper()]) == []


def test_actions_stand_in_the_order_of_their_chain(copy: Any, exported: list[dict[str, Any]]) -> None:
    """Also where the clock went back; the page and the API have them so, too."""
    actions = [one for one in exported if one["record"] == "action"]
    assert [one["who"] for one in actions[-4:]] == ["one@host", "two@host", "three@host", "four@host"]
    assert actions[-1]["at"] < actions[-2]["at"]
    assert [action.chain for action in actions_of([copy.handle])] == [one["chain"] for one in actions]


def test_every_word_that_is_forged_is_told(exported: list[dict[str, Any]]) -> None:
    """In each action each field; with the hashed text adapted or not."""
    many = sum(one["record"] == "action" for one in exported)
    changes: dict[str, Callable[[dict[str, Any]], Any]] = {
        "at": lambda one: (datetime.fromisoformat(one["at"]) + timedelta(microseconds=1)).isoformat(),
        "who": lambda one: "eve@host",
        "action": lambda one: "untagged",
        "details": lambda one: one["details"] | {"name": "another"},
        "chain": lambda one: hashlib.sha256(one["chain"].encode()).hexdigest(),
        "job": lambda one: str(uuid.uuid4()),
        "hashed": lambda one: one["hashed"].replace("@", "@x", 1),
        "broken": lambda one: True,
    }
    for number in range(many):
        one = exported[number]
        for name, change in changes.items():
            forged = one | {name: change(one)}
            assert forged != one, name
            assert _faults([*exported[:number], forged, *exported[number + 1 :]]), (number, name)
        adapted = one | {"who": "eve@host", "hashed": one["hashed"].replace(one["who"], "eve@host")}
        assert _faults([*exported[:number], adapted, *exported[number + 1 :]])
        assert _faults([*exported[:number], one | {"chain": None}, *exported[number + 1 :]])
        twice = json.dumps(one)[:-1] + ', "who": "eve@host"}'
        assert _faults([*exported[:number], twice, *exported[number + 1 :]])


def test_what_is_taken_out_moved_or_cut_off_is_told(exported: list[dict[str, Any]]) -> None:
    """The end only to whoever has noted it."""
    actions = [one for one in exported if one["record"] == "action"]
    for number in range(len(actions) - 1):
        assert _faults(actions[:number] + actions[number + 1 :]), number
        assert _faults([*actions[:number], actions[number + 1], actions[number], *actions[number + 2 :]]), number
    assert _faults(actions[:-1]) == []
    assert "the noted hash" in _faults(actions[:-1], [actions[-1]["chain"]])[0]
    assert _faults([]) == _faults([one for one in exported if one["record"] == "item"]) != []
    for nonsense in ("", "[]", "{}", '{"record": "action"}', '{"record": "action", "job": 1}', "[" * 100_000):
        assert len(_faults([*actions, nonsense])) == 1, nonsense[:40]


def test_a_list_that_ends_early_is_told(exported: list[dict[str, Any]]) -> None:
    """Wherever it ends, in the middle of the items, too; so is one that lacks an item. Lists may stand one behind the other."""
    whole = list(ended(exported))
    assert whole[-1]["items"] > 5
    items = [one for one in exported if one["record"] == "item"]
    assert _faults_of(whole) == _faults_of([*whole, *ended(items)]) == []
    for cut in (1, 2, len(exported) // 2, len(exported)):
        assert "there is no line `end`" in _faults_of(exported[:cut])[-1], cut
    assert "items before it" in _faults_of([*exported[:-1], whole[-1]])[0]
    assert "actions before it" in _faults_of(whole[1:])[-1]


def test_the_command_tells_what_was_forged(
    exported: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a database: a line for each fault, and exit status 1."""
    path = tmp_path / "custody.jsonl"
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in ended(exported)))
    env = {"EDBENCH_DATABASES": "db1=postgresql://nobody@127.0.0.1:1/nothing"}
    last = [one for one in exported if one["record"] == "action"][-1]["chain"]
    assert main(["job", "custody", "--check", str(path), "--noted", last], env) == OK
    assert f": {last}" in capsys.readouterr().out
    path.write_text(path.read_text().replace("three@host", "third@host", 1))
    assert main(["job", "custody", "--check", str(path)], env) == FAILED
    assert "who differs from what was hashed" in capsys.readouterr().out
