"""One trace of the parts of several slots, workers and hosts."""

import os
import random
import uuid
from pathlib import Path

import pytest

from core.errors import UsageError
from core.operations import Op
from core.places import job_location
from core.storage.layer import Storage
from traces.file import open_trace
from traces.gather import Gathered, Gathering, gather_trace
from traces.model import UNKNOWN_RATIO, NodeKind
from traces.parts import (
    Row,
    SpoolHead,
    SpoolWriter,
    WorkerParts,
    deliver_left_behind,
    done_until,
    parts_directory,
    worker_parts,
)
from worker.slots.watch import WorkerScratch

SECOND = 1_000_000_000


class Recordings:
    """Parts as workers leave them, and the files that they tell of."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.source = home / "source"
        self.source.mkdir()
        self.parts: list[Path] = []

    def part(self, worker: str, slot: int, boot: str, wall_s: float, *tasks: tuple[int, list[Row]]) -> None:
        """The calls of some tasks, each with its phase's number."""
        head = SpoolHead(
            job=uuid.UUID(int=1),
            worker=worker,
            slot=slot,
            boot=boot,
            wall_ns=int(wall_s * SECOND),
            phases=("walk", "expand", "ocr"),
        )
        path = self.home / "parts" / f"{len(self.parts)}.calls"
        writer = SpoolWriter(path, head)
        for phase, rows in tasks:
            writer.write(rows, phase)
        writer.close()
        self.parts.append(path)

    def row(self, op: Op, start: int, name: str, *, nbytes: int = 0, argument: int = 0, other: str = "") -> Row:
        old = os.fsencode(self.source / other) if other else b""
        return (op, start, 5, nbytes, argument, os.fsencode(self.source / name), old, 0)

    def gather(
        self, counted: int = 0, tasks: dict[tuple[str, int], list[tuple[float, float]]] | None = None
    ) -> Gathered:
        gathering = Gathering(
            parts=self.parts,
            roots=[os.fsencode(self.source)],
            phases=["expand", "walk"],
            origin={"kind": "job"},
            counted=counted,
            tasks=tasks,
        )
        return gather_trace(gathering, Storage(), self.home / "t")


@pytest.fixture
def recordings(tmp_path: Path) -> Recordings:
    return Recordings(tmp_path)


def test_parts_of_a_slot_are_one_stream(recordings: Recordings) -> None:
    row = recordings.row
    recordings.part("w10", 0, "a", 1000, (1, [row(Op.OPEN, 300, "secret", argument=6)]))
    recordings.part("w2", 1, "b", 990, (0, [row(Op.STAT, 10 * SECOND + 700, "secret", argument=7)]))
    recordings.part("w2", 1, "a", 1000, (1, [row(Op.READ, 200, "secret", nbytes=6)]))
    (recordings.home / "parts" / "torn").write_bytes(b"edbench-ca")  # its slot died while it began
    recordings.parts.append(recordings.home / "parts" / "torn")
    found = recordings.gather(counted=5)
    assert (found.calls, found.lost, found.bytes) == (3, 2, found.path.stat().st_size)
    with open_trace(found.path) as trace:
        header = trace.header
        calls = [list(trace.calls(n)) for n in range(len(header.streams))]
        assert [node.size for node in trace.nodes] == [0, 6]
    assert [(s.worker, s.slot, s.calls) for s in header.streams] == [("w2", 1, 2), ("w10", 0, 1)]
    assert (header.created, header.duration_ns, header.lost) == (pytest.approx(1000 + 200e-9), 505, 2)
    assert [(c.op, c.start_ns, header.phases[c.phase]) for c in calls[0]] == [
        (Op.READ, 0, "expand"),
        (Op.STAT, 500, "walk"),
    ]
    assert [(c.op, c.start_ns, header.phases[c.phase]) for c in calls[1]] == [(Op.OPEN, 100, "expand")]
    assert b"secret" not in found.path.read_bytes()


def test_a_wall_clock_that_was_set_does_not_disturb_a_host(recordings: Recordings) -> None:
    recordings.part("w1", 0, "a", 1000, (1, [recordings.row(Op.CREATE, 100, "f")]))
    recordings.part("w1", 1, "a", 400, (1, [recordings.row(Op.OPEN, 200, "f", argument=1)]))
    found = recordings.gather()
    with open_trace(found.path) as trace:
        assert [next(trace.calls(n)).start_ns for n in (0, 1)] == [0, 100]
        assert [(node.kind, node.existed) for node in trace.nodes][1] == (NodeKind.FILE, False)


def test_compressibility_is_measured_on_a_sample(recordings: Recordings) -> None:
    text = b"".join(b"line %d of many\n" % n for n in range(9_000))
    noise = random.Random(1).randbytes(100_000)
    contents = {"a.txt": text, "a.jpg": noise, "empty.txt": b"", "kept": noise}
    for name, content in contents.items():
        (recordings.source / name).write_bytes(content)
    names = ["a.txt", "gone.TXT", "a.jpg", "gone.xyz", "empty.txt"]
    rows = [recordings.row(Op.OPEN, n * 10, name, argument=1) for n, name in enumerate(names)]
    rows.append(recordings.row(Op.CREATE, 100, "kept.tmp"))
    rows.append(recordings.row(Op.RENAME, 110, "kept", other="kept.tmp"))
    recordings.part("w1", 0, "a", 1, (1, rows))
    with open_trace(recordings.gather().path) as trace:
        ratios = [node.ratio for node in trace.nodes]
    root, a_txt, gone_txt, a_jpg, gone_xyz, empty, temporary, kept = ratios
    assert 0 < a_txt < 400
    assert gone_txt == empty == a_txt
    assert a_jpg > 950
    assert kept == temporary > 950
    assert root == gone_xyz == UNKNOWN_RATIO


def test_directories_are_known_by_looking(recordings: Recordings) -> None:
    (recordings.source / "d").mkdir()
    recordings.part("w1", 0, "", 1, (0, [recordings.row(Op.STAT, 1, "d"), recordings.row(Op.STAT, 9, "gone")]))
    with open_trace(recordings.gather().path) as trace:
        assert [node.kind for node in trace.nodes] == [NodeKind.DIRECTORY, NodeKind.DIRECTORY, NodeKind.FILE]


def test_a_job_without_calls_has_an_empty_trace(recordings: Recordings) -> None:
    found = recordings.gather(counted=4)
    assert (found.calls, found.lost) == (0, 4)
    with open_trace(found.path) as trace:
        assert (trace.header.streams, trace.header.duration_ns) == ((), 0)


def test_a_part_that_cannot_be_read_is_no_trace(recordings: Recordings) -> None:
    recordings.parts.append(recordings.home / "none.calls")
    with pytest.raises(UsageError, match=r"none\.calls, a part of the trace, does not exist"):
        recordings.gather()
    assert not (recordings.home / "t").exists()


def test_a_stream_states_when_it_had_no_task(recordings: Recordings) -> None:
    row = recordings.row
    for slot in range(3):
        recordings.part("w1", slot, "a", 1000, (1, [row(Op.OPEN, 0, "a")]))
    tasks = {("w1", 0): [(999.99, 1000.5), (1000.51, 1001.0), (1001.25, 1002.0)], ("w1", 1): [(1000.75, 1003.0)]}
    with open_trace(recordings.gather(tasks=tasks).path) as trace:
        found = [stream.idle for stream in trace.header.streams]
    assert found == [((SECOND, 5 * SECOND // 4),), ((0, 3 * SECOND // 4),), ()]
    with open_trace(recordings.gather().path) as trace:
        assert [stream.idle for stream in trace.header.streams] == [None, None, None]


JOB, DELETED = uuid.UUID(int=1), uuid.UUID(int=2)
WORKER = uuid.UUID(int=7)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "storage" / os.fsdecode(job_location(JOB))).mkdir(parents=True)
    return tmp_path


def some_parts(home: Path, job: uuid.UUID = JOB, count: int = 2) -> WorkerParts:
    parts = worker_parts(home / "scratch", WORKER, home / "storage")
    for number in range(count):
        path = parts.new(job)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"calls %d" % number)
    return parts


def delivered(home: Path) -> list[bytes]:
    return sorted(path.read_bytes() for path in parts_directory(home / "storage", JOB).glob("*.calls"))


def test_parts_are_delivered_one_at_a_time(home: Path) -> None:
    parts = some_parts(home)
    assert parts.jobs() == [JOB]
    steps = [parts.deliver_one(JOB) for _ in range(3)]
    assert (steps, delivered(home), parts.jobs()) == ([True, True, False], [b"calls 0", b"calls 1"], [])
    assert done_until(home / "storage", JOB, WORKER) < 0.0
    parts.mark_done(JOB, WORKER, 1234.567891)
    assert done_until(home / "storage", JOB, WORKER) == 1234.567891


def test_parts_of_a_deleted_job_are_dropped(home: Path) -> None:
    parts = some_parts(home, DELETED)
    (home / "storage").rename(home / "away")
    with pytest.raises(FileNotFoundError, match="storage root"):
        parts.deliver_one(DELETED)
    parts.deliver_all()
    assert parts.jobs() == [DELETED]
    (home / "away").rename(home / "storage")
    parts.deliver_all()
    parts.mark_done(DELETED, WORKER, 1.0)
    assert not parts.directory.exists()
    assert not parts_directory(home / "storage", DELETED).parent.exists()


def test_what_a_dead_worker_left_is_delivered_and_what_a_living_one_has_is_not(home: Path) -> None:
    living = WorkerScratch(home / "scratch", WORKER)
    some_parts(home)
    deliver_left_behind(home / "scratch", home / "storage")
    assert delivered(home) == []
    living.close()
    deliver_left_behind(home / "scratch", home / "storage")
    assert delivered(home) == [b"calls 0", b"calls 1"]
    assert list((home / "scratch" / "traces").iterdir()) == []
    deliver_left_behind(home / "none", home / "storage")


def test_what_is_no_job_among_the_parts_is_not_taken_for_one(tmp_path: Path) -> None:
    job = uuid.uuid4()
    for name in (job.hex, "lost+found", "0", f"{job}"):
        (tmp_path / "traces" / name).mkdir(parents=True)
    assert WorkerParts(tmp_path / "traces", tmp_path).jobs() == [job]
