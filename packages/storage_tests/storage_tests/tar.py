"""tar, the system's program, as a stream that reads a real tree of files from end to end (report R4)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from tempfile import TemporaryFile
from typing import IO

from core.errors import RunFailed, UsageError
from core.residency import drop_pages, regular_files
from core.services.process import signal_group, tied
from experiments.report import words
from storage_tests.fio import Done, Ran, Way, settled
from storage_tests.profile import Arena

_LOOK_S = 0.1
_CHUNK = 1 << 18  # of a read from the pipe
_RECORD = 10_240  # bytes that tar writes at once: its blocking factor of 20 (GNU tar manual, section 9.4)
_NONE = Way(ios=0, bytes=0, runtime_ms=0, mean_ns=0.0, max_ns=0, bins={})
_REFERENCE = "reference"  # profile of the corpus that is read if no tree is named
_SEED = 7


def refuse_without_tar() -> None:
    """Raise UsageError if tar is missing."""
    if shutil.which("tar") is None:
        raise UsageError("tar is not installed: apt install tar (dnf, zypper, apk: the same name)")


def contents(tree: Path) -> tuple[int, int]:
    """Return the bytes and number of the files of a tree. Raises UsageError if it is no directory."""
    if not tree.is_dir():
        raise UsageError(f"--set tree={tree}: it is not a directory")
    sizes = [path.lstat().st_size for path in regular_files(tree)]
    return sum(sizes), len(sizes)


def planted(tree: Path | None, size: int, places: Sequence[Path], arena: Arena) -> None:
    """Write a copy of the tree at each place; with None, a generated corpus of about `size` bytes. Raises RunFailed,
    StorageFault."""
    first, *others = places
    if tree is None:
        from dataset_gen.corpus import generate_corpus
        from dataset_gen.planning.files import SMALLEST_RAW
        from dataset_gen.profile import load_profile

        def progress(done: int, total: int) -> None:
            arena.show(f"generates {words.size(done)} of {words.size(total)}")

        scale = 1.01 * max(size, SMALLEST_RAW) / load_profile(_REFERENCE).raw_bytes
        generate_corpus(first, _REFERENCE, scale, _SEED, 1, progress)
        tree = first
    else:
        others = list(places)
    for place in others:
        arena.show(f"copies {tree}")
        place.mkdir(parents=True)
        # Not with shutil: a real tree may have FIFOs, which it would open.
        _run(["cp", "-dR", "--", f"{tree}/.", str(place)])
    settled(arena)


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, check=False, env=os.environ | {"LC_ALL": "C"})
    if done.returncode:
        raise RunFailed(f"{command[0]} ended with status {done.returncode}: {_last(done.stderr)}")
    return done.stdout.decode(errors="replace")


def _last(errors: bytes) -> str:
    """Return the last line of a program's errors; file names in it may be any bytes."""
    return errors.decode(errors="replace").strip().rpartition("\n")[2][:300]


class _Stream:
    """Process of tar that writes one tree to a pipe."""

    def __init__(self, tree: Path, errors: IO[bytes]) -> None:
        command = tied([shutil.which("tar") or "tar", "-C", str(tree), "-cf", "-", "."])
        self._errors = errors
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                                         env=os.environ | {"LC_ALL": "C"}, start_new_session=True)  # fmt: skip
        assert self._process.stdout is not None
        self.pipe: IO[bytes] = self._process.stdout
        self.by_second: dict[int, int] = {}

    def ended(self, name: str, elapsed_s: float) -> Done:
        """Return the result after the last byte. Raises RunFailed with tar's own message."""
        _, status, used = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        if self._process.returncode:
            self._errors.seek(0)
            raise RunFailed(f"tar ended with status {self._process.returncode}: {_last(self._errors.read())}")
        nbytes = sum(self.by_second.values())
        records, took = -(-nbytes // _RECORD), round(elapsed_s * 1000)
        read = Way(ios=records, bytes=nbytes, runtime_ms=took, mean_ns=elapsed_s / records * 1e9, max_ns=0, bins={})
        seconds = tuple((float(second), size / _RECORD, float(size)) for second, size in sorted(self.by_second.items()))
        return Done(
            name=name, runtime_ms=took, cpu=used.ru_utime + used.ru_stime, read=read, write=_NONE, by_second=seconds
        )

    def close(self) -> None:
        """End tar, also before its end."""
        if self._process.returncode is None:
            signal_group(self._process, signal.SIGKILL)
            self._process.wait()
        self.pipe.close()


def tarred(trees: Sequence[Path], show: Callable[[str], None]) -> Ran:
    """Run a tar of each tree at the same time, to pipes whose bytes are counted and discarded. Raises RunFailed.

    Not to /dev/null: GNU tar notices that and reads no file."""
    version = _run(["tar", "--version"]).partition("\n")[0]
    drop_pages([path for tree in trees for path in regular_files(tree)], everything=False)
    began, start, chunk, done = time.time(), time.monotonic(), bytearray(_CHUNK), dict[int, Done]()
    with ExitStack() as stack:
        ready, errors = stack.enter_context(DefaultSelector()), stack.enter_context(TemporaryFile())
        for number, tree in enumerate(trees):
            stream = _Stream(tree, errors)
            stack.callback(stream.close)
            ready.register(stream.pipe, EVENT_READ, (number, stream))
        reported = start
        while len(done) < len(trees):
            for key, _ in ready.select(_LOOK_S):
                number, stream = key.data
                got, since = os.readv(key.fd, [chunk]), time.monotonic() - start
                if got:
                    stream.by_second[int(since)] = stream.by_second.get(int(since), 0) + got
                else:
                    ready.unregister(stream.pipe)
                    done[number] = stream.ended(f"stream{number}", since)
            if time.monotonic() > reported + _LOOK_S:
                show("")
                reported = time.monotonic()
    return Ran(version=version, job_file="tar -cf - .", began=began, jobs=tuple(done[n] for n in range(len(trees))))
