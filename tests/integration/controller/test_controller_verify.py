"""`verify` finds nothing in a sound job, and each thing that is spoiled."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from finished_job import Copy, Finished, copied
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.databases import LAST, find_job
from controller.verify.job import Verification, choose_manifest, copy_rows, verify_job
from core.errors import UsageError
from core.places import items_location
from dataset_gen.truth import manifest as m
from sql.session import Database


def verified(copy: Any, manifest: Path | None) -> Verification:
    """The verification of a copy."""
    return verify_job(copy.handle, copy.settings, copy.storage, manifest, examples=3, progress=lambda line: None)


def manifest_of(copy: Any) -> Path:
    """The manifest beside the source."""
    found = choose_manifest(copy.handle.job.source, None, internal=False)
    assert found is not None
    return found


@pytest.fixture
def ledger(finished: Finished, tmp_path: Path) -> Iterator[Copy]:
    """A copy of which only what the database has may be spoiled."""
    with copied(finished, tmp_path, files=False) as made:
        yield made


def test_a_sound_job_has_no_difference(copy: Any) -> None:
    found = verified(copy, manifest_of(copy))
    assert found.counts == ()
    assert found.items == found.manifest_items == found.documents - found.ghosts > 100
    assert found.terms > 0
    assert found.files == copy.run("SELECT count(*) FROM item WHERE parent IS NOT NULL AND location IS NOT NULL")[0][0]
    assert found.to_json()["differences"] == 0


ONE_FILE = (
    "(SELECT id FROM item JOIN item_text ON item = id WHERE parent IS NULL AND media_type = 'application/pdf'"
    " AND state = 'ok' AND pages IS NOT NULL ORDER BY container_path LIMIT 1)"
)
ONE_TEXT = "(SELECT id FROM item WHERE parent IS NULL AND media_type = 'text/plain' ORDER BY container_path LIMIT 1)"
ONE_CHILD = (
    "(SELECT id FROM item WHERE parent IS NOT NULL AND location IS NOT NULL AND NOT container"
    " ORDER BY container_path LIMIT 1)"
)
ONE_CONTAINER = (
    "(SELECT item FROM container_count JOIN item ON id = item WHERE announced IS NOT NULL AND container"
    " ORDER BY container_path LIMIT 1)"
)

SPOILS = [
    (f"DELETE FROM item WHERE id = {ONE_FILE}", {"missing"}),
    (
        "INSERT INTO item SELECT (jsonb_populate_record(i, jsonb_build_object('id', gen_random_uuid(),"
        f" 'container_path', ARRAY['made up']))).* FROM item i WHERE id = {ONE_FILE}",
        {"extra", "without text state", "wrong index document", "wrong relation"},
    ),
    (f"UPDATE item SET sha256 = '\\x00' WHERE id = {ONE_FILE}", {"wrong sha256"}),
    (f"UPDATE item SET bytes = bytes + 1 WHERE id = {ONE_FILE}", {"wrong bytes"}),
    (f"UPDATE item SET name = name || 'x' WHERE id = {ONE_FILE}", {"wrong name"}),
    (f"UPDATE item SET kind = 'message' WHERE id = {ONE_FILE}", {"wrong kind"}),
    (f"UPDATE item SET media_type = 'text/plain' WHERE id = {ONE_FILE}", {"wrong media type"}),
    (f"UPDATE item SET ordinal = '#999999' WHERE id = {ONE_FILE}", {"wrong ordinal"}),
    (f"UPDATE item SET family_id = {ONE_FILE} WHERE id = {ONE_CHILD}", {"wrong family", "wrong relation"}),
    (f"UPDATE item SET family_id = {ONE_FILE} WHERE id = {ONE_TEXT}", {"wrong family", "wrong relation"}),
    (f"UPDATE item_text SET pages = pages + 1 WHERE item = {ONE_FILE}", {"wrong pages"}),
    ("UPDATE custodian SET display = 'somebody else' WHERE number = 0", {"wrong custodian"}),
    ("DELETE FROM exception WHERE code = 'zero_bytes'", {"wrong exceptions"}),
    (
        "INSERT INTO exception (job, item, code, level, phase, detail, task, token)"
        f" SELECT job, id, 'timeout', 'item', 'index', '', id, id FROM item WHERE id = {ONE_FILE}",
        {"wrong exceptions"},
    ),
    (
        f"UPDATE container_count SET failed = failed + 1 WHERE item = {ONE_CONTAINER}",
        {"wrong children", "children that do not add up"},
    ),
    (f"DELETE FROM item_text WHERE item = {ONE_CHILD}", {"without text state"}),
    ("UPDATE item_index SET owner = owner || 0", {"wrong index document", "term not found"}),
    (f"DELETE FROM item_index WHERE item = {ONE_FILE}", {"wrong index document"}),
]


ONE_WITH_SCANS = "(SELECT item FROM item_text WHERE metadata ? 'pages_without_text' ORDER BY item LIMIT 1)"


def test_pages_that_ocr_read_are_no_exception(ledger: Any) -> None:
    ledger.run(f"DELETE FROM exception WHERE item = {ONE_WITH_SCANS}")
    assert [(count.what, count.items) for count in verified(ledger, manifest_of(ledger)).counts] == [
        ("wrong exceptions", 1)
    ]
    read = """state = 'ok', metadata = metadata || '{"ocr": true}'"""
    ledger.run(f"UPDATE item_text SET {read} WHERE item = {ONE_WITH_SCANS}")
    assert verified(ledger, manifest_of(ledger)).counts == ()


@pytest.mark.parametrize(("statement", "expected"), SPOILS, ids=[" + ".join(sorted(what)) for _, what in SPOILS])
def test_what_is_spoiled_is_found(ledger: Any, statement: str, expected: set[str]) -> None:
    """Each check has teeth: a verify that overlooks one kind of damage would be worth nothing."""
    ledger.run(statement)
    found = verified(ledger, manifest_of(ledger))
    sorts = {count.what for count in found.counts}
    assert expected <= sorts
    assert sorts - expected <= {"wrong duplicate group", "term not found"}  # what the one thing entails
    assert found.differences > 0
    assert {example.what for example in found.examples} == sorts


def test_an_index_file_with_other_bytes_is_found(copy: Any) -> None:
    """Without planted terms nothing is searched, and with them few words are."""
    location = bytes(copy.run("SELECT location FROM shard ORDER BY documents DESC LIMIT 1")[0][0])
    file = next((copy.settings.storage / os.fsdecode(location)).glob("*.pos"))
    whole = file.read_bytes()
    file.write_bytes(whole[:9] + bytes([whole[9] ^ 1]) + whole[10:])
    found = verified(copy, None)
    assert found.of("damaged index file") == 1
    assert file.name in str([each for each in found.examples if each.what == "damaged index file"])


def test_files_on_the_filer_are_looked_at(copy: Any) -> None:
    rows = copy.run("SELECT location FROM item WHERE location IS NOT NULL AND bytes > 0 ORDER BY id LIMIT 2")
    gone, short = (copy.settings.storage / os.fsdecode(bytes(row[0])) for row in rows)
    gone.unlink()
    short.write_bytes(b"")
    folder = copy.settings.storage / os.fsdecode(items_location(copy.handle.id))
    (folder / "stray").write_bytes(b"x")
    (folder / uuid.uuid4().hex).write_bytes(b"x")
    found = verified(copy, None)
    assert {(count.what, count.items) for count in found.counts if count.what.startswith("extra")} == {
        ("extra file on the filer", 2)
    }
    assert found.of("wrong file on the filer") == 2


def test_a_term_that_is_found_elsewhere_is_wrong(copy: Any, tmp_path: Path) -> None:
    table = m.read_manifest(manifest_of(copy))
    planted = table[m.TERMS].to_pylist()
    row = next(n for n, terms in enumerate(planted) if terms)
    everywhere = planted[row][0]
    planted[row] = []
    other = next(n for n, terms in enumerate(planted) if not terms and n != row)
    planted[other] = [everywhere]
    at = m.SCHEMA.get_field_index(m.TERMS)
    spoiled = table.set_column(at, m.SCHEMA.field(at), pa.array(planted, pa.list_(pa.string())))
    pq.write_table(spoiled, tmp_path / "manifest.parquet")
    found = verified(copy, tmp_path / "manifest.parquet")
    assert found.of("term found elsewhere") >= 1
    assert found.of("term not found") == 1


def test_a_text_may_be_wrong_only_where_it_reports_it(copy: Any, tmp_path: Path) -> None:
    """Words may be missing in a state that is not `ok` and that the manifest allows; no other state is taken."""
    table = m.read_manifest(manifest_of(copy))
    planted = table[m.TERMS].to_pylist()
    row = next(n for n, terms in enumerate(planted) if terms)
    path = table[m.CONTAINER_PATH].to_pylist()[row]
    planted[row] = [*planted[row], "neverwritten"]
    states = [["ok", "guessed"] if n == row else None for n in range(len(planted))]
    for name, values in ((m.TERMS, planted), (m.TEXT_STATES, states)):
        at = m.SCHEMA.get_field_index(name)
        table = table.set_column(at, m.SCHEMA.field(at), pa.array(values, pa.list_(pa.string())))
    pq.write_table(table, tmp_path / "manifest.parquet")
    reported = []
    for state in ("ok", "guessed", "partial"):
        copy.run(
            "UPDATE item_text SET state = %(state)s"
            " FROM item WHERE item.id = item_text.item AND item.container_path = %(path)s::text[]",
            state=state,
            path=path,
        )
        found = verified(copy, tmp_path / "manifest.parquet")
        reported.append({count.what: count.items for count in found.counts})
    assert reported == [{"term not found": 1}, {}, {"term not found": 1, "wrong text state": 1}]


def test_without_a_manifest_internal_has_to_be_asked_for(copy: Any, tmp_path: Path) -> None:
    """Exit status 0 must never mean less than the reader thinks."""
    copy.run("UPDATE job SET source = %(path)s", path=os.fsencode(tmp_path))
    handle = find_job([copy.handle.database], LAST)
    with pytest.raises(UsageError, match="--internal"):
        choose_manifest(handle.job.source, None, internal=False)
    assert choose_manifest(handle.job.source, None, internal=True) is None
    with pytest.raises(UsageError, match="exclude each other"):
        choose_manifest(handle.job.source, tmp_path, internal=True)


texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(texts, st.lists(texts, max_size=3), st.binary(max_size=20)), max_size=5))
def test_copied_values_come_back(database: Database, rows: list[tuple[str, list[str], bytes]]) -> None:
    with database.transaction() as conn:
        conn.execute("CREATE TEMP TABLE t (n int, a text, b text[], c bytea, d bool, e int) ON COMMIT DROP")
        copied = copy_rows(conn, "t", "nabcde", ((n, a, b, c, n % 2 == 0, None) for n, (a, b, c) in enumerate(rows)))
        back = conn.execute("SELECT a, b, c, d, e FROM t ORDER BY n").all()
    assert copied == len(rows)
    assert [(a, b, bytes(c)) for a, b, c, _, _ in back] == rows
    assert [(d, e) for _, _, _, d, e in back] == [(n % 2 == 0, None) for n in range(len(rows))]
