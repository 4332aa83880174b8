"""The times of a replay in a closed loop by its scripts alone, on a storage of which it is known how long each call takes."""

from __future__ import annotations

from collections.abc import Callable

from replay.program import Program
from replay.script import INDEXING, Step, Wait, all_steps

Key = tuple[int, int]  # code of a step, node


def begun(program: Program, took_ns: Callable[[Step], int]) -> dict[Key, int]:
    """When each step of the first clone begins, by `docs/dev/replay-engine.md`. Fails when clients wait in a circle."""
    clone = program.plan.clones[0]
    scripts = [list(all_steps(program.script(clone, k))) for k in range(len(clone.clients))]
    over: list[list[int]] = [[] for _ in scripts]
    out: dict[Key, int] = {}
    while any(len(done) < len(steps) for done, steps in zip(over, scripts, strict=True)):
        ready = [
            k for k, steps in enumerate(scripts) if len(over[k]) < len(steps) and _may(steps[len(over[k])][1], over)
        ]
        assert ready, "the clients wait for each other"
        for k in ready:
            step, waits = scripts[k][len(over[k])]
            last = over[k][-1] if over[k] else 0
            released = max((over[wait.client][wait.steps - 1] for wait in waits), default=0)
            begin = max(last, released) + step.time_ns if step.first else max(last + step.time_ns, released)
            out[step.code & ~INDEXING, step.node] = begin
            over[k].append(begin + took_ns(step))
    return out


def _may(waits: list[Wait], over: list[list[int]]) -> bool:
    return all(len(over[wait.client]) >= wait.steps for wait in waits)
