"""Whatever a collection holds, the pages show it as text on its place."""

import asyncio
import datetime
import re
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from installation import PATIENCE
from starlette.types import Receive, Scope, Send

from controller.custody import Action
from controller.jobs.overview import allowed
from controller.labels import rules
from core.job_types import JobType
from core.records import ExceptionLevel, JobState, Phase
from readers.errors import ExceptionCode
from readers.records import Kind, TextState
from search.language import parse
from search.query import All, Asked
from sql.browse import FailureCount, ItemFailure, Member, Search, Tag, Tagged
from sql.figures import TextCount
from sql.review import Equal, Message, Near
from sql.session import Database
from web import app as silence
from web import context
from web.api.models.items import (
    Equals,
    Family,
    ItemDetails,
    ItemPage,
    ItemRow,
    ItemText,
    NearOnes,
    SearchAnswer,
    Thread,
)
from web.api.models.jobs import JobDetails
from web.api.needs import cut
from web.app import Silence
from web.context import DatabaseHealth
from web.pages import render
from web.pages.render import TEMPLATES, environment, explained, label_of, pairs_of, shown
from web.pages.viewer import CHILDREN_SHOWN, Way, tree

HOSTILE = "a\"'><script>alert(1)</script>\u202egpj.exe\nsecond line&amp;"
ITEM, JOB = uuid.UUID(int=1), uuid.UUID(int=2)
FIELDS: dict[str, Any] = {
    "id": ITEM,
    "job": JOB,
    "parent": None,
    "family": ITEM,
    "custodian": HOSTILE,
    "container_path": [HOSTILE, HOSTILE],
    "kind": Kind.LOOSE_FILE,
    "container": False,
    "media_type": HOSTILE,
    "bytes": 1234,
    "sha256": None,
    "text_state": TextState.OK,
    "characters": 3,
    "pages": 1,
    "shard": None,
    "exceptions": [ExceptionCode.CORRUPT],
    "name": HOSTILE,
}


def job() -> JobDetails:
    """A job that is over."""
    figures = dict.fromkeys(("items", "exceptions", "raw_bytes", "discovered_bytes", "workers", "slots"), 1)
    rates = dict.fromkeys(("elapsed_s", "gb_per_hour_raw", "gb_per_hour_discovered"), 1.5)
    return JobDetails(
        id=JOB, name=HOSTILE, database="db1", group=None, client="", project="", state=JobState.COMPLETED,
        phase=Phase.FINALISE, reason=HOSTILE, problem=None, source=HOSTILE, finished=None, progress=1.0,
        created=datetime.datetime(2026, 11, 21, tzinfo=datetime.UTC), labels=[HOSTILE], options={}, allowed=[], storage=HOSTILE,
        **figures, **rates,
    )  # fmt: skip


def details() -> ItemDetails:
    """An item whose every text is hostile."""
    failure = ItemFailure(
        code=ExceptionCode.CORRUPT, level=ExceptionLevel.ITEM, phase=Phase.EXPAND, detail=HOSTILE, missing=2
    )
    return ItemDetails(
        **FIELDS, depth=0, content_hash=None, message_id_hash=None, location=HOSTILE, path=HOSTILE, mtime_ns=0,
        metadata={HOSTILE: [HOSTILE, HOSTILE], "nested": {"a": HOSTILE}}, children=None, failures=[failure],
        tags=[Tagged(tag=HOSTILE, tagged_at=datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), tagged_by=HOSTILE)],
    )  # fmt: skip


def family() -> Family:
    """That item with a child."""
    members = [
        Member(
            id=uuid.UUID(int=n), parent=parent, depth=n - 1, name=HOSTILE, kind=Kind.ATTACHMENT, container=False,
            media_type="text/plain", bytes=1, failed=True,
        )
        for n, parent in ((1, None), (3, ITEM))
    ]  # fmt: skip
    return Family(item=ITEM, family=ITEM, ancestors=[], members=members, truncated=False)


def pages() -> dict[str, dict[str, Any]]:
    """Values for every template that shows what a collection holds."""
    text = ItemText(item=ITEM, state=TextState.OK, text=HOSTILE, characters=3, offset=0, next=None)
    hit = {key: FIELDS[key] for key in ("container_path", "custodian", "family", "kind", "media_type")}
    snippet = [{"text": HOSTILE, "match": True}, {"text": HOSTILE, "match": False}]
    tally = [{"name": HOSTILE, "items": 2}]
    answer = SearchAnswer.model_validate(
        {"hits": [hit | {"item": ITEM, "score": 1.0, "snippet": snippet}], "items": 2, "complete": False,
         "types": tally, "custodians": tally}
    )  # fmt: skip
    listed = ItemPage(items=[ItemRow(**FIELDS)], next=None).items
    chosen = dict.fromkeys(
        ("custodian", "type", "exception", "kind", "text", "language", "duplicate", "near", "system"), HOSTILE
    )
    state = TextCount(name=HOSTILE, items=1, characters=1, pages=1)
    counts = [FailureCount(name=HOSTILE, exceptions=1, items=1, missing=0)]
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    saved = Search(name=HOSTILE, query=HOSTILE, saved_at=now, saved_by=HOSTILE)
    tag = Tag(tag=HOSTILE, items=1, first_at=now, last_at=now)
    known = {"item": ITEM, "job": JOB, "custodian": HOSTILE, "container_path": (HOSTILE,)}
    equal = Equal(**known, copy_of=None)
    near = Near(**known, near_to=JOB, similarity=0.9)
    message = Message(**known, parent=None, depth=1, sent_at=None, subject=HOSTILE)
    action = Action(
        at=now, who=HOSTILE, action=HOSTILE, details={HOSTILE: HOSTILE}, chain=HOSTILE, hashed=HOSTILE, broken=True
    )
    way = Way(words="items", back="/", before=None, after=None)
    return {
        "run.html": {"production": [("withheld", HOSTILE)], "warned": True, "bound_columns": ["bound"],
                     "bounds": [(HOSTILE, HOSTILE, "met")]},
        "item.html": {"item": details(), "pairs": pairs_of(details()), "roots": tree(family()), "truncated": True,
                      "text": text, "no_text": "", "pieces": cut(HOSTILE, []), "q": HOSTILE, "carried": "",
                      "marked": "", "portion": 1, "way": way, "equals": Equals(equals=[equal]),
                      "near": NearOnes(near=[near]),
                      "thread": Thread(messages=[message, message])},
        "items.html": {"rows": listed, "chosen": chosen, "narrowed": True, "kinds": [], "codes": [],
                       "text_states": [], "languages": [HOSTILE], "wrong": dict.fromkeys(("custodian", "type", "found"), HOSTILE), "first_url": None,
                       "next_url": None, "carried": ""},
        "custody.html": {"actions": [action], "verified": None},
        "search.html": {"q": HOSTILE, "families": True, "answer": answer, "wrong": HOSTILE, "searches": [saved],
                        "tags": [tag], "hits": answer.hits, "begin": 0, "carried": "", "previous_url": None, "next_url": None},
        "exceptions.html": {"tables": [("custodian", "custodian", counts)], "total": 1, "texts": [state]},
        "error.html": {"title": HOSTILE, "line": HOSTILE, "passing": False, "around": HOSTILE},
        "login.html": {"next": HOSTILE, "failed": "code", "command": HOSTILE},
    }  # fmt: skip


@pytest.mark.parametrize("name", sorted(pages()))
def test_hostile_text_stays_text(name: str) -> None:
    out = environment().get_template(name).render(job=job(), signed_in=True, section="", **pages()[name])
    assert "<script>alert" not in out
    assert "&lt;script&gt;alert(1)" in out
    assert not re.search(r"=\"[^\"<>]*<script", out)


@pytest.mark.parametrize("kind", [JobType.EXTRACTION, JobType.PROCESSING, JobType.EXPORT])
def test_a_production_has_no_items_to_lead_to_and_discovers_nothing(kind: JobType) -> None:
    finding = job().model_copy(update={"state": JobState.COMPLETED_WITH_EXCEPTIONS})
    made = finding.model_copy(update={"type": kind})
    for name in ("exceptions.html", "run.html"):
        template = environment().get_template(name)
        values = {"signed_in": True, "section": ""} | pages()[name] | {"texts": []}
        before, after = (template.render(job=each, **values) for each in (finding, made))
        assert ("/items?" in before, "/items?" in after, "exceptions.csv?" in after) == (True, False, True), name
    assert ("discovered" in before, "discovered, since" in after, "written, since" in after) == (True, False, True)
    assert ("raw, since" in before, "raw, since" in after) == (True, False)
    assert ("requeue" in allowed(finding), "requeue" in allowed(made)) == (True, False)


def test_names_show_overrides_of_direction_and_line_ends() -> None:
    out = environment().get_template("item.html").render(job=job(), signed_in=True, section="", **pages()["item.html"])
    heading = out.partition('<h2 class="title name" dir="auto">')[2].partition("</h2>")[0]
    assert "\\u202egpj.exe\\nsecond line" in heading
    assert "\u202e" not in heading


def test_text_that_is_shown_keeps_its_lines() -> None:
    out = environment().get_template("item.html").render(job=job(), signed_in=True, section="", **pages()["item.html"])
    shown = out.partition('aria-label="text of the item">')[2].partition("</pre>")[0]
    assert "gpj.exe\nsecond line&amp;amp;" in shown


@pytest.mark.parametrize("path", sorted(TEMPLATES.glob("*.html")), ids=lambda path: path.name)
def test_templates_bring_no_script_no_style_and_nothing_from_elsewhere(path: Any) -> None:
    """The content security policy would refuse it, and there may be no network."""
    text = path.read_text()
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", text)
    assert not re.search(r"<script(?![^>]*\ssrc=\"/static/)", text)
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", text)
    assert "| safe" not in text
    assert "|safe" not in text
    assert "autoescape" not in text


def test_values_have_units_and_what_is_missing_a_dash() -> None:
    assert render.size(12_975_257) == "13.0 MB"
    assert render.duration(200) == "3 min 20 s"
    assert render.count(12_345) == "12,345"
    assert render.share(0.999) == "99 %"
    assert {f(None) for f in (render.size, render.duration, render.count, render.share, render.figure)} == {"–"}


def test_moments_are_utc() -> None:
    east = datetime.timezone(datetime.timedelta(hours=2))
    assert render.moment(datetime.datetime(2026, 11, 21, 12, tzinfo=east)) == "2026-11-21 10:00:00 UTC"
    assert render.moment(0.0) == "1970-01-01 00:00:00 UTC"


@pytest.mark.parametrize("text", ["a\nb", "a\u202eb", "a\x00b", "a\ud800b"])
def test_plain_text_is_one_visible_line(text: str) -> None:
    assert render.plain(text).isprintable()
    assert len(render.plain(text)) > len(text)


def test_a_query_is_narrowed_as_a_whole() -> None:
    for name in ("ann", 'x"y', 'a\\"b\\', "*?", "&", "a AND b)", "\u202ex\n"):
        query = render.narrowed("a OR b", "custodian_is", name)
        assert parse(query) == All((parse("a OR b"), Asked("custodian_is", "=", name)))


def test_metadata_is_written_on_one_line() -> None:
    assert shown("x") == "x"
    assert shown(["a", "b"]) == "a; b"
    assert shown({"a": 1}) == '{"a": 1}'


def _member(number: int, parent: int | None) -> Member:
    return Member(
        id=uuid.UUID(int=number), parent=None if parent is None else uuid.UUID(int=parent), depth=0, name=str(number),
        kind=Kind.ARCHIVE_MEMBER, container=False, media_type="text/plain", bytes=0, failed=False,
    )  # fmt: skip


def test_a_family_is_a_tree_below_what_it_lies_in() -> None:
    ancestors, members = [_member(1, None), _member(2, 1)], [_member(3, 2), _member(4, 3), _member(5, 3)]
    item = uuid.UUID(int=5)
    (root,) = tree(Family(item=item, family=members[0].id, ancestors=ancestors, members=members, truncated=False))
    assert root.item.name == "1"
    assert [n.item.name for n in root.children[0].children[0].children] == ["4", "5"]


def test_of_many_siblings_the_first_are_drawn_and_the_item_itself() -> None:
    last = CHILDREN_SHOWN + 50
    members = [_member(1, None), *(_member(n, 1) for n in range(2, last + 1))]
    family = Family(item=uuid.UUID(int=last), family=members[0].id, ancestors=[], members=members, truncated=False)
    (root,) = tree(family)
    assert root.children[-1].item.name == str(last)
    assert len(root.children) == CHILDREN_SHOWN + 1
    assert root.more == last - 1 - len(root.children)


_LABEL = re.compile(r"[A-Z]{4,}")
GIVEN = sorted(
    {
        value
        for module in (rules, rules)
        for value in vars(module).values()
        if isinstance(value, str) and _LABEL.match(value) and value != "UNPAIRED"  # formerly: NO BASELINE
    }
)


@pytest.mark.parametrize("text", [*GIVEN, "PAUSED for 3 s", "GENERATOR-LIMITED at 2 of 3 points"])
def test_each_label_has_a_meaning(text: str) -> None:
    label = label_of(text)
    assert label is not None, f"{text} has no explanation"
    assert label.meaning.endswith(".")
    assert label.meaning.count(". ") == 0, "a tooltip is one sentence"


def test_a_plain_remark_is_no_label() -> None:
    assert label_of("latencies are closed-loop") is None


def test_anchors_differ() -> None:
    anchors = [label.anchor for label in explained()]
    assert len(set(anchors)) == len(anchors)


class Frozen:
    """A database that answers nothing until it is thawed."""

    def __init__(self) -> None:
        self.asked, self.thawed = threading.Event(), threading.Event()

    @contextmanager
    def transaction(self, database: Database) -> Iterator[Any]:
        self.asked.set()
        self.thawed.wait(PATIENCE)
        yield self

    def execute(self, _: str) -> None:
        """Nothing to find."""


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Frozen]:
    made = Frozen()
    monkeypatch.setattr(silence, "PATIENCE_SECONDS", 0.02)
    monkeypatch.setattr(context, "_SILENT_SECONDS", 0.02)
    monkeypatch.setattr(Database, "transaction", lambda database: made.transaction(database))
    yield made
    made.thawed.set()


def _asked(waits: Callable[[], object], then: Callable[[], object] = lambda: None) -> list[Any]:
    """The messages of the answer to one request, whose route calls `waits` in a thread; `then` is called with the last one."""
    sent: list[Any] = []

    async def route(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.to_thread(waits)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"found"})

    async def send(message: Any) -> None:
        sent.append(message)
        if message["type"] == "http.response.body":
            then()

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    health = DatabaseHealth([Database("db1", "postgresql+psycopg2://u@127.0.0.1:1/db")])
    scope = {"type": "http", "path": "/api/v1/jobs", "method": "GET", "headers": [], "query_string": b""}

    asyncio.run(Silence(route, health)(scope, receive, send))
    return sent


def test_a_frozen_database_is_reported(frozen: Frozen) -> None:
    start, body = _asked(
        frozen.thawed.wait, then=frozen.thawed.set
    )  # else the loop's threads keep the test from its end
    assert start["status"] == 503
    assert b"the database does not answer; your job waits and resumes when it does" in body["body"]


def test_a_slow_request_is_waited_for_while_the_database_answers(
    frozen: Frozen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(silence, "PATIENCE_SECONDS", 1.0)  # that the database has to answer, on a busy machine too
    frozen.thawed.set()
    start, body = _asked(lambda: frozen.asked.wait(PATIENCE))
    assert (start["status"], body["body"]) == (200, b"found")


def test_health_reports_it_to_every_other_request(frozen: Frozen) -> None:
    health = DatabaseHealth([Database("db1", "postgresql+psycopg2://u@127.0.0.1:1/db")])
    first = threading.Thread(target=health.states)
    first.start()
    assert frozen.asked.wait(PATIENCE)
    try:
        assert "no answer for" in health.states()["db1"]
    finally:
        frozen.thawed.set()
        first.join()
    assert health.states() == {"db1": "ok"}
