"""Registers replay as a job type (core.job_types)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from core.job_types import JobType, JobTypes, Phase
from core.records import ReplayChoice


class _Replay(JobTypes):
    options = ReplayChoice
    phases: ClassVar[Mapping[JobType, tuple[Phase, ...]]] = {JobType.REPLAY: (Phase.REPLAY, Phase.FINALISE)}

    def bodies(self) -> Mapping[Phase, Callable[[Any], Any]]:
        """The client of a replay."""
        return {Phase.REPLAY: _replay}


def _replay(work: Any) -> Any:
    # numpy's library starts threads, which must not exist before the slots are forked
    from replay.task import run

    return run(work)


JOB_TYPES = _Replay()
