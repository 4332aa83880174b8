"""Findings of jobs that are none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from core.errors import UsageError
from review.dedupe.report import last_dedupe
from review.denist.report import last_denist
from review.languages.report import last_languages
from review.near.report import last_near
from review.threads.report import last_threads


@pytest.mark.parametrize("last", [last_dedupe, last_near, last_languages, last_denist, last_threads])
def test_a_group_without_jobs_is_refused_in_one_line(last: Callable[..., object]) -> None:
    with pytest.raises(UsageError, match="the group has no jobs"):
        last([], [])
