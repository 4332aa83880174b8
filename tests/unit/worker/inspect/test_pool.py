"""worker.inspect.tree: what becomes of calls in processes that may die."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from unpacking import make_zip

from core.records import JobOptions
from core.storage.layer import Storage
from worker.inspect.file import TRACE_BYTES, Deadline, Loose, inspect_files, new_trace, read_trace
from worker.inspect.tree import TOGETHER, Batches, Died, InspectPool, Line, inspect_paths


def _note(directory: Path, name: str) -> None:
    (directory / name).write_text(str(os.getpid()))


def _kill(number: int) -> None:
    os.kill(os.getpid(), number)


def _leave() -> None:
    os._exit(3)


def _fail() -> None:
    raise OSError(28, "no space")


class _Odd(Exception):
    """Cannot be made again from what pickle keeps."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} {two}")


def _fail_oddly() -> None:
    raise _Odd(1, 2)


def _nothing() -> None:
    """A process that has nothing to begin with."""


def test_one_call_forks_one_process(tmp_path: Path) -> None:
    with InspectPool(8, _nothing) as pool:
        for name in ("a", "b", "c"):
            pool.schedule(_note, [tmp_path], {"name": name}).result()
    seen = {path.read_text() for path in tmp_path.iterdir()}
    assert len(seen) == 1
    assert seen != {str(os.getpid())}


def test_a_call_gives_what_its_function_gives() -> None:
    with InspectPool(1, _nothing) as pool:
        assert pool.schedule(sorted, ["cab"], {"reverse": True}).result() == ["c", "b", "a"]
        assert pool.schedule(_nothing, [], {}).result() is None


def test_something_is_done_meanwhile() -> None:
    done = list[int]()
    with InspectPool(1, _nothing, lambda: done.append(os.getpid())) as pool:
        work = pool.schedule(_nothing, [], {})
        assert not done
        work.result()
        pool.schedule(_nothing, [], {}).result()
    assert done == [os.getpid()]


def test_more_calls_than_processes(tmp_path: Path) -> None:
    with InspectPool(2, _nothing) as pool:
        works = [pool.schedule(_note, [tmp_path, str(n)], {}) for n in range(9)]
        works[-1].result()
        for work in works:
            work.result()
    assert len(list(tmp_path.iterdir())) == 9


@pytest.mark.parametrize(
    ("function", "args", "status"),
    [(_kill, [signal.SIGKILL], -signal.SIGKILL), (_leave, [], 3)],
    ids=["killed", "left"],
)
def test_a_death_is_reported_and_the_rest_continues(
    tmp_path: Path, function: Callable[..., None], args: list[int], status: int
) -> None:
    with InspectPool(1, _nothing) as pool:
        dying = pool.schedule(function, args, {})
        behind = pool.schedule(_note, [tmp_path, "behind"], {})
        with pytest.raises(Died) as caught:
            dying.result()
        behind.result()
    assert caught.value.status == status
    assert (tmp_path / "behind").exists()


@pytest.mark.parametrize(("function", "wanted"), [(_fail, OSError), (_fail_oddly, RuntimeError)])
def test_what_a_call_raises_is_raised_here(function: Callable[[], None], wanted: type[Exception]) -> None:
    with InspectPool(1, _nothing) as pool:
        with pytest.raises(wanted):
            pool.schedule(function, [], {}).result()
        pool.schedule(_nothing, [], {}).result()


def test_what_a_process_begins_with_fails_each_call() -> None:
    """A plugin that cannot be loaded, say: the reason, not the death of a process."""
    with InspectPool(1, _fail) as pool, pytest.raises(OSError, match="no space"):
        pool.schedule(_nothing, [], {}).result()


def test_closing_ends_what_is_under_way(tmp_path: Path) -> None:
    with InspectPool(2, _nothing) as pool:
        pool.schedule(signal.pause, [], {})
        pool.schedule(_note, [tmp_path, "second"], {}).result()
        pids = [process.pid for process in pool._processes]
    for pid in pids:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, 0)


PLUGINS = Path(__file__).parents[3] / "support" / "plugins"
KILLER = ("killer_plugin",)


def _write(where: Path, files: dict[int, bytes], count: int) -> list[str]:
    names = [f"{n:03}.txt" for n in range(count)]
    for n, name in enumerate(names):
        (where / name).write_bytes(files.get(n, b"words %d" % n))
    return names


def _lines(found: Iterator[bytes | Line]) -> list[dict[str, Any]]:
    return [json.loads(line) if isinstance(line, bytes) else dict(line) for line in found]


def test_deaths_within_a_batch_cost_its_other_files_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file has its lines once and in order, those read before a death, those not begun yet and the one it happened
    at; a member that kills is blamed alone, whatever container holds it."""
    monkeypatch.setenv("PYTHONPATH", str(PLUGINS))
    inner = make_zip({"b": b"beta", "bad": b"KILLER children", "worse": b"KILLER text", "c": b"gamma"})
    member = make_zip({"a": b"alpha", "inner": inner, "z": b"omega"})
    killers = {0: b"KILLER children", 71: b"KILLER text", 72: b"KILLER children", 79: member}
    names = _write(tmp_path, killers, 80)
    (tmp_path / names[75]).unlink()
    os.mkfifo(tmp_path / names[75])
    found = _lines(inspect_paths([str(tmp_path)], JobOptions(), processes=2, memory_mb=1024, plugins=KILLER))
    loose = [line for line in found if line["parent"] is None]
    assert [line["name"] for line in loose] == names
    assert {line["name"]: line["exceptions"] for line in loose if line["exceptions"]} == {
        **{name: ["killed_parser"] for name in ("000.txt", "071.txt", "072.txt")},
        "075.txt": ["special_file"],
    }
    assert all(line["text"] == f"words {n}" for n, line in enumerate(loose) if n not in {*killers, 75})
    members = [(line["name"], line["text"], line["exceptions"]) for line in found if line["parent"] is not None]
    assert members == [
        ("a", "alpha", []),
        ("b", "beta", []),
        ("bad", "", ["killed_parser"]),
        ("worse", "", ["killed_parser"]),
        ("c", "gamma", []),
        ("inner", "", []),
        ("z", "omega", []),
    ]
    assert found[-1]["name"] == "079.txt"


class _Pool:
    """Takes down how many files each process would be given; reads them here."""

    def __init__(self) -> None:
        self.given: list[int] = []
        self.ahead = 0  # of the first answer that is waited for

    def schedule(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        self.given.append(len(args[0]))
        function(*args, **kwargs)
        return self

    def result(self) -> dict[str, str]:
        self.ahead = self.ahead or len(self.given)
        return {}


def _given(where: Path, sizes: list[int], together: int = TOGETHER) -> list[int]:
    files = []
    for n, size in enumerate(sizes):
        path = where / str(n)
        path.write_bytes(b"x" * size)
        files.append(Loose(path=os.fsencode(path), relative=b"%d" % n))
    (where / "scratch").mkdir()
    pool = _Pool()
    batches = Batches(pool, JobOptions(), Storage(), where / "scratch", 32, together)  # type: ignore[arg-type]
    assert [line["name"] for line in _lines(batches.lines(iter(files)))] == [str(n) for n in range(len(sizes))]
    assert list((where / "scratch").iterdir()) == []
    assert pool.ahead == min(32, len(pool.given))
    return pool.given


def test_many_files_go_together_and_the_last_one_by_one(tmp_path: Path) -> None:
    """No process has many left when the others have none."""
    given = _given(tmp_path, [1] * 300)
    assert given[0] == 16
    assert given == sorted(given, reverse=True)
    assert given[-7:] == [1] * 7
    assert sum(given) == 300
    assert len(given) < 60


def test_few_files_go_one_by_one(tmp_path: Path) -> None:
    assert _given(tmp_path, [1] * 8) == [1] * 8


def test_where_each_may_take_long_none_waits_for_another(tmp_path: Path) -> None:
    assert _given(tmp_path, [1] * 100, together=1) == [1] * 100


def test_large_files_go_by_themselves(tmp_path: Path) -> None:
    given = _given(tmp_path, [2_000_000] * 3 + [1] * 200)
    assert given[:4] == [1, 1, 1, 16]


def test_the_trace_states_where_a_process_was(tmp_path: Path) -> None:
    path, spool = tmp_path / "trace", tmp_path / "spool"
    new_trace(path)
    assert path.stat().st_size == TRACE_BYTES
    assert read_trace(path) == read_trace(path)
    assert (read_trace(path).item, read_trace(path).position, read_trace(path).spooled) == (None, 0, 0)
    names = _write(tmp_path, {}, 3)
    files = [Loose(path=os.fsencode(tmp_path / name), relative=name.encode()) for name in names]
    inspect_files(files, JobOptions(), spool, trace=path)
    lines = spool.read_bytes().splitlines(keepends=True)
    trace = read_trace(path)
    assert trace.item.hex == json.loads(lines[2])["id"]
    assert (trace.position, trace.spooled) == (2, len(lines[0] + lines[1]))
    Deadline(path).begin(3, 7)
    assert (read_trace(path).item, read_trace(path).position, read_trace(path).spooled) == (None, 3, 7)
