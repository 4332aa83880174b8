"""worker.inspect.tree: what becomes of calls in processes that may die."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from worker.inspect.tree import Died, InspectPool


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
    """However many there may be; and a process goes on to the next call."""
    with InspectPool(8, _nothing) as pool:
        for name in ("a", "b", "c"):
            pool.schedule(_note, [tmp_path], {"name": name}).result()
    seen = {path.read_text() for path in tmp_path.iterdir()}
    assert len(seen) == 1
    assert seen != {str(os.getpid())}


def test_a_call_gives_what_its_function_gives() -> None:
    """From the process that made it; None where it gives nothing."""
    with InspectPool(1, _nothing) as pool:
        assert pool.schedule(sorted, ["cab"], {"reverse": True}).result() == ["c", "b", "a"]
        assert pool.schedule(_nothing, [], {}).result() is None


def test_something_is_done_meanwhile() -> None:
    """Once, when there is a process to wait for."""
    done = list[int]()
    with InspectPool(1, _nothing, lambda: done.append(os.getpid())) as pool:
        work = pool.schedule(_nothing, [], {})
        assert not done
        work.result()
        pool.schedule(_nothing, [], {}).result()
    assert done == [os.getpid()]


def test_more_calls_than_processes(tmp_path: Path) -> None:
    """All are made, whichever is waited for first."""
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
def test_a_death_is_told_and_the_rest_goes_on(
    tmp_path: Path, function: Callable[..., None], args: list[int], status: int
) -> None:
    """With how the process ended; another takes what waited."""
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
    """Or its text, where it cannot be made again; the process goes on."""
    with InspectPool(1, _nothing) as pool:
        with pytest.raises(wanted):
            pool.schedule(function, [], {}).result()
        pool.schedule(_nothing, [], {}).result()


def test_what_a_process_begins_with_fails_each_call() -> None:
    """A plugin that cannot be loaded, say: the reason, not the death of a process."""
    with InspectPool(1, _fail) as pool, pytest.raises(OSError, match="no space"):
        pool.schedule(_nothing, [], {}).result()


def test_closing_ends_what_is_under_way(tmp_path: Path) -> None:
    """Nothing is left behind, and nobody waits for it."""
    with InspectPool(2, _nothing) as pool:
        pool.schedule(signal.pause, [], {})
        pool.schedule(_note, [tmp_path, "second"], {}).result()
        pids = [process.pid for process in pool._processes]
    for pid in pids:
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, 0)
