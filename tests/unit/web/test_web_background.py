"""What takes longer than a request: one at a time, and what came of it."""

import fcntl
import os
import threading
import time
import uuid
from pathlib import Path
from typing import Any, get_args

import pytest
from every_command import options
from pydantic import ValidationError

from controller.custody import acting, operator
from controller.databases import Jobs
from core.document import bounds
from core.errors import RunFailed, UsageError
from core.settings import Settings
from sql.session import Database
from web.api import looking, named
from web.api.models.items import TagOrder
from web.api.models.jobs import VerifyOrder
from web.background import Activities, BackgroundTask, BackgroundTasks, Measurement, Measurements
from web.context import WebContext
from web.errors import FieldErrors
from web.measuring import command, kinds
from web.results import chosen_lists, list_hash_lists
from web.runs import CommandRunner
from web.token import Door

JOB = uuid.UUID(int=1)


def over(background_tasks: BackgroundTasks, kind: str) -> BackgroundTask:
    end = time.monotonic() + 300
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


def test_what_failed_states_why_and_the_next_one_can_begin() -> None:
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
    own, other = tmp_path / "storage" / "hash-lists", tmp_path / "other"
    for place in (own, other / "below"):
        place.mkdir(parents=True)
    (own / "known.txt").write_text("x")
    (other / "nsrl.db").write_text("y")
    (own / ".hidden").write_text("z")
    (own / "link").symlink_to("/etc/passwd")
    settings = Settings(storage=tmp_path / "storage", scratch=tmp_path)
    context = WebContext(
        settings=settings, databases=(), embedded=True, runner=CommandRunner(), door=Door("t" * 16), hash_lists=(other,)
    )
    assert list(list_hash_lists(context)) == ["0:known.txt", "1:nsrl.db"]
    assert chosen_lists(context, ["1:nsrl.db"]) == [other / "nsrl.db"]
    for wrong in ("0:link", "0:../../other/nsrl.db", "/etc/passwd", "2:nsrl.db"):
        with pytest.raises(FieldErrors):
            chosen_lists(context, [wrong])


def test_nothing_is_begun_beside_a_measurement(tmp_path: Path) -> None:
    settings = Settings(storage=tmp_path / "storage", scratch=tmp_path / "scratch")
    measurements = Measurements(settings, dict(os.environ))
    context = WebContext(
        settings=settings,
        databases=(),
        embedded=True,
        runner=CommandRunner(),
        door=Door("t" * 16),
        measurements=measurements,
    )
    context.refuse_measuring()
    routes = pytest.importorskip("review.routes")
    begun = measurements.start("profile", ["bench", "storage", "--set=seconds=600", "--", "self-check"])
    jobs = Jobs((), Database("db1", "postgresql+psycopg2://u@127.0.0.1:1/db"))  # none is asked
    try:
        refusal = r"a measurement is running \(profile\); wait until it ends, or cancel it"
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


PATIENCE = 300.0


def _fine() -> None:
    """No measurement runs."""


def test_nothing_is_alone_beside_what_is_done() -> None:
    activities = Activities()
    with activities.during("a tag is being given", _fine):
        with (
            activities.during("a job is being created", _fine),
            pytest.raises(UsageError, match="a tag is being given; it would distort the measurement"),
        ):
            activities.alone().__enter__()
        with pytest.raises(UsageError, match="a tag"), activities.alone():
            pass
    with pytest.raises(KeyError), activities.during("a job is being created", _fine):
        raise KeyError
    with activities.alone():
        pass


def test_what_begins_while_a_measurement_does_is_refused() -> None:
    activities, running, outcome = Activities(), threading.Event(), []

    def refuse() -> None:
        if running.is_set():
            raise UsageError("a measurement is running")

    def begin() -> None:
        try:
            with activities.during("a tag is being given", refuse):
                outcome.append("given")
        except UsageError:
            outcome.append("refused")

    beginning = threading.Thread(target=begin)
    with activities.alone():
        beginning.start()
        beginning.join(0.1)  # time enough for one that does not wait
        running.set()
    beginning.join(PATIENCE)
    assert outcome == ["refused"]


# Said in the command's own way, or not of an order.
OTHERWISE = {"corpus", "source", "profile", "name", "paths", "setting", "job", "shared"}
OVER_S = 300.0


@pytest.mark.parametrize("kind", kinds().values(), ids=list(kinds()))
def test_every_field_is_an_option_of_the_command_with_its_help_default_and_bounds(kind: Any) -> None:
    there = options(*kind.words)
    for name, info in kind.model.model_fields.items():
        if name in OTHERWISE:
            continue
        option = there[name]
        assert option.opts == [f"--{name.replace('_', '-')}"]
        assert option.help == info.description
        assert info.is_required() or option.default == info.default
        for key, bound in (("ge", "min"), ("le", "max")):
            assert getattr(option.type, bound, None) == bounds(info).get(key)


def test_no_value_is_taken_for_an_option() -> None:
    """Each stands in one word with its option's name, and a profile's name behind the end of options."""
    order = kinds()["scale-up"].model(corpus="0:c", workers="--serve", cold=True)
    words = command(kinds()["scale-up"], order, ["--corpus=/a corpus"])
    assert (words[:2], words[-1]) == (["bench", "scale-up"], "--corpus=/a corpus")
    assert {"--workers=--serve", "--cold"} <= set(words)
    assert not any(word.startswith(("--seed", "--shard", "--source", "--single-pass")) for word in words)
    order = kinds()["profile"].model(profile="--resume", setting=["a=--yes"])
    words = command(kinds()["profile"], order, order.arguments([Path("/t")]))
    assert words[-4:] == ["--path=/t", "--set=a=--yes", "--", "--resume"]
    order = kinds()["replay"].model(job=uuid.uuid4(), paths=["/t"], pace="--force", shared=True)
    words = command(kinds()["replay"], order, order.arguments(Path("--storage"), [Path("/t"), Path("/u")]))
    assert {"--pace=--force", "--shared"} <= set(words)
    assert words[-4:] == ["--path=/t", "--path=/u", "--", "--storage"]
    corpus = kinds()["generate"].model(name="c", profile="--seed")
    words = command(kinds()["generate"], corpus, corpus.arguments(Path("/s")))
    assert words[-3:] == ["--profile=--seed", "--", "/s/corpora/c"]
    with pytest.raises(ValidationError):
        kinds()["generate"].model(name="../c")


@pytest.mark.parametrize(
    ("kind", "given", "field"),
    [
        ("scale-up", {"workers": "1,x"}, "workers"),
        ("scale-out", {"databases": ""}, "databases"),
        ("knee", {"max_p99": "read"}, "max_p99"),
        ("scale-up", {"filer_cache": "much"}, "filer_cache"),
        ("scale-up", {"workers": "0"}, "workers"),
        ("scale-up", {"axis": ["fsync=none"]}, "axis"),
        ("scale-out", {"axis": ["protocol=3|4.2"]}, "axis"),
        ("r1", {"workers": "30,10"}, "workers"),
        ("generate", {"profile": "/etc/passwd"}, "profile"),
        ("profile", {"profile": "dedup", "setting": ["reduce=touch /tmp/x"]}, "setting"),
        ("profile", {"profile": "dedup", "setting": ["seed=1", " used =id"]}, "setting"),
        ("profile", {"profile": "stream", "setting": ["tree=/etc"]}, "setting"),
        ("replay", {"pace": "fast"}, "pace"),
        ("replay", {"clients": "many"}, "clients"),
        ("replay", {"max_p99": "read"}, "max_p99"),
    ],
)
def test_what_a_command_would_refuse_is_refused_at_its_field(kind: str, given: dict[str, Any], field: str) -> None:
    where: dict[str, Any] = {"replay": {"job": uuid.uuid4(), "paths": ["/t"]}, "generate": {"name": "c"}}.get(kind, {})
    with pytest.raises(UsageError) as refused:
        kinds()[kind].check(kinds()[kind].model(**given, **where))
    assert refused.value.field == field
    with pytest.raises(ValidationError):
        kinds()[kind].model(**given, **where, storage="/etc")


@pytest.fixture
def measurements(tmp_path: Path) -> Any:
    made = Measurements(Settings(storage=tmp_path / "storage", scratch=tmp_path / "scratch"), dict(os.environ))
    yield made
    made.stop()


def measured_out(measurements: Measurements, begun: Measurement) -> Measurement:
    """It, once it has ended."""
    end = time.monotonic() + OVER_S
    while (now := measurements.of(begun.id)).ended is None:
        assert time.monotonic() < end, measurements.log(begun.id)
        time.sleep(0.02)
    return now


def test_a_child_is_followed_to_its_end(measurements: Measurements) -> None:
    """What it said is kept, and one that is refused says why."""
    done = measured_out(measurements, measurements.start("profile", ["bench", "storage"]))
    assert (done.state, done.line, done.result) == ("completed", "", None)
    assert "self-check" in measurements.log(done.id)
    refused = measured_out(measurements, measurements.start("profile", ["bench", "storage", "--", "no-such-profile"]))
    assert refused.state == "refused"
    assert "no-such-profile" in refused.line
    assert [each.id for each in measurements.every()] == [refused.id, done.id]


def test_there_is_one_at_a_time_and_it_can_be_ended(measurements: Measurements) -> None:
    waits = ["bench", "storage", "--set=seconds=600", "--", "self-check"]
    begun = measurements.start("profile", waits)
    with pytest.raises(UsageError, match="a measurement is running"):
        measurements.start("profile", ["bench", "storage"])
    assert measurements.cancel(begun.id).state == "cancelling"
    measurements.cancel(begun.id)  # it may have only begun to read its own modules: now it is killed
    assert measured_out(measurements, begun).state == "cancelled"
    with pytest.raises(UsageError, match="has ended"):
        measurements.cancel(begun.id)
    with next(measurements._place.glob("lock")).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another server"):
            measurements.start("profile", ["bench", "storage"])


def test_the_states_are_words_of_the_page() -> None:
    assert "cancelled" in get_args(Measurement.model_fields["state"].annotation)
