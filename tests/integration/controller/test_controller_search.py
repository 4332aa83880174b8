"""Searches over index and ledger of a finished job: exact sets, hit reports, tags, searches that are kept."""

import json
import shutil
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from shelf import Shelf

from controller.browse.item_filter import Condition, ItemFilter
from controller.browse.items import stream_items
from controller.browse.pages import items_page
from controller.custody import acting, actions_of, items_of, parser_records
from controller.databases import JobHandle, alone
from controller.jobs.jobs import requeue_exceptions
from controller.search.answers import Wanted, answer_all, count_all
from controller.search.meaning import custodians_of
from controller.search.named import forget_search, save_search, searches_of, tag_found, tags_of
from controller.search.opened import Indexes, opened_index
from controller.search.report import CSV_FIELDS, csv_rows, hit_report, listed
from core.errors import RunFailed, StorageFault, UsageError
from readers.modules import MEDIA_TYPES
from readers.parsers import ParserSet, parser_of
from search.engine import META, SEGMENTS, IndexDocument, new_writer
from sql.custody import CUSTODY
from sql.session import Database
from worker.parsers import own_set

MOST = 100_000


def found(copy: Any, query: str, **more: Any) -> set[Any]:
    """The items of a query."""
    opened = partial(opened_index, settings=copy.settings)
    hits, number = count_all([copy.handle], opened, Wanted(query=query, limit=MOST, **more))
    assert len(hits) == number
    return {hit.item for hit in hits}


def asked(copy: Any, condition: str) -> set[Any]:
    """The items for which an SQL condition holds."""
    rows = copy.run(
        "SELECT i.id FROM item i JOIN custodian u ON u.job = i.job AND u.number = i.custodian"
        f" LEFT JOIN item_text t ON t.item = i.id WHERE {condition}"
    )
    return {row[0] for row in rows}


def test_what_the_ledger_knows_is_asked_beside_the_index(copy: Any) -> None:
    date, from_, to = copy.run(
        "SELECT v.key, min(left(v.value, 10)), left(percentile_disc(0.5) WITHIN GROUP (ORDER BY v.value), 10)"
        " FROM item_text, jsonb_each_text(metadata) v WHERE v.key IN ('date', 'created', 'modified')"
        " GROUP BY v.key ORDER BY count(*) DESC LIMIT 1"
    )[0]
    for query, condition in (
        ("size:>10kB", "i.bytes > 10000"),
        ("size:[1000 TO 5kB}", "i.bytes >= 1000 AND i.bytes < 5000"),
        ("text_state:ok", "t.state = 'ok'"),
        ("exception:any", "EXISTS (SELECT 1 FROM exception e WHERE e.item = i.id)"),
        (f"{date}:[{from_} TO {to}]", f"left(t.metadata->>'{date}', 10) BETWEEN '{from_}' AND '{to}'"),
        (f"{date}:>{to[:7]}", f"left(t.metadata->>'{date}', 7) > '{to[:7]}'"),
        ("charset:utf", "t.metadata->>'charset' ILIKE '%%utf%%'"),
    ):
        assert found(copy, query) == asked(copy, condition), query
    assert found(copy, f"{date}:[{from_} TO {to}]")
    beyond = "9" * 25  # more than the database counts
    assert (found(copy, f"size:>{beyond}"), found(copy, f"size:<{beyond}")) == (set(), asked(copy, "true"))
    the, large = found(copy, "the"), found(copy, "size:>2kB")
    assert all((the & large, the - large, large - the))
    assert found(copy, "the AND size:>2kB") == the & large
    assert found(copy, "the NOT size:>2kB") == the - large
    assert found(copy, "the OR size:>2kB") == the | large
    assert found(copy, "size:>2kB NOT (the OR of)") == large - the - found(copy, "of")
    name = copy.run("SELECT display FROM custodian ORDER BY number LIMIT 1")[0][0]
    own = found(copy, "the", custodian=name)
    assert own == the & asked(copy, f"u.display = '{name}'")


def test_a_day_without_a_time_is_on_its_side_of_a_time(copy: Any) -> None:
    """A cut-off at midnight must not take what is dated on that day for earlier; in hours of that day it may have been."""
    item = copy.run("SELECT item FROM item_text ORDER BY item LIMIT 1")[0][0]
    copy.run("UPDATE item_text SET metadata = %(day)s WHERE item = %(item)s", item=item, day='{"date": "1977-07-02"}')
    for query, there in (
        ("date:<1977-07-02T00:00", False),
        ("date:>=1977-07-02T00:00", True),
        ("date:<=1977-07-01T23:59", False),
        ("date:[1977-07-02T08:00 TO 1977-07-02T17:00]", True),
        ("date:>=1977-07-03T00:00", False),
        ("date:1977-07", True),
    ):
        assert (item in found(copy, query)) is there, query


def test_a_custodian_that_there_is_not_is_refused(copy: Any) -> None:
    """A misspelt one would have zeros for each term, as if nothing of theirs were found; the names that there are stand in the line."""
    opened, names = partial(opened_index, settings=copy.settings), custodians_of([copy.handle])
    wrong = names[0].swapcase()
    for ask in (
        lambda: found(copy, "the", custodian=wrong),
        lambda: hit_report([copy.handle], opened, listed(["the"], "list"), custodian=wrong),
    ):
        with pytest.raises(UsageError, match=f"no custodian '{wrong}'; the custodians are .*{names[0]}") as refused:
            ask()
        assert refused.value.field == "custodian"


def test_a_name_in_a_query_that_nothing_has_is_refused(copy: Any) -> None:
    """Excluded it would exclude nothing, and in a hit report it would be a row of zeros. A type that a job happens not to have is none."""
    opened, names = partial(opened_index, settings=copy.settings), custodians_of([copy.handle])
    for query, shown in (
        (f'the NOT custodian_is:"{names[0].swapcase()}"', f"the custodians are .*{names[0]}"),
        ("custodian_is:an*", "no custodian 'an\\*'"),
        ('the NOT type_is:"text/plian"', "no item has the media type 'text/plian'; did you mean text/plain?"),
        ("the NOT load_confidentiality:attorney", "no item has the field 'load_confidentiality' of a load file"),
    ):
        with pytest.raises(UsageError, match=shown):
            found(copy, query)
        with pytest.raises(UsageError, match=f"line 2: .*{shown}"):
            hit_report([copy.handle], opened, listed(["the", query], "list"))
        with pytest.raises(UsageError, match=shown):
            tag_found([copy.handle], opened, "odd", query)
    assert found(copy, f'custodian_is:"{names[0]}"')
    there = {row[0] for row in copy.run("SELECT DISTINCT media_type FROM item")}
    absent = sorted({media_type for each in MEDIA_TYPES.values() for media_type in each} - there)
    assert found(copy, f'type_is:"{absent[0]}"') == set()


def test_pages_of_hits_neither_repeat_nor_lose_an_item(copy: Any) -> None:
    opened = partial(opened_index, settings=copy.settings)
    assert copy.run("SELECT count(*) FROM shard")[0][0] > 1
    for query in ("the", "t*", "the OR of", "*", "the AND size:>1kB"):
        every, number = count_all([copy.handle], opened, Wanted(query=query, limit=MOST))
        order = [hit.item for hit in every]
        assert len(set(order)) == number > 5, query
        for limit in (1, 3, number // 2, number - 1):
            few, _ = count_all([copy.handle], opened, Wanted(query=query, limit=limit))
            assert [hit.item for hit in few] == order[:limit], (query, limit)
        if "size" not in query:
            assert order == [hit.item for hit in sorted(every, key=lambda hit: (-hit.score, hit.item))]


def test_families_come_whole(copy: Any) -> None:
    opened = partial(opened_index, settings=copy.settings)
    hits, facets = answer_all([copy.handle], opened, Wanted(query="kind:attachment", limit=MOST, families=True))
    attachments = found(copy, "kind:attachment")
    assert {hit.item for hit in hits if hit.hit} == attachments != set()
    families = asked(copy, "i.family_id IN (SELECT family_id FROM item WHERE kind = 'attachment')")
    assert {hit.item for hit in hits} == families | attachments > attachments
    assert facets.items == len(hits) == sum(count for _, count in facets.types)


def test_a_hit_report_adds_up(copy: Any) -> None:
    lines = ["the", "and", "kind:attachment", "THE", "nosuchwordatall", "text_state:ok AND size:>1kB"]
    report = hit_report([copy.handle], partial(opened_index, settings=copy.settings), listed(lines, "list"))
    sets = [found(copy, line) for line in lines]
    families = dict(copy.run("SELECT id, coalesce(family_id, id) FROM item"))
    custodians = dict(
        copy.run("SELECT i.id, u.display FROM item i JOIN custodian u ON u.job = i.job AND u.number = i.custodian")
    )
    for number, term in enumerate(report.terms):
        others = [s for n, s in enumerate(sets) if n not in (number, {0: 3, 3: 0}.get(number, number))]
        tops = {families[item] for item in sets[number]}
        other_tops = {families[item] for other in others for item in other}
        assert term.items == len(sets[number])
        assert term.families == len(tops)
        assert term.items_with_family == sum(families[item] in tops for item in families)
        assert term.unique_items == len(sets[number].difference(*others))
        assert term.unique_families == len(tops - other_tops)
        by_custodian = {each.custodian: each.items for each in term.custodians}
        assert sum(by_custodian.values()) == term.items
        assert {c: n for c, n in by_custodian.items() if n} == {
            c: sum(custodians[item] == c for item in sets[number]) for c in {custodians[i] for i in sets[number]}
        }
    assert [term.same_as_line for term in report.terms] == [None, None, None, 1, None, None]
    assert report.total.items == len(set.union(*sets))
    assert report.searched_items == len(families)
    rows = list(csv_rows(report))
    assert all(row.keys() <= set(CSV_FIELDS) for row in rows)
    assert [row["term"] for row in rows if row["custodian"] is None] == [*lines, "any term"]


def test_items_that_a_requeue_took_out_are_in_no_tags_number(database: Database) -> None:
    shelf = Shelf(database)
    kept = shelf.loose("anna", "a", "x")
    job = shelf.stored()
    with database.transaction() as conn:
        for item in (kept.id, uuid.uuid4()):
            tagged = "INSERT INTO item_tag (job, tag, item, tagged_by) VALUES (%(job)s, 'seen', %(item)s, 'ann')"
            conn.execute(tagged, {"job": shelf.job, "item": item})
    assert [(tag.tag, tag.items) for tag in tags_of(job.each)] == [("seen", 1)]


def test_tags_and_saved_searches_are_found_and_written_down(copy: Any) -> None:
    opened = partial(opened_index, settings=copy.settings)
    handles, the = [copy.handle], found(copy, "the")
    with acting("ann@host"):
        made = tag_found(handles, opened, "to look at", "the")
    assert (made.found, made.changed) == (len(the), len(the))
    with acting("bob@host"):
        assert tag_found(handles, opened, "to look at", "the AND of").changed == 0
        assert found(copy, 'tag:"to look at"') == the
        gone = tag_found(handles, opened, "to look at", "the AND of", remove=True)
    assert found(copy, 'tag:"to look at"') == the - found(copy, "the AND of")
    assert [(tag.tag, tag.items) for tag in tags_of(handles)] == [("to look at", len(the) - gone.changed)]
    with acting("ann@host"):
        save_search(handles, "hot", "the NOT of")
        save_search(handles, "hotter", "saved:hot AND size:>1kB")
        assert found(copy, "saved:hotter") == found(copy, "(the NOT of) AND size:>1kB")
        one, other, _ = hit_report(handles, opened, listed(["the NOT of", "saved:hot", "saved:hotter"], "l")).terms
        assert (one.same_as_line, other.same_as_line) == (None, 1)
        assert one.unique_items == other.unique_items > 0
        save_search(handles, "hot", "saved:hotter")
    with pytest.raises(UsageError, match="refers to itself"):
        found(copy, "saved:hot")
    with acting("bob@host"):
        forget_search(handles, "hot")
    with pytest.raises(UsageError, match=r"^line 2: job .* has no saved search 'hot'"):
        hit_report(handles, opened, listed(["the", "saved:hot"], "list"))
    with pytest.raises(UsageError, match="no saved search 'hot'; there are hotter"):
        found(copy, "saved:hotter")
    for wrong in ("a/b", "", "x" * 101, " a", "-"):
        with pytest.raises(UsageError, match="not a name for"):
            tag_found(handles, opened, wrong, "the")
    with pytest.raises(UsageError, match="not closed"):
        save_search(handles, "bad", '"open')
    assert [search.name for search in searches_of(handles)] == ["hotter"]
    actions = [action for action in actions_of(handles) if action.who in ("ann@host", "bob@host")]
    assert [(a.who, a.action) for a in actions] == [
        ("ann@host", "tagged"), ("bob@host", "tagged"), ("bob@host", "untagged"), ("ann@host", "search saved"),
        ("ann@host", "search saved"), ("ann@host", "search saved"), ("bob@host", "search forgotten"),
    ]  # fmt: skip
    assert actions[0].details == {
        "tag": "to look at",
        "query": "the",
        "families": False,
        "found": len(the),
        "changed": len(the),
    }


def test_what_is_done_to_the_list_of_actions_shows(copy: Any) -> None:
    """A word that was changed, a time, an action taken out or put in, a hash taken away: it and what follows are broken. What
    is done afterwards is not."""
    handles = [copy.handle]
    for name in ("one", "two", "three"):
        with acting(f"{name}@host"):
            save_search(handles, name, "the")
    before = actions_of(handles)
    assert before[0].action == "created"
    assert not any(action.broken for action in before)
    last = len(before) - 1
    of = "FROM operator_action WHERE job = %(job)s ORDER BY id OFFSET %(n)s LIMIT 1"
    row = f"id = (SELECT id {of})"
    attacks = {
        f"UPDATE operator_action SET who = 'eve@host' WHERE {row}": [last - 1],
        f"UPDATE operator_action SET details = '{{}}' WHERE {row}": [last - 1],
        f"UPDATE operator_action SET at = at - interval '1 hour' WHERE {row}": [last - 1],
        f"DELETE FROM operator_action WHERE {row}": [last - 1],
        f"UPDATE operator_action SET chain = sha256(chain) WHERE {row}": [last - 1, last],
    }
    for attack, broken in attacks.items():
        with copy.handle.database.transaction() as conn:
            conn.execute(attack, {"job": copy.handle.id, "n": last - 1})
            rows = CUSTODY.list_actions(conn, job=copy.handle.id)
            conn.raw.rollback()
        found = [n for n, r in enumerate(rows) if bytes(r.chain) != bytes(r.expected)]
        assert found == broken, attack
    with acting("ann@host"):
        requeue_exceptions(alone(copy.handle), storage_root=copy.settings.storage)
    last = actions_of(handles)[-1]
    assert (last.who, last.action, last.details, last.broken) == ("ann@host", "requeue", {"code": None}, False)
    assert last.at > before[-1].at


def test_every_item_is_reported_as_it_was_read(copy: Any) -> None:
    """With the hash that the database has, and the tasks that had it, of one that is indexed with the parsers that its worker's
    sandboxes told: here the worker had what this process has."""
    reported = {line["item"]: line for line in items_of([copy.handle])}
    rows = copy.run("SELECT id, sha256, container FROM item WHERE job = %(job)s", job=copy.handle.id)
    assert {(str(item), None if sha is None else bytes(sha).hex()) for item, sha, _ in rows} == {
        (line["item"], line["sha256"]) for line in reported.values()
    }
    own = json.loads(own_set().text)
    (parsers,) = parser_records([copy.handle])
    assert (parsers.pop("record"), parsers.pop("job")) == ("parsers", str(copy.handle.id))
    ident = parsers.pop("parsers")
    assert ident == str(ParserSet.of(parsers).id)
    assert parsers["libraries"] == own["libraries"]
    tasks = {str(task) for (task,) in copy.run("SELECT id FROM task WHERE job = %(job)s", job=copy.handle.id)}
    indexed = [line for line in reported.values() if line["text_state"] == "ok"]
    assert indexed
    assert all(line["task"] in tasks and line["worker"] for line in indexed)
    for line in reported.values():
        assert (line["parser"], line["parser_version"]) == parser_of(own, line["media_type"])
        assert (line["parsers"], line["version"]) == (ident, own["edbench"])
        assert [one["phase"] for one in line["earlier"]] in (["expand"], ["walk"])


def _ghosts(copy: Any, home: Path) -> None:
    """A shard with documents that no item names, and one that an item does."""
    (item, shard, owner), (other, *_) = copy.run("SELECT item, shard, owner FROM item_index ORDER BY item LIMIT 2")
    writer = new_writer("tantivy", home / "shard")
    writer.add(IndexDocument(item=item, owner=owner, body="apparition"))
    writer.add(IndexDocument(item=item, owner="0" * 32, body="apparition twice"))
    writer.add(IndexDocument(item=other, owner="0" * 32, body="apparition thrice"))
    writer.finish()
    writer.close()
    (location,) = copy.run("SELECT location FROM shard WHERE id = %(shard)s", shard=shard)[0]
    place = copy.settings.storage / bytes(location).decode()
    shutil.rmtree(place)
    shutil.copytree(home / "shard", place)
    copy.run("DELETE FROM item_index WHERE shard = %(shard)s AND item <> %(item)s", shard=shard, item=item)


def test_a_shard_that_lost_documents_is_not_searched(copy: Any) -> None:
    """The rename of its meta file was lost: the state before can be opened, and would give fewer hits."""
    (shard, location) = copy.run("SELECT id, location FROM shard ORDER BY documents DESC LIMIT 1")[0]
    meta = copy.settings.storage / bytes(location).decode() / META
    state = json.loads(meta.read_bytes())
    state[SEGMENTS].pop()
    meta.write_text(json.dumps(state))
    with pytest.raises(StorageFault, match=f"index shard {shard.hex} of job {copy.handle.id} lacks documents"):
        found(copy, "*")


def test_ghosts_are_in_no_set(copy: Any, tmp_path: Path) -> None:
    _ghosts(copy, tmp_path)
    item = copy.run("SELECT item FROM item_index ORDER BY item LIMIT 1")[0][0]
    assert found(copy, "apparition") == found(copy, "apparition AND size:>=0") == {item}
    assert found(copy, "apparition w/1 twice") == set()
    report = hit_report([copy.handle], partial(opened_index, settings=copy.settings), listed(["apparition"], "list"))
    assert report.terms[0].items == 1


def test_an_index_stays_open_until_the_job_changes(copy: Any) -> None:
    """A server's second search opens nothing; a job that was changed, or is not over, is looked at anew."""
    indexes = Indexes(copy.settings)
    with indexes.of(copy.handle) as first:
        assert first.clean == set(first.readers)
    with indexes.of(copy.handle) as second:
        assert second is first
    copy.run("UPDATE shard SET documents = documents + 1")
    with indexes.of(copy.handle) as third:
        assert third is not first
    copy.run("UPDATE job SET state = 'running'")
    with indexes.of(copy.handle) as running, indexes.of(copy.handle) as again:
        assert len({id(third), id(running), id(again)}) == 3
    assert list(copy.settings.scratch.glob("search-*"))
    indexes.close()
    assert not list(copy.settings.scratch.glob("search-*"))


def test_a_job_whose_index_is_gone_is_one_line(copy: Any) -> None:
    copy.settings.storage.rename(copy.settings.storage.with_name("elsewhere"))
    for query in ("the", "the AND size:>1", "*"):
        with pytest.raises(RunFailed, match="EDBENCH_STORAGE"):
            found(copy, query)


Metadata = dict[str, Any]


@pytest.fixture
def metadata(handle: JobHandle) -> dict[str, Metadata]:
    """Of every item, by its id."""
    with handle.database.transaction() as conn:
        rows = conn.execute("SELECT item::text, metadata FROM item_text WHERE job = %s", (handle.id,)).all()
    return {item: dict(found or {}) for item, found in rows}


def _known(metadata: dict[str, Metadata], key: str) -> list[Any]:
    return sorted(found[key] for found in metadata.values() if key in found)


def _has(key: str, check: Callable[[Any], bool]) -> Callable[[Metadata], bool]:
    return lambda found: key in found and check(found[key])


def test_conditions_let_pass_what_they_say(handle: JobHandle, metadata: dict[str, Metadata]) -> None:
    date = _known(metadata, "date")[len(_known(metadata, "date")) // 2]
    rows = _known(metadata, "width")[0]
    person = next(each for each in _known(metadata, "from") if each.isascii())
    name = next(names for found in metadata.values() if (names := found.get("attachments")))[-1]
    month = date[:7]
    checks: list[tuple[Sequence[tuple[str, str, str, str]], Callable[[Metadata], bool]]] = [
        ([("date", ">=", date, "date")], _has("date", lambda v: v >= date)),
        ([("date", "<", month, "date")], _has("date", lambda v: v[:7] < month)),
        ([("date", "=", month, "date")], _has("date", lambda v: v.startswith(month))),
        (
            [("date", ">", month, "date"), ("subject", "~", "E", "text")],
            lambda f: f.get("date", "")[:7] > month and "e" in f.get("subject", "").lower(),
        ),
        ([("width", "=", f"{rows}.0", "number")], _has("width", lambda v: v == rows)),
        ([("width", ">", f"{rows}", "number")], _has("width", lambda v: v > rows)),
        ([("width", "!=", f"{rows}", "number")], _has("width", lambda v: v != rows)),
        ([("from", "=", person.upper(), "text")], _has("from", lambda v: v.lower() == person.lower())),
        ([("from", "~", person[1:-1], "text")], _has("from", lambda v: person[1:-1].lower() in v.lower())),
        (
            [("attachments", "=", name, "text")],
            _has("attachments", lambda v: name.lower() in [one.lower() for one in v]),
        ),
        ([("well_formed", "=", "false", "text")], _has("well_formed", lambda v: v is False)),
        ([("well_formed", "!=", "false", "text")], _has("well_formed", lambda v: v is not False)),
    ]
    for conditions, check in checks:
        wanted = ItemFilter(conditions=[Condition(*each) for each in conditions])
        expected = {item for item, found in metadata.items() if check(found)}
        assert {item["id"] for item in items_page([handle], wanted, after=None, limit=10_000)} == expected, conditions
        assert {item["id"] for item in stream_items(handle, wanted)} == expected, conditions
        assert expected or conditions[0][0] in ("date", "well_formed"), conditions
