"""The command line of a worker."""

from __future__ import annotations

import pytest

from worker.__main__ import main, make_plan

_ENV = {"EDBENCH_DATABASES": "db1=postgresql+psycopg2://u:p@h/d", "EDBENCH_BROKER": "redis://u:p@h"}


def test_options_win_over_the_environment() -> None:
    """--slots and --grace take precedence; without them the variables hold, then the defaults."""
    env = {**_ENV, "EDBENCH_SLOTS": "3", "EDBENCH_GRACE_S": "7", "EDBENCH_METRICS_PORT": "9100"}
    plan = make_plan(["--name", "w9"], env)
    assert (plan.name, plan.settings.slots, plan.grace_seconds, plan.metrics.port) == ("w9", 3, 7.0, 9100)
    plan = make_plan(["--slots", "2", "--grace", "0.5"], env)
    assert (plan.settings.slots, plan.grace_seconds) == (2, 0.5)
    plan = make_plan([], _ENV)
    assert (plan.settings.slots, plan.grace_seconds, plan.metrics.port) == (4, 10.0, 0)


@pytest.mark.parametrize(
    ("arguments", "env", "named"),
    [
        (["--slots", "0"], _ENV, "--slots"),
        ([], {**_ENV, "EDBENCH_GRACE_S": "soon"}, "EDBENCH_GRACE_S"),
        ([], {**_ENV, "EDBENCH_GRACE_S": "-1"}, "EDBENCH_GRACE_S"),
        ([], {**_ENV, "EDBENCH_METRICS_PORT": "nan"}, "EDBENCH_METRICS_PORT"),
        ([], {"EDBENCH_BROKER": "redis://u:p@h"}, "EDBENCH_DATABASES"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    arguments: list[str], env: dict[str, str], named: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """A bad option or variable is named, with exit status 2, and nothing is started."""
    assert main(arguments, env) == 2
    said = capfd.readouterr().err
    assert named in said
    assert said.count("\n") == 1
