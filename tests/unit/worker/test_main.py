"""The command line of a worker."""

from __future__ import annotations

import pytest

from worker.main import main, make_plans

_ENV = {"EDBENCH_DATABASES": "db1=postgresql+psycopg2://u:p@h/d", "EDBENCH_BROKER": "redis://u:p@h"}


def test_options_win_over_the_environment() -> None:
    """--slots and --grace take precedence; without them the variables hold, then the defaults."""
    env = {**_ENV, "EDBENCH_SLOTS": "3", "EDBENCH_GRACE_S": "7", "EDBENCH_METRICS_PORT": "9100"}
    (plan,) = make_plans(["--name", "w9"], env).each
    assert (plan.name, plan.settings.slots, plan.grace_seconds, plan.metrics.port) == ("w9", 3, 7.0, 9100)
    (plan,) = make_plans(["--slots", "2", "--grace", "0.5"], env).each
    assert (plan.settings.slots, plan.grace_seconds) == (2, 0.5)
    (plan,) = make_plans([], _ENV).each
    assert (plan.settings.slots, plan.grace_seconds, plan.metrics.port) == (4, 10.0, 0)


def test_many_workers_have_names_and_nothing_else_of_their_own() -> None:
    """--workers 3: w1 to w3, of so many slots each; no two of them would listen on one port."""
    plans = make_plans(["--name", "w", "--workers", "3", "--slots", "2"], {**_ENV, "EDBENCH_METRICS_PORT": "9100"}).each
    assert [plan.name for plan in plans] == ["w1", "w2", "w3"]
    assert {(plan.settings.slots, plan.metrics.port) for plan in plans} == {(2, 0)}


@pytest.mark.parametrize(
    ("arguments", "env", "named"),
    [
        (["--slots", "0"], _ENV, "--slots"),
        (["--workers", "-1"], _ENV, "--workers"),
        (["--workers", "5000"], _ENV, "--workers"),
        ([], {**_ENV, "EDBENCH_GRACE_S": "soon"}, "EDBENCH_GRACE_S"),
        ([], {**_ENV, "EDBENCH_GRACE_S": "-1"}, "EDBENCH_GRACE_S"),
        ([], {**_ENV, "EDBENCH_METRICS_PORT": "nan"}, "EDBENCH_METRICS_PORT"),
        ([], {"EDBENCH_BROKER": "redis://u:p@h"}, "EDBENCH_DATABASES"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    arguments: list[str], env: dict[str, str], named: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments, env) == 2
    said = capfd.readouterr().err
    assert named in said
    assert said.count("\n") == 1
