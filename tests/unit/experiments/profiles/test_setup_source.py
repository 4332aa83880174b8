"""Profile `setup-effort` names its source in the result, so that no login may stand in it."""

from __future__ import annotations

import pytest

from core.errors import UsageError
from experiments.profiles.profile import Targets
from experiments.workloads.setup_effort.profile import SetupEffort, SetupSettings


@pytest.mark.parametrize("source", ["https://u:s3cret@host/x.git", "https://token@host/x.git", "ssh://u:s3cret@host/x"])
def test_a_source_with_a_login_is_refused(source: str) -> None:
    """In a line that does not repeat it."""
    with pytest.raises(UsageError, match="the URL must not contain a login") as refused:
        SetupEffort(SetupSettings(source=source), Targets()).check()
    assert "host" not in str(refused.value)


@pytest.mark.parametrize("source", ["https://host/x.git", "ssh://git@host/x", "git@host:x", "/a/clone"])
def test_any_other_source_is_taken(source: str) -> None:
    SetupEffort(SetupSettings(source=source), Targets()).check()
