"""Every index engine: query language, snippets, shards on local disk."""

import json
import os
import pickle
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from index_shards import matching, numbered, shard_of

from core.errors import StorageFault, UsageError
from core.settings import INDEX_ENGINES
from search.engine import QUERY_FIELDS, IndexDocument, IndexReader, new_writer, open_reader
from search.language import parse
from search.query import asks_ledger, sought
from search.whoosh_engine import WhooshReader, WhooshWriter, plain_loads, whoosh_query

DOCUMENTS = [
    IndexDocument(
        item=uuid.UUID(int=1),
        owner="1:1",
        body="The wording of report-2024 was grün über alles; Straße naïve 日本語 😀 end",
        subject="Quarterly results",
        custodian="Ann Lee",
        type="application/pdf",
        kind="loose_file",
        name="budget_plan.pdf",
        path="ann/budget_plan.pdf",
    ),
    IndexDocument(
        item=uuid.UUID(int=2),
        owner="1:1",
        body="Words about worms. the report of wording",
        subject="Wormhole",
        custodian="Bob Day",
        type="text/plain",
        kind="message",
        sender="carol@example.org",
        recipients="dave@example.org",
    ),
    IndexDocument(item=uuid.UUID(int=3), owner="2:1", body="", custodian="Ann Lee", title="Empty", author="Eve"),
]


@pytest.fixture(scope="module", params=INDEX_ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine in turn: they are told apart by speed only."""
    return str(request.param)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory, engine: str) -> IndexReader:
    """A published shard of three documents."""
    home = tmp_path_factory.mktemp("shard")
    return shard_of(engine, home, DOCUMENTS)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("*", {1, 2, 3}),
        ("wording", {1, 2}),
        ("WORDING", {1, 2}),
        ("wording worms", {2}),  # words without an operator must all be there
        ("grün AND wording", {1}),
        ("grün OR worms", {1, 2}),
        ("wording NOT worms", {1}),
        ("wording AND NOT worms", {1}),
        ("NOT worms AND wording", {1}),
        ("report AND wording AND NOT grün", {2}),
        ('wording AND NOT "the wording"', {2}),
        ("wording AND NOT (worms OR nothing)", {1}),
        ("wording AND (NOT worms)", {1}),
        ("* NOT wording", {3}),
        ('"words NOT worms"', set()),  # in quotes it is a word
        ("+wording -grün", {2}),
        ("(grün OR worms) AND report", {1, 2}),
        ('"the wording"', {1}),
        ('"report of wording"', {2}),
        ('"wording of the"', set()),
        ('"report wording"~1', {2}),  # one other word between them
        ('"about wording"~1', set()),
        ('"about wording"~4', {2}),
        ("subject:[v TO x]", {2}),
        ("subject:[worm TO wormhole}", set()),
        ("sender:[a TO *]", {2}),
        ("body:(grün OR worms)", {1, 2}),
        ("'the wording'", {1}),
        ("wor*", {1, 2}),
        ("Quart*", {1}),  # a prefix is looked for where a word is: the subject too
        ("budg*", {1}),
        ("report-20*", {1}),
        ("budget_pl*", {1}),
        ("grü*", {1}),
        ("wor* AND NOT worms", {1}),
        ("-wor* +Empty", {3}),
        ("subject:wormhole", {2}),
        ("subject:worm*", {2}),
        ("subject:wording", set()),
        ("quarterly", {1}),
        ("custodian:ann", {1, 3}),
        ("custodian:Ann", {1, 3}),
        ('custodian:"ann lee"', {1, 3}),
        ("custodian:a*", {1, 3}),
        ("type:application/pdf", {1}),
        ('type:"text/plain"', {2}),
        ("kind:message", {2}),
        ("sender:carol", {2}),
        ("recipients:dave", {2}),
        ("author:eve", {3}),
        ("title:empty", {3}),
        ("name:budget", {1}),
        ("path:ann", {1}),
        ("日本語", {1}),
        ("nothing", set()),
    ],
)
def test_queries(reader: IndexReader, query: str, found: set[int]) -> None:
    assert {hit.item.int for hit in reader.search(query, 10)} == found
    assert matching(reader, query) == len(found)


@pytest.mark.parametrize(
    "query", ["", "  ", '"open', "(a", "a AND", "nofield:x", "NOT worms", "-wor*", "body:/(/", "/[/", "a:b:c", "\ud800"]
)
def test_a_query_that_cannot_be_read_is_one_clear_line(reader: IndexReader, query: str) -> None:
    with pytest.raises(UsageError) as caught:
        reader.search(query, 5)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) > 20


def test_an_unknown_field_is_reported_with_the_known_ones(reader: IndexReader) -> None:
    with pytest.raises(UsageError, match="custodian, type, kind") as caught:
        reader.search("costudian:ann", 5)
    assert all(field in str(caught.value) for field in QUERY_FIELDS)


@pytest.mark.parametrize("word", ["grün", "Straße", "naïve", "日本語", "end"])
def test_snippets_mark_words_beyond_ascii(reader: IndexReader, word: str) -> None:
    (hit,) = reader.search(word if word != "end" else "end AND grün", 5)
    assert f"\x02{word}\x03" in hit.snippet
    assert hit.snippet.replace("\x02", "").replace("\x03", "") in DOCUMENTS[0].body


SENTENCES = {
    "会议记录": "各位同事现将昨天的会议记录发给大家请在星期五之前提出意见供货合同已经签订货款已经支付ABC公司",
    "ABC": "各位同事现将昨天的会议记录发给大家请在星期五之前提出意见供货合同已经签订货款已经支付ABC公司",
    "議事録": "昨日の会議の議事録をお送りします金曜日までにご意見をお寄せください",
    "สัญญา": "ขอส่งรายงานการประชุมเมื่อวานนี้และสัญญาซื้อขายที่ลงนามแล้วให้ทุกท่าน",
    "회의록": "어제 회의록 을 보내 드리니 금요일까지 의견을 보내 주시기 바랍니다",
    "протокол": "Направляю вам протокол вчерашнего совещания",
    "Vertragsänderung": "anbei die Vertragsänderung von gestern",
    "פרוטוקול": "אני שולח לכם את פרוטוקול הישיבה של אתמול",
}


@pytest.mark.parametrize("word", SENTENCES)
def test_words_of_scripts_without_blanks_are_found(engine: str, tmp_path: Path, word: str) -> None:
    text, other = SENTENCES[word], "録会事記议录员 無関係な文"
    documents = [
        IndexDocument(item=uuid.UUID(int=number), owner="1:1", body=body, subject=body)
        for number, body in enumerate((text, other))
    ]
    shard = shard_of(engine, tmp_path, documents)
    for query in (word, f'"{word}"', f"subject:{word}", f"{word}*"):
        assert [hit.item.int for hit in shard.search(query, 10)] == [0], query
    assert shard.body(uuid.UUID(int=0), "1:1") == text
    hit = shard.search(word, 1)[0]
    assert "\ufdd0" not in hit.snippet
    assert "\x02" in hit.snippet


def test_a_hit_states_whose_it_is(reader: IndexReader) -> None:
    (hit,) = reader.search("quarterly", 5)
    assert (hit.item, hit.owner) == (uuid.UUID(int=1), "1:1")
    assert hit.snippet.startswith("The wording")  # no match in the body: its beginning
    assert dict(reader.owners()) == {d.item: d.owner for d in DOCUMENTS}
    assert len(reader.search("*", 2)) == 2
    assert reader.search("quarterly", 5, snippets=False)[0].snippet == ""


def test_text_that_is_no_unicode_is_indexed_all_the_same(engine: str, tmp_path: Path) -> None:
    reader = shard_of(engine, tmp_path, numbered("find \ud800 me \0 here", subject="\udfff subject"))
    assert matching(reader, "find AND here AND subject") == 1


def test_reading_leaves_nothing_on_the_filer(engine: str, tmp_path: Path) -> None:
    shard_of(engine, tmp_path, DOCUMENTS[:1])
    before = sorted(os.listdir(tmp_path / "index"))
    os.chmod(tmp_path / "index", 0o555)
    assert matching(open_reader(engine, tmp_path / "index", tmp_path / "another"), "wording") == 1
    os.chmod(tmp_path / "index", 0o755)
    assert sorted(os.listdir(tmp_path / "index")) == before


@pytest.mark.parametrize("broken", ["missing", "empty", "torn"])
def test_a_shard_that_cannot_be_opened_is_a_storage_fault(engine: str, tmp_path: Path, broken: str) -> None:
    published = tmp_path / "published"
    if broken != "missing":
        published.mkdir()
    if broken == "torn":
        (published / "meta.json").write_bytes(b'{"segm')
    with pytest.raises(StorageFault, match="cannot be opened") as caught:
        open_reader(engine, published, tmp_path / "view")
    assert str(published) in str(caught.value)


def test_a_file_that_differs_from_its_checksum_is_named(tmp_path: Path) -> None:
    """The engine opens the shard all the same, and gives other texts or fewer hits."""
    shard_of("tantivy", tmp_path, DOCUMENTS)
    published = tmp_path / "index"
    reader = open_reader("tantivy", published, tmp_path / "sound")
    assert reader.damaged() == []
    names = sorted(name for name in os.listdir(published) if name != "meta.json" and not name.startswith("."))
    assert len(names) == 6
    for name in names:
        whole = (published / name).read_bytes()
        _replace(published / name, whole[:-10] + bytes([whole[-10] ^ 1]) + whole[-9:])  # a digit of the checksum
        assert open_reader("tantivy", published, tmp_path / name).damaged() == [name]
        _replace(published / name, whole[:3])
        assert reader.damaged() == [name]
        _replace(published / name, whole)


def _replace(file: Path, data: bytes) -> None:
    """Readers keep the file that they have opened: to cut it would end the process (SIGBUS), also by a thread of the engine."""
    file.unlink()
    file.write_bytes(data)


@pytest.mark.parametrize("suffix", [".term", ".store", ".fast"])
def test_a_search_on_damaged_bytes_is_a_fault_that_names_the_file(tmp_path: Path, suffix: str) -> None:
    """Whatever the engine makes of them: an error of its own, another exception or a panic."""
    shard_of("tantivy", tmp_path, DOCUMENTS)
    (file,) = (tmp_path / "index").glob(f"*{suffix}")
    whole = file.read_bytes()
    _replace(file, bytes(byte ^ 0xFF for byte in whole[:16]) + whole[16:])
    with pytest.raises(StorageFault, match=f"{file.name}|cannot be opened"):
        open_reader("tantivy", tmp_path / "index", tmp_path / "view").search("wording", 10)


def test_scratch_that_fails_is_a_storage_fault(engine: str, tmp_path: Path) -> None:
    """A local disk that cannot be written suspends the job; it is no bug to be counted."""
    writer = new_writer(engine, tmp_path / "index")
    writer.add(DOCUMENTS[0])
    (tmp_path / "index").rename(tmp_path / "gone")
    with pytest.raises(StorageFault, match="scratch"):
        writer.finish()


def test_an_unknown_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="tantivy"):
        new_writer("lucene", tmp_path)


ITEM, OTHER = uuid.UUID(int=1), uuid.UUID(int=2)


@pytest.mark.parametrize("engine", ["tantivy", "whoosh"])
def test_the_text_is_the_owners_alone(engine: str, tmp_path: Path) -> None:
    documents = [
        IndexDocument(item=ITEM, owner="1:1", body="a ghost"),
        IndexDocument(item=ITEM, owner="1:2", body="first line\nsecond <b>line</b> é"),
        IndexDocument(item=OTHER, owner="1:2", body="", name="empty"),
    ]
    reader = shard_of(engine, tmp_path, documents)
    assert reader.body(ITEM, "1:2") == "first line\nsecond <b>line</b> é"
    assert reader.body(ITEM, "1:1") == "a ghost"
    assert reader.body(OTHER, "1:2") == ""
    assert reader.body(ITEM, "9:9") is None
    assert reader.body(uuid.UUID(int=3), "1:2") is None


class _Harmful:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("harm",)


def test_a_pickle_from_the_filer_cannot_call_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may write to the storage under test must not thereby run code in the controller."""
    monkeypatch.chdir(tmp_path)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(pickle.UnpicklingError):
            plain_loads(pickle.dumps(_Harmful(), protocol))
        plain = {"a": (1, 2.5, b"\x00\xff", "ü", None, [True])}
        assert plain_loads(pickle.dumps(plain, protocol)) == plain
    assert not (tmp_path / "harm").exists()


def test_a_directory_in_a_segment_that_would_call_something_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    writer = WhooshWriter(tmp_path / "index")
    writer.add(IndexDocument(item=uuid.uuid4(), owner="1:1", body="words"))
    (name,) = writer.finish().files
    writer.close()
    file = tmp_path / "index" / name
    harm = pickle.dumps(_Harmful(), 2)
    body = file.read_bytes()
    file.unlink()
    file.write_bytes((12).to_bytes(8, "big") + body[8:12] + harm)
    with pytest.raises(StorageFault, match="cannot be opened"):
        WhooshReader(tmp_path / "index", tmp_path / "view")
    assert not (tmp_path / "harm").exists()


def test_a_meta_file_cannot_lead_out_of_its_directory(tmp_path: Path) -> None:
    meta = {"format": "edbench-whoosh/1", "segments": [{"id": "../../x", "documents": 1, "field_lengths": {}}]}
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(StorageFault, match="cannot be opened"):
        WhooshReader(tmp_path, tmp_path / "view")


@given(
    st.text(alphabet=st.sampled_from("ab()\"' *+-:/\\") | st.characters(), max_size=30)
    | st.text('abANDORT() "-*~^[]{}<>1.:')
)
def test_any_query_is_read_or_refused(query: str) -> None:
    """Whatever is typed, there is a query or one clear line; nothing else is raised."""
    refused, node = "", None
    try:
        node = parse(query)
    except UsageError as e:
        refused = str(e)
    assert "\n" not in refused
    if node is not None:
        set(sought(node))
        if not asks_ledger(node):
            whoosh_query(node)
