"""Labels of jobs that are looked at often: computed once in some seconds, for that takes a dozen statements a job."""

from __future__ import annotations

import datetime
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from controller.databases import Jobs
from controller.labels.stored import Labels, group_labels
from core.records import JobState
from core.settings import Settings

KEEP_SECONDS = 5.0  # what labels are told from grows for minutes

StateAndEnd = tuple[JobState, datetime.datetime | None]  # of a job: when it ended, if it did


@dataclass(frozen=True, slots=True)
class _Kept:
    at: float
    states: Sequence[StateAndEnd]
    labels: Labels


class KeptLabels:
    """Safe for several threads; two that ask at once may both look."""

    def __init__(self, settings: Settings, monotonic: Callable[[], float]) -> None:
        """`monotonic`: seconds."""
        self._settings = settings
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._kept: dict[uuid.UUID, _Kept] = {}  # by job or group

    def of(self, identity: uuid.UUID, jobs: Jobs, states: Sequence[StateAndEnd]) -> Labels:
        """Those of a job or a group; `states`: of its jobs, a change of which is seen at once. Raises DatabaseFault, and
        UsageError when a job that has to be looked at is gone."""
        now = self._monotonic()
        with self._lock:
            kept = self._kept.get(identity)
        if kept is not None and kept.states == states and now - kept.at < KEEP_SECONDS:
            return kept.labels
        labels = group_labels(jobs, self._settings)
        with self._lock:
            self._kept = {of: kept for of, kept in self._kept.items() if now - kept.at < KEEP_SECONDS}  # no jobs of old
            self._kept[identity] = _Kept(now, states, labels)
        return labels
