"""What takes longer than a request: one at a time, and what came of it."""

from __future__ import annotations

import os
import threading
import time
import uuid
from pathlib import Path

import pytest

from controller.custody.actions import acting, operator
from controller.databases import Jobs
from core.errors import RunFailed, UsageError
from core.settings import Settings
from review import routes
from sql.session import Database
from web.api import looking, named
from web.api.models.items import TagOrder
from web.api.models.jobs import VerifyOrder
from web.background import BackgroundTask, BackgroundTasks
from web.context import WebContext
from web.door import Door
from web.errors import FieldErrors
from web.guests import BesideCommand
from web.measuring import Measurements
from web.results import chosen_lists, list_hash_lists

JOB = uuid.UUID(int=1)


def over(background_tasks: BackgroundTasks, kind: str) -> BackgroundTask:
    end = time.monotonic() + 60
    while (now := background_tasks.of(JOB)[kind]).running:
        assert time.monotonic() < end
        time.sleep(0.005)
    return now


def test_there_is_one_at_a_time_in_the_name_of_who_asked() -> None:
    background_tasks, go = BackgroundTasks(), threading.Event()

    def work() -> str:
        go.wait()
        return operator()

    with acting("web UI at 10.1.1.1"):
        assert background_tasks.start(JOB, "dedupe", work).running
    with pytest.raises(UsageError, match="dedupe of job"):
        background_tasks.start(uuid.UUID(int=2), "threads", work)
    with pytest.raises(UsageError, match="dedupe of job"):  # nor a measurement, which asks this
        background_tasks.refuse()
    go.set()
    assert over(background_tasks, "dedupe").outcome == "web UI at 10.1.1.1"
    background_tasks.refuse()


def test_what_failed_says_why_and_the_next_one_can_begin() -> None:
    background_tasks = BackgroundTasks()

    def fails() -> None:
        raise RunFailed("two\nlines")

    def bug() -> None:
        raise ZeroDivisionError

    background_tasks.start(JOB, "verify", fails)
    assert over(background_tasks, "verify").error == "two lines"
    background_tasks.start(JOB, "verify", bug)
    assert "ZeroDivisionError" in str(over(background_tasks, "verify").error)


def test_a_hash_list_is_chosen_by_name_and_never_by_path(tmp_path: Path) -> None:
    """Links, directories and hidden files are none; an id that leads elsewhere is not looked for."""
    own, other = tmp_path / "storage" / "hash-lists", tmp_path / "other"
    for place in (own, other / "below"):
        place.mkdir(parents=True)
    (own / "known.txt").write_text("x")
    (other / "nsrl.db").write_text("y")
    (own / ".hidden").write_text("z")
    (own / "link").symlink_to("/etc/passwd")
    settings = Settings(storage=tmp_path / "storage", scratch=tmp_path)
    context = WebContext(
        settings=settings, databases=(), embedded=True, runner=BesideCommand(), door=Door("t" * 16), hash_lists=(other,)
    )
    assert [choice.id for choice in list_hash_lists(context)] == ["0:known.txt", "1:nsrl.db"]
    assert chosen_lists(context, ["1:nsrl.db"]) == [other / "nsrl.db"]
    for wrong in ("0:link", "0:../../other/nsrl.db", "/etc/passwd", "2:nsrl.db"):
        with pytest.raises(FieldErrors):
            chosen_lists(context, [wrong])


def test_nothing_is_begun_beside_a_measurement(tmp_path: Path) -> None:
    """Reviews, tags and verifications are refused in one line, as jobs are: what runs beside a measurement is in its figures."""
    settings = Settings(storage=tmp_path / "storage", scratch=tmp_path / "scratch")
    measurements = Measurements(settings, dict(os.environ))
    context = WebContext(
        settings=settings,
        databases=(),
        embedded=True,
        runner=BesideCommand(),
        door=Door("t" * 16),
        measurements=measurements,
    )
    context.refuse_measuring()
    begun = measurements.start("profile", ["bench", "storage", "--set=seconds=600", "--", "self-check"])
    jobs = Jobs((), Database("db1", "postgresql+psycopg2://u@127.0.0.1:1/db"))  # none is asked
    try:
        refusal = r"a measurement is running here \(profile\); wait for its end, or cancel it"
        for begin in (
            lambda: routes.start_dedupe(context, jobs, routes.DedupeOrder()),
            lambda: looking.start_verify(context, jobs, VerifyOrder()),
            lambda: named.tag(context, jobs, TagOrder(tag="hot", query="the")),
        ):
            with pytest.raises(UsageError, match=refusal):
                begin()
    finally:
        measurements.cancel(begun.id)
        measurements.cancel(begun.id)
        measurements.stop()
