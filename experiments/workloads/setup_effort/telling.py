"""What is said of a set-up."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.profiles.telling import ProfileTelling
from experiments.report import words
from experiments.workloads.setup_effort.result import SetupPoint


class SetupTelling(ProfileTelling):
    """No storage is under test: no label of one."""

    def where(self) -> str:
        """This host."""
        return "this host"

    def cached(self, points: Sequence[SetupPoint]) -> bool:
        """No figure of storage is told."""
        return False

    def undeclared(self) -> bool:
        """Nor does a filer's cache matter."""
        return False

    def sentence(self, points: Sequence[SetupPoint]) -> str:
        """To the first result, and all."""
        figures = points[0].figures
        return (
            f"{words.many(round(figures['steps'].median), 'step')} and {words.seconds(figures['elapsed_s'].median)} from a machine"
            f" with an empty home to the first verified result; all tasks {words.many(round(figures['all_steps'].median), 'step')}"
            f" and {words.seconds(figures['all_s'].median)}"
        )
