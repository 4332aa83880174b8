"""Replays step by step, in any order of the clients that their waits allow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from core.content import Content
from core.operations import Op
from replay import script
from replay.calls import Calls
from replay.plan import Clone
from replay.program import Program
from replay.script import Step, Wait, all_steps
from replay.tree import Target


@dataclass
class Made:
    """A step as it went."""

    client: int
    step: Step
    error: int
    moved: int


@dataclass
class Stepper:
    """The clients of one clone in one process; `choose` picks among the numbers of those that may go on."""

    program: Program
    target: Target
    clone: Clone
    choose: Callable[[list[int]], int]
    made: list[Made] = field(default_factory=list)

    def run(self) -> list[Made]:
        """All steps of all clients. Fails when nobody may go on."""
        scripts = [list(all_steps(self.program.script(self.clone, k))) for k in range(len(self.clone.clients))]
        done = [0] * len(scripts)
        with self.program.table(self.clone) as table:
            slots = self.program.kind(self.clone).slots
            content = Content(self.program.plan.seed, self.clone.number, self.program.most_written)
            calls = [Calls(content, table.content, n, self.program.most_read) for n in slots]
            prefixes = self.target.prefixes(self.clone.number)

            def path(node: int) -> bytes:
                return prefixes[table.places[node]] + table.relative(node)

            try:
                while any(done[k] < len(scripts[k]) for k in range(len(scripts))):
                    ready = [k for k, steps in enumerate(scripts) if self._may(steps, done[k], done)]
                    assert ready, "the clients wait for each other"
                    client = self.choose(ready)
                    step = scripts[client][done[client]][0]
                    self.made.append(self._make(calls[client], client, step, path))
                    done[client] += 1
            finally:
                for one in calls:
                    one.close_all()
        return self.made

    def _may(self, steps: list[tuple[Step, list[Wait]]], at: int, done: list[int]) -> bool:
        return at < len(steps) and all(done[wait.client] >= wait.steps for wait in steps[at][1])

    def _make(self, calls: Calls, client: int, step: Step, path: Callable[[int], bytes]) -> Made:
        try:
            moved = calls.by_code[step.code](
                path(step.node), path(step.other), step.slot, step.bytes, step.argument, step.node
            )
        except OSError as e:
            return Made(client, step, e.errno or 0, 0)
        return Made(client, step, 0, moved)


def is_call(step: Step) -> bool:
    """Whether a trace holds it."""
    return step.code not in script.UNRECORDED


def op_of(step: Step) -> Op:
    return script.OP_OF_CODE[step.code]
