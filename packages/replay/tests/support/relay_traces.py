"""A trace whose streams hand files on to each other, and its program."""

from pathlib import Path
from typing import NamedTuple

from memory_traces import MemoryTrace, memory_trace

from core.operations import Op
from replay.local import MakeStation, waiting_clients
from replay.plan import plan_replay
from replay.program import Program, compile_replay
from replay.tally import ClientResult, merge_results
from replay.tree import Target
from traces.model import NO_NODE, Call, Node, NodeKind

MS = 1_000_000
SIZE = 5_000


class Story:
    """A stream's calls, one after the other, each a millisecond long with as much between them."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.now = 0

    def add(
        self, op: Op, node: int, nbytes: int = 0, argument: int = 0, other: int = NO_NODE, error: int = 0
    ) -> "Story":
        self.calls.append(Call(op, self.now, MS, nbytes, argument, node, other, error, 0))
        self.now += 2 * MS
        return self

    def wait_until(self, moment: int) -> "Story":
        self.now = max(self.now, moment)
        return self


def relay(streams: int = 3) -> MemoryTrace:
    """Each stream reads a file that was there, then what the one before it wrote and renamed, and writes its own."""
    nodes = [Node(NO_NODE, NodeKind.DIRECTORY, True, 0, 1000, 0), Node(0, NodeKind.FILE, True, SIZE, 500, 9)]
    nodes.append(Node(0, NodeKind.DIRECTORY, False, 0, 1000, 3))
    stories = []
    moment, last = 0, 1
    for number in range(streams):
        story = Story().wait_until(moment)
        story.add(Op.STAT, 1).add(Op.MKDIR, 2, error=17 if number else 0)
        story.add(Op.OPEN, last).add(Op.READ, last, SIZE, 0).add(Op.READ, last, 0, SIZE).add(Op.CLOSE, last)
        made, final = len(nodes), len(nodes) + 1
        nodes += [Node(2, NodeKind.MISSING, False, 0, 1000, 12), Node(2, NodeKind.MISSING, False, 0, 500, 8)]
        story.add(Op.CREATE, made).add(Op.WRITE, made, SIZE - 1, 0).add(Op.WRITE, made, 1, SIZE - 1).add(Op.FSYNC, made)
        story.add(Op.CLOSE, made).add(Op.RENAME, final, other=made).add(Op.SCAN, 2)
        moment, last = story.now, final
        stories.append(story)
    stories[-1].add(Op.REMOVE, last)
    return memory_trace(nodes, [story.calls for story in stories])


class LocalResult(NamedTuple):
    merged: ClientResult
    clients: tuple[ClientResult, ...]


def run_local(
    program: Program, target: Target, *, keep: bool = False, station: MakeStation | None = None
) -> LocalResult:
    """Have all clients of a program play it now; raises what `waiting_clients` does."""
    with waiting_clients(program, target, keep=keep, station=station) as play:
        results = tuple(ClientResult.from_json(one.result["found"]) for one in play(None))
    return LocalResult(merged=merge_results(results), clients=results)


def compiled(
    tmp_path: Path, trace: MemoryTrace, clients: int, speed: float | None = None, *, closed: bool = False
) -> tuple[Program, Target]:
    plan = plan_replay(trace.header, clients=clients, speed=speed, closed=closed)
    program = compile_replay(trace, plan, tmp_path / "program")
    path = tmp_path / "path"
    path.mkdir(exist_ok=True)
    return program, Target(paths=(path,), replay_id="test")
