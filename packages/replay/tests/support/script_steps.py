"""The steps of a client's script, one by one."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from replay.script import STEP, read_script


class Step(NamedTuple):
    """The fields of `replay.script.STEP_TYPE`."""

    code: int
    expected: int
    first: int
    waits: int
    slot: int
    node: int
    other: int
    bytes: int
    argument: int
    time_ns: int


class Wait(NamedTuple):
    client: int
    steps: int


def all_steps(path: Path) -> Iterator[tuple[Step, list[Wait]]]:
    """Every step with its waits."""
    for block in read_script(path):
        waits = iter(block.waits)
        for fields in STEP.iter_unpack(block.steps):
            step = Step(*fields)
            yield step, [Wait(*next(waits)) for _ in range(step.waits)]
