"""Measurements that the page starts: the words of the command are the order's, and the child is followed to its end."""

from __future__ import annotations

import fcntl
import os
import time
import uuid
from pathlib import Path
from typing import Any, get_args

import pytest
from every_command import options
from pydantic import ValidationError

from core.document import bounds
from core.errors import UsageError
from core.settings import Settings
from web.measuring import Measurement, Measurements, command, kinds

# Said in the command's own way, or not of an order.
OTHERWISE = {"corpus", "source", "profile", "name", "paths", "setting", "job", "shared"}
OVER_S = 120.0


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
        ("r1", {"workers": "30,10"}, "workers"),
        ("generate", {"profile": "/etc/passwd"}, "profile"),
        ("replay", {"pace": "fast"}, "pace"),
        ("replay", {"scaling": "mixed"}, "scaling"),
        ("replay", {"clients": "many"}, "clients"),
        ("replay", {"max_p99": "read"}, "max_p99"),
    ],
)
def test_what_a_command_would_refuse_is_refused_at_its_field(kind: str, given: dict[str, str], field: str) -> None:
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


def over(measurements: Measurements, begun: Measurement) -> Measurement:
    """It, once it has ended."""
    end = time.monotonic() + OVER_S
    while (now := measurements.of(begun.id)).ended is None:
        assert time.monotonic() < end, measurements.log(begun.id)
        time.sleep(0.02)
    return now


def test_a_child_is_followed_to_its_end(measurements: Measurements) -> None:
    """What it said is kept, and one that is refused says why."""
    done = over(measurements, measurements.start("profile", ["bench", "storage"]))
    assert (done.state, done.line, done.result) == ("completed", "", None)
    assert "self-check" in measurements.log(done.id)
    refused = over(measurements, measurements.start("profile", ["bench", "storage", "--", "no-such-profile"]))
    assert refused.state == "refused"
    assert "no-such-profile" in refused.line
    assert [each.id for each in measurements.every()] == [refused.id, done.id]


def test_there_is_one_at_a_time_and_it_can_be_ended(measurements: Measurements) -> None:
    """Also where another server of the same scratch measures; a cancelled one is told from one that failed."""
    waits = ["bench", "storage", "--set=seconds=600", "--", "self-check"]
    begun = measurements.start("profile", waits)
    with pytest.raises(UsageError, match="is running here"):
        measurements.start("profile", ["bench", "storage"])
    assert measurements.cancel(begun.id).state == "cancelling"
    measurements.cancel(begun.id)  # it may have only begun to read its own modules: now it is killed
    assert over(measurements, begun).state == "cancelled"
    with pytest.raises(UsageError, match="is over"):
        measurements.cancel(begun.id)
    with next(measurements._place.glob("lock")).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UsageError, match="another server"):
            measurements.start("profile", ["bench", "storage"])


def test_the_states_are_words_of_the_page() -> None:
    assert "cancelled" in get_args(Measurement.model_fields["state"].annotation)
