"""Inside the guest: each call of the storage layer by itself, many times, between two readings of client's and server's
counters.

Run by `tests/nfs` as `expansion_in_guest.py WORK NAME`; WORK/NAME/steps.json gets for each step what was called and
what grew. What a job does is done as it does it: a directory is listed before its files are looked at, a file is
written under a temporary name, and files are read by whoever did not write them."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(REPOSITORY)]

from counters import grown  # noqa: E402
from in_guest import FILER, drop_caches, read_counters  # noqa: E402

from core.storage.layer import Storage  # noqa: E402

SIZES = {"4k": (30, 4 << 10), "64k": (30, 64 << 10), "1m": (8, 1 << 20), "4m": (4, 4 << 20)}  # files, bytes of each
LISTED = (10, 1_000)  # entries of the directories that are listed
DIRECTORIES = 5
SETTLE_SECONDS = 2.0  # what a client does later (giving back delegations) is part of the call


class Steps:
    """Runs steps and keeps what grew."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._before: Path | None = None  # the counters as the last step left them
        self.found: list[dict[str, object]] = []

    def leave_out(self, body: Callable[[], object]) -> None:
        """What belongs to no step."""
        body()
        self._before = None

    def step(self, name: str, calls: int, body: Callable[[], None], moved: int = 0) -> None:
        """`calls` of one kind, `moved` bytes in all. What the client does by itself since the last step is part of it: it
        writes while counters are read."""
        place = self._out / f"{len(self.found):02d}-{name}"
        before = self._before
        if before is None:
            before = place / "before"
            read_counters(before)
        body()
        time.sleep(SETTLE_SECONDS)
        read_counters(place / "after")
        self._before = place / "after"
        seen = grown(before, self._before)
        wire = {op: count for op, count in seen.wire_ops.items() if count}
        server = {op: count for op, count in seen.server.ops.items() if count}
        self.found.append(
            {"step": name, "calls": calls, "bytes": moved, "wire": wire, "server": server, "read": seen.wire_read}
        )


def main(work: Path, name: str) -> None:
    """All steps, one after another."""
    steps, storage, root = Steps(work / name), Storage(), bytes(FILER) + b"/expansion"
    storage.mkdir(root)
    steps.step("nothing", 1, lambda: None)
    _directories(steps, storage, root)
    for label, (files, size) in SIZES.items():
        _written(steps, storage, root + b"/w" + label.encode(), label, files, size)
    for entries in LISTED:
        _listed(steps, storage, root, entries)
    (work / name / "steps.json").write_text(json.dumps(steps.found, indent=1))


def _directories(steps: Steps, storage: Storage, root: bytes) -> None:
    names = [b"%s/d%d" % (root, n) for n in range(30)]
    steps.step("mkdir", len(names), lambda: [storage.mkdir(name, parents=False) for name in names] and None)


def _written(steps: Steps, storage: Storage, directory: bytes, label: str, files: int, size: int) -> None:
    """Create, write, close, rename; forget everything; open, read, close; the same again; remove."""
    steps.leave_out(lambda: storage.mkdir(directory))
    content = b"x" * size
    parts = [directory + b"/f%d.tmp" % n for n in range(files)]
    names = [part[:-4] for part in parts]
    opened: list[object] = []
    steps.step(f"create-{label}", files, lambda: opened.extend(storage.create(part) for part in parts))
    steps.step(f"write-{label}", files, lambda: [file.write(content) for file in opened] and None, files * size)  # type: ignore[attr-defined]
    steps.step(f"close-written-{label}", files, lambda: [file.close() for file in opened] and None)  # type: ignore[attr-defined]
    steps.step(
        f"rename-{label}", files, lambda: [storage.rename(a, b) for a, b in zip(parts, names, strict=True)] and None
    )
    for state in ("cold", "warm"):
        if state == "cold":
            steps.leave_out(drop_caches)
        read: list[object] = []
        steps.step(f"open-{state}-{label}", files, lambda read=read: read.extend(storage.open(name) for name in names))  # type: ignore[misc]
        steps.step(
            f"read-{state}-{label}", files, lambda read=read: [file.read() for file in read] and None, files * size
        )  # type: ignore[misc]
        steps.step(f"close-read-{state}-{label}", files, lambda read=read: [file.close() for file in read] and None)  # type: ignore[misc]
    steps.step(f"remove-{label}", files, lambda: [storage.remove(name) for name in names] and None)


def _listed(steps: Steps, storage: Storage, root: bytes, entries: int) -> None:
    """List directories that nobody has seen yet, then look at each file, as phase walk does."""
    directories = [b"%s/l%d-%d" % (root, entries, n) for n in range(DIRECTORIES)]
    steps.leave_out(lambda: _made(storage, directories, entries))
    steps.step(f"scan-{entries}", DIRECTORIES, lambda: [storage.scan(d) for d in directories] and None)
    names = [b"%s/f%d" % (d, n) for d in directories for n in range(min(entries, 20))]
    steps.step(f"stat-{entries}", len(names), lambda: [storage.stat(name) for name in names] and None)


def _made(storage: Storage, directories: list[bytes], entries: int) -> None:
    for directory in directories:
        storage.mkdir(directory)
        for n in range(entries):
            storage.write_file(b"%s/f%d" % (directory, n), [b"x"])
    drop_caches()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
