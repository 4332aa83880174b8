"""The self-check: the same clients on null storage without think time; what this host can make of calls at most.

Null storage has names in memory and no data: reads are zeros that the system makes, writes are discarded (decision 0049).
So a trace of any size has a ceiling.

It runs in a process of its own, `python -m replay.ceiling`, because clients are forked and whoever asks may
have threads.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import core
from core.errors import EdbenchError
from core.memory import free_memory
from core.mounts import in_memory, read_mounts
from core.operations import Op
from core.records import ReplayChoice
from core.services import process
from replay.host import plan_of
from replay.local import run_local
from replay.program import Program, compile_replay
from replay.tree import Target
from traces.read import open_trace

PLACE = Path("/dev/shm")
MARK = 0.8  # of the ceiling: figures above it are the generator's
_SHARE = 0.6  # of free memory that may be taken
_NAME_BYTES = 2_048  # of memory that a file without data takes, with its name
_LEAST_RATE = 5_000  # calls a second that any host makes …
_MOST_SECONDS = 600.0  # … so that the check would take longer than this at most


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What the clients made of calls on null storage."""

    calls: int
    elapsed_s: float
    discarded_bytes: int = 0  # that were written

    @property
    def calls_per_second(self) -> float:
        """0.0 when no time passed."""
        return self.calls / self.elapsed_s if self.elapsed_s else 0.0


def ceiling(trace: Path, choice: ReplayChoice, scratch: Path) -> Ceiling | str:
    """The ceiling of these clients, or why it is not known, in one line."""
    wish = {"clients": choice.clients, "shared": choice.shared, "seed": choice.seed}
    command = [sys.executable, "-I", "-S", process.__file__, str(os.getpid()), str(int(signal.SIGTERM)), "-1", "-1", "",
               sys.executable, "-m", "replay.ceiling", str(trace), str(scratch), json.dumps(wish)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(core.__file__).parents[1], check=False)
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    figures = json.loads(done.stdout)
    return Ceiling(**figures)


def no_room(program: Program) -> str | None:
    """Why the check cannot be made here; None when it can."""
    if not PLACE.is_dir() or not in_memory(PLACE, read_mounts()):
        return f"{PLACE} is not a memory file system"
    names = sum(room.inodes for room in program.rooms)
    room = min(shutil.disk_usage(PLACE).free, int(free_memory() * _SHARE))
    if names * _NAME_BYTES > room or names > os.statvfs(PLACE).f_favail:
        return f"the names of {names:,} files do not fit into {room / 1e9:,.2f} GB of memory in {PLACE}"
    if program.calls > _MOST_SECONDS * _LEAST_RATE:
        return f"{program.calls:,} calls would take too long"
    return None


def main(trace: Path, scratch: Path, choice: ReplayChoice) -> int:
    """Make the check, print its figures; the exit status."""
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ceiling-", dir=scratch) as directory:
        try:
            with open_trace(trace) as opened:
                program = compile_replay(opened, plan_of(opened.header, choice), Path(directory) / "program")
            reason = no_room(program)
            if reason is not None:
                return _failed(reason)
            with tempfile.TemporaryDirectory(prefix=f"edbench-null-{os.getpid()}-", dir=PLACE) as place:
                merged = run_local(program, Target(paths=(Path(place),), replay_id="ceiling", null=True)).merged
        except (EdbenchError, OSError) as error:
            return _failed(" ".join(str(error).split()))
    written = merged.ops.get(Op.WRITE)
    figures = Ceiling(merged.calls, merged.elapsed_s, 0 if written is None else written.bytes)
    sys.stdout.write(json.dumps(dataclasses.asdict(figures)) + "\n")
    return 0


def _failed(reason: str) -> int:
    sys.stderr.write(f"{reason}\n")
    return 1


def _terminated(_number: int, _frame: object) -> None:
    raise SystemExit(1)  # what was made is removed on the way out


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _terminated)
    options = json.loads(sys.argv[3])
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), ReplayChoice(paths=("null",), speed=0.0, **options)))
