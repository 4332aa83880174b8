"""Scheduler and read-ahead of the block devices under test, set for a while and put back.

They belong to the host and not to a directory: what they were is written to a file for each device before anything is set, so that
the next profile on this host puts them back after kill -9 (a restart of the host does it by itself). Whoever may not set them is
told so, and nothing else happens.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from core.errors import UsageError
from core.mounts import mount_of
from core.plain import unambiguous
from experiments.profiles.owner import Owner, this_process

LEDGER = Path("/run/edbench-queues")  # one for the host: a device has one queue, whoever runs
_SYS = Path("/sys")
_BLOCK = "dev/block"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """The queue of one path's device while a run lasted."""

    path: int  # its number, 1 …
    device: str  # "vda"; empty: none that this host sees
    scheduler: str  # that was in force; empty: nobody tells
    read_ahead_kb: int | None
    refused: tuple[str, ...]  # what could not be set, and why


@contextlib.contextmanager
def tuned(
    paths: Sequence[Path], scheduler: str, read_ahead_kb: int | None, ledger: Path = LEDGER
) -> Iterator[tuple[Tuned, ...]]:
    """Set them on every path's device (empty, None: as they are), told as they then are; put back at the end."""
    wanted = {"scheduler": scheduler, "read_ahead_kb": "" if read_ahead_kb is None else str(read_ahead_kb)}
    wanted = {name: value for name, value in wanted.items() if value}
    with contextlib.ExitStack() as back:
        refused: dict[Path, list[str]] = {}
        out = []
        for number, path in enumerate(paths, 1):
            queue = queue_of(path)
            if queue is None:
                why = (
                    [f"path {number} has no block device on this host; not set: {', '.join(wanted)}"] if wanted else []
                )
            else:
                if queue not in refused:
                    refused[queue] = [] if not wanted else list(_set(queue, wanted, ledger, back))
                why = refused[queue]
            out.append(_told(number, queue, why))
        yield tuple(out)


def queue_of(path: Path) -> Path | None:
    """The directory of its device's queue in /sys; None of network storage and memory."""
    device = os.stat(path).st_dev
    found = _SYS / _BLOCK / f"{os.major(device)}:{os.minor(device)}"
    if not found.exists():  # btrfs has devices of its own; the mount says which one is below
        mount = mount_of(path)
        if mount is None or not mount.source.startswith("/dev/"):
            return None
        with contextlib.suppress(OSError):
            device = os.stat(mount.source).st_rdev
            found = _SYS / _BLOCK / f"{os.major(device)}:{os.minor(device)}"
    if not found.exists():
        return None
    block = found.resolve()
    queue = (block.parent if (block / "partition").exists() else block) / "queue"
    return queue if queue.is_dir() else None


def restore_dead(ledger: Path = LEDGER) -> None:
    """Put back what commands that were killed left; of those that live nothing."""
    for file in sorted(ledger.glob("*.json")):
        with contextlib.suppress(
            UsageError, OSError, ValueError, TypeError, KeyError
        ):  # not ours to judge, or not ours
            kept = unambiguous(file.read_text(encoding="utf-8"))
            owner = Owner(**kept["owner"])
            if not owner.alive():
                _restore(Path(kept["queue"]), kept["values"])
                file.unlink(missing_ok=True)


def _set(queue: Path, wanted: dict[str, str], ledger: Path, back: contextlib.ExitStack) -> Iterator[str]:
    """What of it could not be set."""
    before = {name: value for name in wanted if (value := _read(queue, name))}
    file = ledger / f"{queue.parent.name}.json"
    try:
        if not ledger.is_dir():
            ledger.mkdir(mode=0o755)
        kept = json.dumps({"owner": asdict(this_process()), "queue": str(queue), "values": before})
        with file.open("x", encoding="utf-8") as out:
            out.write(kept + "\n")
    except OSError as error:
        if file.exists():
            yield f"{queue.parent.name}: another command has changed its queue"
            return
        yield f"{queue.parent.name}: nothing was changed, because the old value cannot be written to {ledger} ({error.strerror})"
        return
    back.callback(file.unlink, missing_ok=True)
    back.callback(_restore, queue, before)
    for name, value in wanted.items():
        try:
            (queue / name).write_text(value)
        except OSError as error:
            yield f"{queue.parent.name}: {name} {value} is not set: {error.strerror}"


def _restore(queue: Path, values: dict[str, Any]) -> None:
    for name, value in values.items():
        if name in ("scheduler", "read_ahead_kb"):
            with contextlib.suppress(OSError):  # the device is gone
                (queue / name).write_text(str(value))


def _read(queue: Path, name: str) -> str:
    """What is in force: of schedulers the one in brackets."""
    try:
        text = (queue / name).read_text().strip()
    except OSError:
        return ""
    return text.partition("[")[2].partition("]")[0] or text


def _told(number: int, queue: Path | None, refused: Sequence[str]) -> Tuned:
    ahead = "" if queue is None else _read(queue, "read_ahead_kb")
    return Tuned(
        path=number,
        device="" if queue is None else queue.parent.name,
        scheduler="" if queue is None else _read(queue, "scheduler"),
        read_ahead_kb=int(ahead) if ahead.isdigit() else None,
        refused=tuple(refused),
    )
